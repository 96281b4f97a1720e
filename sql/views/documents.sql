-- One row a document: of several copies of one session on one host, the one that is read.
with
    folders as (
        select
            regexp_replace(cwd, '[^A-Za-z0-9-]', '-', 'g') as slug,
            min(regexp_extract(cwd, '([^/\\]+)[/\\]*$', 1)) as project
        from (select distinct cwd from living where cwd is not null)
        group by slug
        having count(distinct regexp_extract(cwd, '([^/\\]+)[/\\]*$', 1)) = 1
    ),
    chosen as (
        select *
        from copies
        where preference in (select min(preference) from copies group by host, identity)
    ),
    readables as (
        select host, identity, readable_hash, max(readable_path) as readable_path
        from copies
        where readable_path is not null
        group by host, identity, readable_hash
    ),
    spread as (
        select identity, list(host order by host) as hosts
        from chosen
        where host is not null
        group by identity
        having count(*) > 1
    ),
    told as (
        select
            *,
            nullif(trim(regexp_replace(custom_title, '\s+', ' ', 'g')), '') as by_person,
            nullif(trim(regexp_replace(ai_title, '\s+', ' ', 'g')), '') as by_harness,
            left(trim(regexp_replace(left(first_prompt, 240), '\s+', ' ', 'g')), 120) as by_prompt,
            left(
                trim(regexp_replace(left(slash_command, 240), '\s+', ' ', 'g')), 120
            ) as by_command,
            case when type not in ('transcript', 'subagent') then stem end as by_file
        from living
    )
select
    told.document,
    told.host,
    told.type,
    coalesce(told.harness, topics.harness) as harness,
    coalesce(
        nullif(regexp_extract(coalesce(told.cwd, topics.cwd), '([^/\\]+)[/\\]*$', 1), ''),
        folders.project,
        chosen.project_key
    ) as project,
    coalesce(
        by_person, topics.title, by_harness, by_prompt, by_command, topics.prompt, by_file
    ) as topic,
    case
        when by_person is not null
        then 'custom_title'
        when topics.title is not null
        then 'catalogue'
        when by_harness is not null
        then 'ai_title'
        when by_prompt is not null
        then 'first_prompt'
        when by_command is not null
        then 'slash_command'
        when topics.prompt is not null
        then 'history'
        when by_file is not null
        then 'file_name'
    end as topic_source,
    chosen.session_id,
    told.sid,
    parent_session_id,
    agent_id,
    agent_type,
    stem,
    coalesce(told.cwd, topics.cwd) as cwd,
    git_branch,
    told.custom_title,
    told.ai_title,
    told.first_prompt,
    told.slash_command,
    started_at,
    ended_at,
    name_date,
    topics.logged_local,
    topics.logged_at,
    told.turns,
    told.lines,
    told.bytes,
    told.readable_hash,
    models,
    cli_version,
    source_kind,
    source_format,
    source_root,
    source_path,
    source_bytes,
    source_modified_at,
    source_gone_at,
    readables.readable_path,
    spread.hosts,
    chosen.identity,
    chosen.preference,
    told.segment
from chosen
join told using (document)
left join
    topics
    on topics.host = told.host
    and topics.session_id = case when told.type = 'transcript' then chosen.session_id end
left join
    folders on folders.slug = case when told.type in ('memory', 'note') then chosen.project_key end
left join
    readables
    on readables.host is not distinct from chosen.host
    and readables.identity = chosen.identity
    and readables.readable_hash = chosen.readable_hash
left join spread on spread.identity = chosen.identity
