-- One row a message: a text that a person or the assistant wrote, as the readable shows it.
select
    documents.document,
    blocks.seq,
    blocks.turn,
    blocks.line_start as line,
    documents.host,
    documents.harness,
    documents.project,
    documents.sid,
    documents.session_id,
    blocks.is_sidechain,
    blocks.role,
    blocks.model,
    blocks.sent_at,
    timezone('UTC', blocks.sent_at)::date as date,
    blocks.is_summary,
    length(blocks.text) as characters,
    blocks.text
from blocks
join documents using (document)
where
    blocks.kind in ('text', 'summary')
    and blocks.role in ('user', 'assistant')
    and blocks.line_start is not null
    and not blocks.is_meta
    and not blocks.is_replay
    and documents.type in ('transcript', 'subagent')
