-- One row a session or subagent on a host, with what its own calls used and cost.
select
    documents.* exclude (identity, preference, segment, readable_hash),
    session_usage.* exclude (document),
    coalesce(timezone('UTC', documents.started_at)::date, documents.name_date) as date
from documents
join session_usage using (document)
where documents.type in ('transcript', 'subagent')
