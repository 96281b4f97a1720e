-- One row a session or subagent: what its own calls used, and what its subagents cost.
with
    own as (
        select
            places.document,
            sum(calls)::bigint as calls,
            sum(input_tokens)::bigint as input_tokens,
            sum(cache_write_5m_tokens)::bigint as cache_write_5m_tokens,
            sum(cache_write_1h_tokens)::bigint as cache_write_1h_tokens,
            sum(cache_read_tokens)::bigint as cache_read_tokens,
            sum(output_tokens)::bigint as output_tokens,
            sum(cost) as cost,
            sum(unpriced_calls)::bigint as unpriced_calls
        from spent
        join places using (place)
        group by places.document
    ),
    below as (
        select families.root as document, sum(own.cost) as cost
        from own
        join families using (document)
        where families.root <> families.document
        group by families.root
    )
select
    document,
    coalesce(calls, 0) as calls,
    coalesce(input_tokens, 0) as input_tokens,
    coalesce(cache_write_5m_tokens, 0) as cache_write_5m_tokens,
    coalesce(cache_write_1h_tokens, 0) as cache_write_1h_tokens,
    coalesce(cache_read_tokens, 0) as cache_read_tokens,
    coalesce(output_tokens, 0) as output_tokens,
    (own.cost / 1e12)::double as cost_usd,
    coalesce(unpriced_calls, 0) as unpriced_calls,
    (below.cost / 1e12)::double as subagents_cost_usd
from families
left join own using (document)
left join below using (document)
