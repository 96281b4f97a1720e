-- One row an entry that passes the filters; the same session of several hosts is one.
with
    dated as (
        select
            *,
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
    ),
    passing as (
        select *
        from dated
        where
            ($since_at::timestamp is null or dated_at >= $since_at::timestamp)
            and ($until_at::timestamp is null or dated_at < $until_at::timestamp)
    ),
    best as (
        select identity, min(preference) as preference
        from passing
        where is_spread
        group by identity
    )
select
    passing.entry,
    passing.dated_at,
    row_number() over (order by dated_at desc nulls last, session_id, passing.identity) as age
from passing
left join best using (identity)
where best.preference is null or best.preference = passing.preference
