-- One row a catalogued session that an id or handle may mean, newest first.
select
    *,
    strftime(coalesce(logged_local, timezone($tz, timezone('UTC', logged_at))), '%Y-%m-%d') as date
from topics
where
    $ref = session_id
    or session_id = 'ses_' || $bare
    or lower(session_id) = lower($ref)
    or lower(sid) = lower($bare)
order by $ref <> session_id, coalesce(logged_local, logged_at) desc, session_id, host
