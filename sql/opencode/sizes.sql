-- One row a session of an opencode database: its bytes, and when any of it changed last.
with
    pieces as (
        select id as session_id, 0 as bytes, time_updated
        from session
        union all
        select session_id, sum(length(cast(data as blob))), max(time_updated)
        from message
        group by session_id
        union all
        select session_id, sum(length(cast(data as blob))), max(time_updated)
        from part
        group by session_id
    )
select session_id, sum(bytes) as bytes, max(time_updated) as time_updated
from pieces
where session_id in (select id from session)
group by session_id
order by session_id
