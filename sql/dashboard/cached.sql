-- One row a quarter of an hour, place and kind of request: what the cache saved and cost.
select
    priced.place,
    priced.kind,
    time_bucket(interval '15 minutes', sent_at) as quarter_at,
    sum(
        if(cache_read_tokens = 0, 0, cache_read_tokens::hugeint * (rates.input - rates.cache_read))
    ) as cache_saved,
    sum(
        if(cache_write_5m_tokens = 0, 0, cache_write_5m_tokens::hugeint * rates.cache_write_5m)
        + if(cache_write_1h_tokens = 0, 0, cache_write_1h_tokens::hugeint * rates.cache_write_1h)
    ) as cache_written,
    -- How much more than the same tokens as plain input.
    sum(
        if(
            cache_write_5m_tokens = 0,
            0,
            cache_write_5m_tokens::hugeint * (rates.cache_write_5m - rates.input)
        ) + if(
            cache_write_1h_tokens = 0,
            0,
            cache_write_1h_tokens::hugeint * (rates.cache_write_1h - rates.input)
        )
    ) as cache_premium
from priced
join rates on rates.rowid = priced.rate
where
    ($since_at::timestamp is null or sent_at >= $since_at::timestamp)
    and ($until_at::timestamp is null or sent_at < $until_at::timestamp)
group by priced.place, priced.kind, quarter_at
