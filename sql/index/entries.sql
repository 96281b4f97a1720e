-- One row what recall can find: a document, or a catalogued session without one.
select
    (row_number() over () - 1)::integer as entry,
    document,
    type,
    host,
    project,
    harness,
    cwd,
    session_id,
    sid,
    topic,
    identity,
    started_at,
    name_date,
    logged_local,
    logged_at,
    lines,
    log_document,
    log_line,
    stem,
    readable_path,
    preference,
    hosts,
    is_spread
from
    (
        select
            document,
            type,
            host,
            project,
            harness,
            cwd,
            session_id,
            sid,
            topic,
            identity,
            started_at,
            name_date,
            logged_local,
            logged_at,
            lines,
            null::bigint as log_document,
            null::integer as log_line,
            stem,
            readable_path,
            preference,
            hosts,
            hosts is not null as is_spread
        from documents
        where type in ('transcript', 'subagent', 'plan', 'memory', 'note')
        union all
        select
            null,
            'log',
            host,
            regexp_extract(cwd, '([^/\\]+)[/\\]*$', 1),
            harness,
            cwd,
            session_id,
            sid,
            topic,
            'transcript ' || session_id,
            null,
            null,
            logged_local,
            logged_at,
            null,
            null,
            null,
            null,
            null,
            row_number() over (order by session_id, host),
            list(host) over (
                partition by session_id
                order by host
                rows between unbounded preceding and unbounded following
            ),
            count(*) over (partition by session_id) > 1
        from topics
        where
            not exists (
                select 1
                from documents
                where documents.type = 'transcript' and documents.session_id = topics.session_id
            )
        union all
        select
            null,
            'log',
            host,
            regexp_extract(cwd, '([^/\\]+)[/\\]*$', 1),
            harness,
            cwd,
            null,
            null,
            topic,
            concat_ws(' ', 'log', document, line),
            null,
            null,
            logged_local,
            logged_at,
            null,
            document,
            line,
            null,
            null,
            null,
            null,
            false
        from catalogue
        where session_id is null
    )
