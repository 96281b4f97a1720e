-- One row a model, project, host or harness, the dearest first, and how many there are.
select
    case
        when $by = 'model'
        then model
        when $by = 'project'
        then project
        when $by = 'host'
        then host
        else harness
    end as series,
    sum(calls)::bigint as calls,
    sum(input_tokens)::bigint as input_tokens,
    sum(cache_write_tokens)::bigint as cache_write_tokens,
    sum(cache_read_tokens)::bigint as cache_read_tokens,
    sum(output_tokens)::bigint as output_tokens,
    sum(total_tokens)::bigint as total_tokens,
    (sum(cost) / 1e12)::double as cost_usd,
    sum(unpriced_calls)::bigint as unpriced_calls,
    count(*) over () as total
from shown
group by series
order by cost_usd desc nulls last, total_tokens desc, series
limit $limit
