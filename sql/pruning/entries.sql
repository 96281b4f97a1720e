-- One row a session in a catalogue: how many of its rows are prompts, and whether it is here.
with
    logs as (
        select document, bool_or(source_format in ('history', 'codex-history')) as is_history
        from stored_documents
        where type = 'log'
        group by document
    )
select
    catalogue.host,
    catalogue.session_id,
    any_value(catalogue.sid) as sid,
    any_value(catalogue.harness) as harness,
    arg_max(
        nullif(regexp_extract(catalogue.cwd, '([^/\\]+)[/\\]*$', 1), ''), catalogue.line
    ) as project,
    arg_max(catalogue.topic, catalogue.line) filter (not logs.is_history) as topic,
    max(
        coalesce(timezone('UTC', timezone($tz, catalogue.logged_local)), catalogue.logged_at)
    ) as dated_at,
    count(*) filter (logs.is_history) as prompts,
    count(*) filter (not logs.is_history) as entries,
    catalogue.session_id in (
        select session_id from documents where type = 'transcript' and session_id is not null
    ) as is_here
from catalogue
join logs using (document)
where catalogue.session_id is not null
group by catalogue.host, catalogue.session_id
order by dated_at desc nulls last, catalogue.session_id, catalogue.host
