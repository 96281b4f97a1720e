-- One row a session with its subagents, the dearest first, and how many there are.
with
    dearest as (
        select
            session as document,
            sum(calls)::bigint as calls,
            sum(total_tokens)::bigint as total_tokens,
            (sum(cost) / 1e12)::double as cost_usd,
            sum(unpriced_calls)::bigint as unpriced_calls,
            max(local_at) as last_at,
            count(*) over () as total
        from shown
        where session is not null
        group by session
        order by cost_usd desc nulls last, total_tokens desc, session
        limit $limit
    )
select dearest.*, host, harness, project, session_id, sid, topic
from dearest
join documents using (document)
order by cost_usd desc nulls last, total_tokens desc, document
