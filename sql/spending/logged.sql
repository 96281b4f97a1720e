-- One row a response in a live document, as logged there.
select
    rows.call_key,
    rows.document as logged_in,
    placed.document,
    hash(placed.document, rows.cwd, rows.is_sidechain, rows.harness) as place,
    hash(rows.model, rows.provider, rows.service_tier, rows.speed) as kind,
    rows.sent_at,
    rows.input_tokens,
    rows.cache_write_5m_tokens,
    rows.cache_write_1h_tokens,
    rows.cache_read_tokens,
    rows.output_tokens,
    coalesce(rows.reasoning_tokens, 0) as reasoning_tokens,
    rows.web_searches,
    rows.recorded_cost_usd,
    case
        when rows.session_id = placed.session_id then 0 when rows.session_id is null then 2 else 1
    end as foreignness
from stored_calls as rows
join
    call_documents as placed
    on placed.logged_in = rows.document
    and placed.file_index = rows.file_index
