-- One row a call of a tool, joined to what it gave.
with
    results as (
        select
            document,
            tool_use_id,
            min(sent_at) as sent_at,
            bool_or(is_error) as is_error,
            sum(length(text))::bigint as characters,
            string_agg(text, chr(10) order by seq) as text
        from blocks
        where kind = 'tool_result' and tool_use_id is not null and not is_replay
        group by document, tool_use_id
    )
select
    documents.document,
    uses.seq,
    uses.turn,
    uses.line_start as line,
    documents.host,
    documents.harness,
    documents.project,
    documents.sid,
    documents.session_id,
    uses.is_sidechain,
    uses.tool_name,
    uses.tool_use_id,
    uses.model,
    uses.sent_at,
    results.sent_at as result_at,
    timezone('UTC', uses.sent_at)::date as date,
    epoch_ms(results.sent_at - uses.sent_at) / 1000 as duration_s,
    results.tool_use_id is not null as has_result,
    results.is_error,
    length(uses.text)::bigint as input_characters,
    results.characters as output_characters,
    uses.text as input,
    results.text as output
from blocks as uses
join documents using (document)
left join results on results.document = uses.document and results.tool_use_id = uses.tool_use_id
where uses.kind = 'tool_use' and not uses.is_replay
