-- One row a session that the catalogue knows: its newest entry.
with
    dated as (
        select
            'log' as type,
            topics.*,
            regexp_extract(cwd, '([^/\\]+)[/\\]*$', 1) as project,
            coalesce(logged_local, timezone($tz, timezone('UTC', logged_at))) as logged,
            null as identity,
            topics.logged_local is null and topics.logged_at is null as undated
        from topics
    )
select
    *,
    strftime(logged, '%Y-%m-%d') as date,
    strftime(logged, '%H:%M') as time,
    coalesce(timezone('UTC', timezone($tz, logged_local)), logged_at) as dated_at,
    exists (
        select 1
        from documents
        where documents.type = 'transcript' and documents.session_id = dated.session_id
    ) as is_here
from dated
where
    ($host is null or host = $host)
    and ($harness is null or harness = $harness)
    and ($project is null or contains(lower(project), lower($project)))
    and (
        $since_at::timestamp is null
        or coalesce(timezone('UTC', timezone($tz, logged_local)), logged_at) >= $since_at::timestamp
    )
    and (
        $until_at::timestamp is null
        or coalesce(timezone('UTC', timezone($tz, logged_local)), logged_at) < $until_at::timestamp
    )
