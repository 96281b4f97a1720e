-- One row a live document: with the identity that its copies share and when its source went.
with
    newest as (
        select
            stored.*,
            segments.writer,
            gone.gone_at as source_gone_at,
            case
                when stored.type in ('memory', 'note') or stored.source_format = 'readable'
                then regexp_extract(source_path, '([^/]+)/(?:notes/|memory/)?[^/]+$', 1)
            end as project_key
        from stored
        join segments using (segment)
        left join dead on dead.segment = stored.segment and dead.document = stored.document
        left join gone on gone.writer = segments.writer and gone.document = stored.document
        where dead.document is null
        qualify
            row_number() over (
                partition by stored.document
                order by
                    case when stored.type in ('transcript', 'subagent') then stored.lines end
                    desc nulls last,
                    gone.gone_at is not null,
                    stored.source_modified_at desc,
                    segments.writer
            )
            = 1
    ),
    whole_ids as (
        select host, sid, min(session_id) as session_id
        from
            (
                select host, sid, session_id
                from newest
                where type = 'transcript' and session_id is not null
                union
                select host, sid, session_id
                from catalogue
                where session_id is not null
            )
        group by host, sid
        having count(distinct session_id) = 1
    )
select
    newest.* exclude (session_id),
    coalesce(newest.session_id, whole_ids.session_id) as session_id,
    case
        when type = 'transcript'
        then
            'transcript ' || coalesce(
                newest.session_id,
                whole_ids.session_id,
                concat_ws(' ', newest.host, newest.sid, newest.stem)
            )
        when type = 'subagent'
        then concat_ws(' ', 'subagent', parent_session_id, newest.session_id)
        when type in ('memory', 'note')
        then concat_ws(' ', type, project_key, stem)
        when type = 'plan'
        then type || ' ' || readable_hash
        else 'document ' || document
    end as identity
from newest
left join
    whole_ids
    on newest.type = 'transcript'
    and newest.session_id is null
    and whole_ids.host = newest.host
    and whole_ids.sid = newest.sid
