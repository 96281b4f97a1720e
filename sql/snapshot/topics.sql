-- One row a session that a catalogue knows: its newest entry, or the first prompt of a history.
with
    entries as (
        select
            catalogue.*,
            log.source_format in ('history', 'codex-history') as is_history,
            is_history and topic[1] = '/' as is_command,
            max(logged_local) over one_log as log_ends
        from catalogue
        join living as log using (document)
        where catalogue.session_id is not null
        window one_log as (partition by catalogue.host, catalogue.session_id, catalogue.document)
    )
select
    host,
    session_id,
    sid,
    logged_local,
    logged_at,
    cwd,
    topic,
    case when not is_history then topic end as title,
    case
        when is_history then left(trim(regexp_replace(left(topic, 240), '\s+', ' ', 'g')), 120)
    end as prompt,
    harness,
    model,
    turns,
    bytes,
    extra,
    is_history,
    document as log_document,
    line as log_line,
    count(distinct coalesce(logged_local, logged_at)) over one_session as entries
from entries
window one_session as (partition by host, session_id)
qualify
    row_number() over (
        partition by host, session_id
        order by
            is_history,
            is_command,
            -- A log is only appended to: its later line is newer whatever the clock said.
            log_ends desc,
            case when is_history then logged_at end,
            document,
            case when is_history then line else - line end
    )
    = 1
