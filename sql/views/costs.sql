-- One row a model response, counted once, with its cost.
select
    places.document,
    priced.call_key,
    priced.sent_at,
    timezone('UTC', priced.sent_at)::date as date,
    places.host,
    places.harness,
    places.project,
    places.cwd,
    kinds.provider,
    kinds.model,
    kinds.service_tier,
    kinds.speed,
    places.is_sidechain,
    priced.input_tokens,
    priced.cache_write_5m_tokens,
    priced.cache_write_1h_tokens,
    priced.cache_read_tokens,
    priced.output_tokens,
    priced.reasoning_tokens,
    priced.web_searches,
    (priced.cost / 1e12)::double as cost_usd,
    (priced.recorded_cost / 1e12)::double as recorded_cost_usd
from priced
join places using (place)
join kinds using (kind)
