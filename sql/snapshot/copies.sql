-- One row a live document: what its copies share with it, and which of them is read first.
with
    whole_ids as (
        select host, sid, min(session_id) as session_id
        from
            (
                select host, sid, session_id
                from living
                where type = 'transcript' and session_id is not null
                union
                select host, sid, session_id
                from catalogue
                where session_id is not null
            )
        group by host, sid
        having count(distinct session_id) = 1
    ),
    named as (
        select
            living.document,
            living.host,
            living.type,
            living.stem,
            living.sid,
            living.parent_session_id,
            living.readable_hash,
            coalesce(living.session_id, whole_ids.session_id) as session_id,
            source_root || '/' || source_path as path,
            source_format in ('readable', 'markdown') and source_gone_at is null as is_readable,
            case
                when living.type in ('memory', 'note') or source_format = 'readable'
                then regexp_extract(source_path, '([^/]+)/(?:notes/|memory/)?[^/]+$', 1)
            end as project_key,
            row_number() over (
                order by
                    case when living.type in ('transcript', 'subagent') then lines end
                    desc nulls last,
                    source_format = 'readable',
                    source_modified_at desc,
                    document
            ) as preference
        from living
        -- The key is NULL where nothing is missing: a condition of its own would cost a nested
        -- loop.
        left join
            whole_ids
            on whole_ids.host = living.host
            and whole_ids.sid
            = case when living.type = 'transcript' and living.session_id is null then living.sid end
    )
select
    document,
    host,
    type,
    session_id,
    path,
    project_key,
    preference,
    readable_hash,
    case when is_readable then path end as readable_path,
    case
        when type = 'transcript'
        then 'transcript ' || coalesce(session_id, concat_ws(' ', host, sid, stem))
        when type = 'subagent'
        then concat_ws(' ', 'subagent', parent_session_id, session_id)
        when type in ('memory', 'note')
        then concat_ws(' ', type, project_key, stem, readable_hash)
        when type = 'plan'
        then type || ' ' || readable_hash
        else 'document ' || document
    end as identity
from named
