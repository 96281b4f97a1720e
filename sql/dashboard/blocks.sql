-- One row a harness and 5-hour block, the newest of all in order, and how many there are.
with
    newest as (
        select
            harness,
            block as starts_at,
            timezone($tz, timezone('UTC', block)) as local_at,
            sum(calls)::bigint as calls,
            sum(total_tokens)::bigint as total_tokens,
            (sum(cost) / 1e12)::double as cost_usd,
            sum(unpriced_calls)::bigint as unpriced_calls,
            count(*) over () as total
        from shown
        where block is not null
        group by all
        order by block desc, harness
        limit $limit
    )
select *, epoch_ms(local_at)::bigint as local_ms
from newest
order by local_ms, harness
