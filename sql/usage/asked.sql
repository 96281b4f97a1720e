-- One row a quarter of an hour, place, kind of request and tool that passes the filters.
with
    quarters as (
        select quarter_at, timezone($tz, timezone('UTC', quarter_at)) as local_at
        from (select distinct quarter_at from chosen)
    )
select
    chosen.*,
    places.host,
    places.harness,
    places.project,
    kinds.model,
    kinds.provider,
    kinds.service_tier,
    kinds.speed,
    families.root as session,
    quarters.local_at,
    windows.starts_at as block
from chosen
join places using (place)
join kinds using (kind)
left join families on families.document = places.document
left join quarters on quarters.quarter_at = chosen.quarter_at
left join
    usage_windows as windows
    on windows.harness = places.harness
    and windows.hour_at = date_trunc('hour', chosen.quarter_at)
where
    ($host::varchar is null or places.host = $host)
    and ($harness::varchar is null or places.harness = $harness)
    and ($project::varchar is null or contains(lower(places.project), lower($project)))
    and ($model::varchar is null or contains(lower(kinds.model), lower($model)))
