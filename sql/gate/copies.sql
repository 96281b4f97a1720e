-- One row a file that holds, or held, a session which an id or handle may mean.
with
    meant as (
        select
            stored.*,
            case
                when $ref in (session_id, stem, agent_id) or session_id = 'ses_' || $bare
                then 0
                when sid = $bare
                then 1
                when lower(session_id) = lower($ref)
                then 2
                else 3
            end as rank
        from (select * rename(file_index as segment) from stored_documents) as stored
        anti join dead using (segment, document)
        anti join pruned using (segment, document)
        where
            type in ('transcript', 'subagent')
            and source_format <> 'readable'
            and (
                $ref in (session_id, stem, agent_id)
                or session_id = 'ses_' || $bare
                or lower(session_id) = lower($ref)
                or lower(sid) = lower($bare)
            )
    )
select distinct source_kind, source_format, source_root, source_path
from meant
where rank = (select min(rank) from meant)
order by source_root, source_path, source_kind, source_format
