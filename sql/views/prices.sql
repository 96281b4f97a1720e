-- One row a kind of request, period and size of input: what is applied, in US dollars a million
-- tokens, and a thousand web searches.
select
    kinds.model,
    kinds.provider,
    kinds.service_tier,
    kinds.speed,
    rates.priced_as,
    rates.source,
    rates.since,
    rates.until,
    rates.from_minute,
    rates.to_minute,
    nullif(rates.over_tokens, -1) as over_tokens,
    rates.input / 1e6 as input_usd,
    rates.cache_write_5m / 1e6 as cache_write_5m_usd,
    rates.cache_write_1h / 1e6 as cache_write_1h_usd,
    rates.cache_read / 1e6 as cache_read_usd,
    rates.output / 1e6 as output_usd,
    rates.web_search / 1e9 as web_search_usd
from kinds
left join rates using (kind)
