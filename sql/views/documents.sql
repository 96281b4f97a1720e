-- One row a document: of several copies of one session on one host, the one that is read.
with
    folders as (
        select
            regexp_replace(cwd, '[^A-Za-z0-9-]', '-', 'g') as slug,
            min(regexp_extract(cwd, '([^/\\]+)[/\\]*$', 1)) as project
        from copies
        where cwd is not null
        group by slug
        having count(distinct regexp_extract(cwd, '([^/\\]+)[/\\]*$', 1)) = 1
    ),
    known as (
        select
            copies.*,
            topics.topic as catalogue_topic,
            topics.logged_local,
            topics.logged_at,
            topics.is_history,
            topics.cwd as catalogue_cwd,
            topics.harness as catalogue_harness
        from copies
        left join
            topics
            on copies.type in ('transcript', 'subagent')
            and topics.session_id = copies.session_id
            and topics.host is not distinct from copies.host
    ),
    chosen as (
        select
            *,
            max(readable_path) over same_readable as path_of_readable,
            row_number() over (
                partition by host, identity
                order by
                    case when type in ('transcript', 'subagent') then lines end
                    desc nulls last,
                    source_format = 'readable',
                    source_modified_at desc,
                    document
            ) as place
        from
            (
                select
                    known.*,
                    case
                        when source_format in ('readable', 'markdown')
                        then source_root || '/' || source_path
                    end as readable_path
                from known
            )
        window same_readable as (partition by host, identity, readable_hash)
    )
select
    chosen.document,
    chosen.host,
    chosen.type,
    coalesce(chosen.harness, catalogue_harness) as harness,
    coalesce(
        regexp_extract(coalesce(chosen.cwd, catalogue_cwd), '([^/\\]+)[/\\]*$', 1),
        folders.project,
        chosen.project_key
    ) as project,
    case
        when custom_title is not null
        then trim(regexp_replace(custom_title, '\s+', ' ', 'g'))
        when catalogue_topic is not null and not is_history
        then catalogue_topic
        when ai_title is not null
        then trim(regexp_replace(ai_title, '\s+', ' ', 'g'))
        when first_prompt is not null
        then left(trim(regexp_replace(first_prompt, '\s+', ' ', 'g')), 120)
        when slash_command is not null
        then left(trim(regexp_replace(slash_command, '\s+', ' ', 'g')), 120)
        when catalogue_topic is not null
        then left(trim(regexp_replace(catalogue_topic, '\s+', ' ', 'g')), 120)
        when chosen.type not in ('transcript', 'subagent')
        then stem
    end as topic,
    case
        when custom_title is not null
        then 'custom_title'
        when catalogue_topic is not null and not is_history
        then 'catalogue'
        when ai_title is not null
        then 'ai_title'
        when first_prompt is not null
        then 'first_prompt'
        when slash_command is not null
        then 'slash_command'
        when catalogue_topic is not null
        then 'history'
        when chosen.type not in ('transcript', 'subagent')
        then 'file_name'
    end as topic_source,
    chosen.session_id,
    chosen.sid,
    parent_session_id,
    agent_id,
    agent_type,
    stem,
    coalesce(chosen.cwd, catalogue_cwd) as cwd,
    git_branch,
    custom_title,
    ai_title,
    first_prompt,
    slash_command,
    started_at,
    ended_at,
    name_date,
    logged_local,
    logged_at,
    chosen.turns,
    chosen.lines,
    chosen.bytes,
    readable_hash,
    models,
    cli_version,
    source_kind,
    source_format,
    source_root,
    source_path,
    source_bytes,
    source_modified_at,
    source_gone_at,
    case
        when source_format in ('readable', 'markdown') or path_of_readable is not null
        then path_of_readable
    end as readable_path,
    identity,
    segment
from chosen
left join folders on chosen.type in ('memory', 'note') and folders.slug = chosen.project_key
where place = 1
