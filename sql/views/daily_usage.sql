-- One row a local day, host, harness, project and model: calls, tokens and cost.
select
    timezone('UTC', spent.quarter_at)::date as date,
    places.host,
    places.harness,
    places.project,
    kinds.model,
    sum(spent.calls)::bigint as calls,
    sum(spent.input_tokens)::bigint as input_tokens,
    sum(spent.cache_write_5m_tokens)::bigint as cache_write_5m_tokens,
    sum(spent.cache_write_1h_tokens)::bigint as cache_write_1h_tokens,
    sum(spent.cache_read_tokens)::bigint as cache_read_tokens,
    sum(spent.output_tokens)::bigint as output_tokens,
    sum(spent.reasoning_tokens)::bigint as reasoning_tokens,
    (sum(spent.cost) / 1e12)::double as cost_usd,
    sum(spent.unpriced_calls)::bigint as unpriced_calls
from spent
join places using (place)
join kinds using (kind)
group by all
