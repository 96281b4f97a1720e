-- One row an entry that passes the filters; the same session of several hosts is one.
select
    *,
    list(host) over same_session as hosts,
    coalesce(
        started_at,
        timezone('UTC', timezone($tz, name_date::timestamp)),
        timezone('UTC', timezone($tz, logged_local)),
        logged_at
    ) as dated_at
from entries
where
    ($type is null or type = $type)
    and ($include_sidechains or type <> 'subagent')
    and ($host is null or host = $host)
    and ($harness is null or harness = $harness)
    and ($project is null or contains(lower(project), lower($project)))
    and ($since_at::timestamp is null or dated_at >= $since_at::timestamp)
    and ($until_at::timestamp is null or dated_at < $until_at::timestamp)
window same_session as (partition by identity)
qualify
    row_number() over (
        partition by identity order by lines desc nulls last, dated_at desc, host, document
    )
    = 1
