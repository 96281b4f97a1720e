-- One row a document that passes the filters; the same session of several hosts is one.
with
    dated as (
        select
            documents.*,
            coalesce(started_at, timezone('UTC', timezone($tz, name_date::timestamp))) as dated_at
        from documents
        where
            ($type is null or type = $type)
            and ($type is not null or type in ('transcript', 'subagent', 'plan', 'memory', 'note'))
            and ($include_sidechains or type <> 'subagent')
            and ($host is null or host = $host)
            and ($harness is null or harness = $harness)
            and ($project is null or contains(lower(project), lower($project)))
    ),
    within_period as (
        select *
        from dated
        where
            ($since_at::timestamp is null or dated_at >= $since_at::timestamp)
            and ($until_at::timestamp is null or dated_at < $until_at::timestamp)
    )
select
    *,
    list(host) over same_session as hosts,
    strftime(coalesce(timezone($tz, timezone('UTC', started_at)), name_date), '%Y-%m-%d') as date
from within_period
window same_session as (partition by identity)
qualify
    row_number() over (
        partition by identity
        order by
            case when type in ('transcript', 'subagent') then lines end desc nulls last,
            source_format = 'readable',
            source_modified_at desc,
            document
    )
    = 1
