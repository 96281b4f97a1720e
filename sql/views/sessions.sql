-- One row a session or subagent on a host, with what its own calls used.
select
    documents.* exclude (identity, preference, segment, readable_hash),
    coalesce(used.calls, 0) as calls,
    coalesce(used.input_tokens, 0) as input_tokens,
    coalesce(used.cache_write_5m_tokens, 0) as cache_write_5m_tokens,
    coalesce(used.cache_write_1h_tokens, 0) as cache_write_1h_tokens,
    coalesce(used.cache_read_tokens, 0) as cache_read_tokens,
    coalesce(used.output_tokens, 0) as output_tokens
from documents
left join
    (
        select
            document,
            count(*) as calls,
            sum(input_tokens)::bigint as input_tokens,
            sum(cache_write_5m_tokens)::bigint as cache_write_5m_tokens,
            sum(cache_write_1h_tokens)::bigint as cache_write_1h_tokens,
            sum(cache_read_tokens)::bigint as cache_read_tokens,
            sum(output_tokens)::bigint as output_tokens
        from calls
        group by document
    ) as used using (document)
where documents.type in ('transcript', 'subagent')
