-- One row a stored document that was pruned, and the segment that holds it.
with
    stored as materialized(
        select
            document,
            file_index as segment,
            host,
            type,
            session_id,
            parent_session_id,
            sid,
            case
                when type = 'plan'
                then md5(concat_ws(' ', type, readable_hash))
                when type in ('memory', 'note')
                then
                    md5(
                        concat_ws(
                            ' ',
                            type,
                            regexp_extract(source_path, '([^/]+)/(?:notes/|memory/)?[^/]+$', 1),
                            stem,
                            readable_hash
                        )
                    )
            end as text_id
        from stored_documents
    ),
    named as (
        select document, segment, host, 'document' as kind, document::varchar as id
        from stored
        union all
        select document, segment, host, 'session', session_id
        from stored
        union all
        select document, segment, host, 'session', parent_session_id
        from stored
        where type in ('subagent', 'file')
        union all
        select document, segment, host, 'subagent', parent_session_id || ' ' || session_id
        from stored
        where type in ('subagent', 'file')
        union all
        select document, segment, host, 'handle', sid
        from stored
        where type = 'transcript' and session_id is null
        union all
        select document, segment, host, 'text', text_id
        from stored
    )
select distinct named.document, named.segment
from named
join tombstones using (kind, id)
where tombstones.host is null or tombstones.host = named.host
