-- One row a session that the catalogue knows: its newest entry.
with
    dated as (
        select
            *,
            nullif(regexp_extract(cwd, '([^/\\]+)[/\\]*$', 1), '') as project,
            coalesce(logged_local, timezone($tz, timezone('UTC', logged_at))) as logged,
            coalesce(timezone('UTC', timezone($tz, logged_local)), logged_at) as dated_at
        from topics
    )
select
    *,
    strftime(logged, '%Y-%m-%d') as date,
    strftime(logged, '%H:%M') as time,
    session_id in (
        select session_id from documents where type = 'transcript' and session_id is not null
    ) as is_here
from dated
where
    ($host is null or host = $host)
    and ($harness is null or harness = $harness)
    and ($project is null or contains(lower(project), lower($project)))
    and ($since_at::timestamp is null or dated_at >= $since_at::timestamp)
    and ($until_at::timestamp is null or dated_at < $until_at::timestamp)
