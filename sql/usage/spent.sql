-- One row a quarter of an hour, place, kind of request and tool: what was used.
select
    place,
    kind,
    tool,
    time_bucket(interval '15 minutes', sent_at) as quarter_at,
    count(*) as calls,
    sum(input_tokens)::bigint as input_tokens,
    sum(cache_write_5m_tokens)::bigint as cache_write_5m_tokens,
    sum(cache_write_1h_tokens)::bigint as cache_write_1h_tokens,
    sum(cache_read_tokens)::bigint as cache_read_tokens,
    sum(output_tokens)::bigint as output_tokens,
    sum(reasoning_tokens)::bigint as reasoning_tokens,
    sum(web_searches)::bigint as web_searches,
    sum(cost) as cost,
    count(*) - count(cost) as unpriced_calls,
    sum(recorded_cost) as recorded_cost,
    count(*) - count(recorded_cost) as unrecorded_calls,
    min(sent_at) as first_at,
    max(sent_at) as last_at
from asked
group by place, kind, tool, quarter_at
