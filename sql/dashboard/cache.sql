-- One row a period: how much of the input came from the cache, what that saved, what writes cost.
select
    epoch_ms(date_trunc($grain, local_at))::bigint as local_ms,
    sum(cache_read_tokens)::bigint as read_tokens,
    sum(input_tokens + cache_write_tokens + cache_read_tokens)::bigint as all_input_tokens,
    read_tokens / nullif(all_input_tokens, 0) as hit_rate,
    (sum(cache_saved) / 1e12)::double as saved_usd,
    (sum(cache_written) / 1e12)::double as written_usd
from shown
where local_at is not null
group by local_ms
order by local_ms
