-- One row a quarter of an hour, place and kind of request that passes the lists: an empty list
-- lets all pass, '' in one stands for no name.
select
    asked.* exclude (place, kind) replace (
        coalesce(asked.host, '') as host,
        coalesce(asked.project, '') as project,
        coalesce(asked.harness, '') as harness,
        coalesce(asked.model, '') as model
    ),
    cache_write_5m_tokens + cache_write_1h_tokens as cache_write_tokens,
    input_tokens + cache_write_tokens + cache_read_tokens + output_tokens as total_tokens,
    cache_saved,
    cache_written,
    cache_premium
from asked
left join
    cache_asked
    on cache_asked.place = asked.place
    and cache_asked.kind = asked.kind
    and cache_asked.quarter_at is not distinct from asked.quarter_at
where
    (len($hosts::varchar[]) = 0 or list_contains($hosts::varchar[], coalesce(asked.host, '')))
    and (
        len($projects::varchar[]) = 0
        or list_contains($projects::varchar[], coalesce(asked.project, ''))
    )
    and (
        len($harnesses::varchar[]) = 0
        or list_contains($harnesses::varchar[], coalesce(asked.harness, ''))
    )
    and (
        len($models::varchar[]) = 0 or list_contains($models::varchar[], coalesce(asked.model, ''))
    )
