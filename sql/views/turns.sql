-- One row a turn of a session's readable: who had it, when, its lines, and what was said in it.
select
    documents.document,
    blocks.turn,
    documents.host,
    documents.harness,
    documents.project,
    documents.sid,
    documents.session_id,
    documents.type = 'subagent' as is_sidechain,
    arg_min(blocks.role, blocks.seq) filter (where blocks.line_start is not null) as role,
    min(blocks.sent_at) as started_at,
    max(blocks.sent_at) as ended_at,
    timezone('UTC', min(blocks.sent_at))::date as date,
    min(blocks.line_start) as line_start,
    max(blocks.line_end) as line_end,
    count(*) as blocks,
    count(*) filter (where blocks.kind = 'tool_use') as tool_calls,
    count(*) filter (where blocks.is_error) as errors,
    coalesce(
        sum(length(blocks.text)) filter (
            where blocks.kind in ('text', 'summary') and blocks.line_start is not null
        ),
        0
    )::bigint as characters,
    string_agg(blocks.text, chr(10) || chr(10) order by blocks.seq) filter (
        where blocks.kind in ('text', 'summary') and blocks.line_start is not null
    ) as text
from blocks
join documents using (document)
where blocks.turn is not null and documents.type in ('transcript', 'subagent')
group by all
