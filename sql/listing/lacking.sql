-- One row a session that a catalogue knows and the archive lacks, newest first.
select
    host,
    sid,
    session_id,
    strftime(coalesce(logged_local, timezone($tz, timezone('UTC', logged_at))), '%Y-%m-%d') as date,
    coalesce(title, prompt) as topic,
    harness
from topics
where
    session_id
    not in (select session_id from documents where type = 'transcript' and session_id is not null)
order by date desc nulls last, host, session_id
