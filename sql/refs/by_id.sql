-- One row a document that an id or handle may mean; the least rank is the closest match.
select
    *,
    case
        when $ref in (session_id, stem, agent_id) or session_id = 'ses_' || $bare
        then 0
        when sid = $bare
        then 1
        when lower(session_id) = lower($ref)
        then 2
        else 3
    end as rank
from documents
where
    type in ('transcript', 'subagent')
    and (
        $ref in (session_id, stem, agent_id)
        or session_id = 'ses_' || $bare
        or lower(session_id) = lower($ref)
        or lower(sid) = lower($bare)
    )
    or type not in ('transcript', 'subagent')
    and stem = $ref
order by rank, preference
