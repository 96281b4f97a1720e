-- One row a session that a catalogue knows: its newest entry, or the first prompt of a history.
select
    catalogue.host,
    session_id,
    arg_min(catalogue.sid, rank) as sid,
    arg_min(logged_local, rank) as logged_local,
    arg_min(logged_at, rank) as logged_at,
    arg_min(catalogue.cwd, rank) as cwd,
    arg_min(topic, rank) as topic,
    arg_min(catalogue.harness, rank) as harness,
    arg_min(model, rank) as model,
    arg_min(catalogue.turns, rank) as turns,
    arg_min(catalogue.bytes, rank) as bytes,
    arg_min(extra, rank) as extra,
    min(rank).is_history as is_history,
    count(*) as entries
from
    (
        select
            entries.*,
            {
                'is_history':log.source_format = 'history',
                'is_command':log.source_format = 'history' and entries.topic[1] = '/',
                'age': case
                    when log.source_format = 'history'
                    then epoch_us(entries.logged_at)
                    else - epoch_us(entries.logged_local)
                end,
                'line': case
                    when log.source_format = 'history' then entries.line else - entries.line
                end,
                'document':entries.document
            } as rank
        from catalogue as entries
        join stored as log on log.document = entries.document
        where entries.session_id is not null
    ) as catalogue
group by catalogue.host, session_id
