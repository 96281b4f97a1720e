-- One row a file that a session's tools read, edited or wrote, as the calls name it.
with
    calls as (
        select
            document,
            sent_at,
            lower(list_last(string_split(tool_name, '__'))) as tool,
            try_cast(text as json) as input
        from blocks
        where
            kind = 'tool_use'
            and not is_replay
            and (contains(text, 'ath"') or contains(text, '*** Begin Patch'))
    ),
    commanded as (
        select
            * exclude (tool),
            -- These tools do all three, as their command says.
            if(starts_with(tool, 'str_replace_'), input ->> 'command', tool) as tool,
            coalesce(
                input ->> 'file_path',
                input ->> 'filePath',
                input ->> 'absolute_path',
                input ->> 'notebook_path'
            ) as file,
            input ->> 'path' as path,
            coalesce(input ->> 'command', input ->> 'patch', input ->> 'input') as patch
        from calls
    ),
    touched as (
        select
            document,
            sent_at,
            coalesce(file, path) as path,
            case
                when tool in ('read', 'read_file', 'view', 'notebookread')
                then 'read'
                when tool in ('write', 'write_file', 'create', 'create_file')
                then 'write'
                when
                    tool in (
                        'edit',
                        'multiedit',
                        'edit_file',
                        'notebookedit',
                        'replace',
                        'str_replace',
                        'insert',
                        'patch'
                    )
                then 'edit'
            end as action
        from commanded
        where coalesce(file, path) is not null
        union all
        select
            document,
            sent_at,
            unnest(
                regexp_extract_all(patch, '(?m)^\*\*\* (?:Add|Update|Delete) File: (.+?)\s*$', 1)
            ),
            'edit'
        from commanded
        where contains(patch, '*** Begin Patch')
    )
select
    documents.document,
    documents.host,
    documents.harness,
    documents.project,
    documents.sid,
    documents.session_id,
    documents.type = 'subagent' as is_sidechain,
    touched.path,
    count(*) filter (where touched.action = 'read') as reads,
    count(*) filter (where touched.action = 'edit') as edits,
    count(*) filter (where touched.action = 'write') as writes,
    min(touched.sent_at) as first_at,
    max(touched.sent_at) as last_at
from touched
join documents using (document)
where touched.action is not null
group by all
