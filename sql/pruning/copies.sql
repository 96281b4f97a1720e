-- One row a live copy of a document in a writer's files: what prune goes by, and how it is shown.
select
    stored.document,
    stored.host,
    stored.type,
    stored.session_id,
    stored.parent_session_id,
    stored.sid,
    stored.stem,
    stored.source_path,
    stored.source_format,
    stored.readable_hash,
    stored.bytes,
    segments.writer,
    copies.identity,
    shown.session_id as whole_id,
    shown.agent_id,
    shown.project,
    shown.harness,
    shown.topic,
    greatest(
        coalesce(shown.ended_at, shown.started_at),
        timezone('UTC', timezone($tz, shown.name_date::timestamp))
    ) as dated_at
from stored_documents as stored
join segments on segments.segment = stored.file_index
left join dead on dead.segment = stored.file_index and dead.document = stored.document
left join pruned on pruned.segment = stored.file_index and pruned.document = stored.document
join copies on copies.document = stored.document
join
    documents as shown
    on shown.identity = copies.identity
    and shown.host is not distinct from copies.host
where dead.document is null and pruned.document is null
order by dated_at desc nulls last, stored.document, segments.writer
