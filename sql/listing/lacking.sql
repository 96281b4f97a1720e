-- One row a session that a catalogue knows and the archive lacks, newest first.
select
    host,
    sid,
    session_id,
    strftime(coalesce(logged_local, timezone($tz, timezone('UTC', logged_at))), '%Y-%m-%d') as date,
    left(topic, 120) as topic,
    harness
from topics
where
    not exists (
        select 1
        from documents
        where documents.type = 'transcript' and documents.session_id = topics.session_id
    )
order by date desc nulls last, host, session_id
