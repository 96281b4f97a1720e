-- One row a period and series, all that are not kept together as NULL: what was used, in order.
with
    named as (
        select
            *,
            case
                when $by = 'model'
                then model
                when $by = 'project'
                then project
                when $by = 'host'
                then host
                else harness
            end as name
        from shown
        where local_at is not null
    )
select
    epoch_ms(date_trunc($grain, local_at))::bigint as local_ms,
    case when list_contains($kept::varchar[], name) then name end as series,
    sum(calls)::bigint as calls,
    sum(total_tokens)::bigint as total_tokens,
    (sum(cost) / 1e12)::double as cost_usd,
    sum(unpriced_calls)::bigint as unpriced_calls
from named
group by all
order by local_ms, series nulls last
