-- One row: everything that passes the filters.
select
    coalesce(sum(calls), 0)::bigint as calls,
    count(distinct session) as sessions,
    count(distinct local_at::date) as days,
    coalesce(sum(input_tokens), 0)::bigint as input_tokens,
    coalesce(sum(cache_write_tokens), 0)::bigint as cache_write_tokens,
    coalesce(sum(cache_read_tokens), 0)::bigint as cache_read_tokens,
    coalesce(sum(output_tokens), 0)::bigint as output_tokens,
    coalesce(sum(reasoning_tokens), 0)::bigint as reasoning_tokens,
    coalesce(sum(total_tokens), 0)::bigint as total_tokens,
    (sum(cost) / 1e12)::double as cost_usd,
    coalesce(sum(unpriced_calls), 0)::bigint as unpriced_calls,
    (sum(cache_saved) / 1e12)::double as cache_saved_usd,
    (sum(cache_written) / 1e12)::double as cache_written_usd,
    (sum(cache_premium) / 1e12)::double as cache_premium_usd,
    min(local_at) as first_at,
    max(local_at) as last_at
from shown
