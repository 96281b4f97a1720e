-- One row a counted response with its cost, NULL where no price is known, in picodollars.
select
    counted.* exclude (recorded_cost_usd),
    -- Where no price is known, not even no tokens are free.
    if(rates.kind is null, null, 0)
    + if(input_tokens = 0, 0, input_tokens::hugeint * rates.input)
    + if(cache_write_5m_tokens = 0, 0, cache_write_5m_tokens::hugeint * rates.cache_write_5m)
    + if(cache_write_1h_tokens = 0, 0, cache_write_1h_tokens::hugeint * rates.cache_write_1h)
    + if(cache_read_tokens = 0, 0, cache_read_tokens::hugeint * rates.cache_read)
    + if(output_tokens = 0, 0, output_tokens::hugeint * rates.output)
    + if(web_searches = 0, 0, web_searches::hugeint * rates.web_search) as cost,
    try_cast(round(recorded_cost_usd * 1e12) as hugeint) as recorded_cost,
    rates.rowid as rate
from counted
left join
    rates
    on rates.kind = counted.kind
    and counted.sent_at >= rates.since
    and counted.sent_at < rates.until
    and input_tokens + cache_write_5m_tokens + cache_write_1h_tokens + cache_read_tokens
    > rates.over_tokens
    and input_tokens + cache_write_5m_tokens + cache_write_1h_tokens + cache_read_tokens
    <= rates.upto_tokens
    and 60 * hour(counted.sent_at) + minute(counted.sent_at) >= rates.from_minute
    and 60 * hour(counted.sent_at) + minute(counted.sent_at) < rates.to_minute
