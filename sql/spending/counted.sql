-- One row a response, counted once however many documents hold it: where it belongs, its usage.
with
    repeated as (select call_key from logged group by call_key having count(*) > 1),
    foreign_sessions as (
        select
            rows.document,
            count(distinct rows.session_id) filter (
                where rows.session_id <> placed.session_id
            ) as foreign_sessions
        from stored_calls as rows
        join
            call_documents as placed
            on placed.logged_in = rows.document
            and placed.file_index = rows.file_index
        where rows.document in (select logged_in from logged semi join repeated using (call_key))
        group by rows.document
    ),
    -- Places by rule: the earliest, then the file of the line's own session, then the one with
    -- fewer foreign sessions, then the lesser session id, then the host.
    ranked as (
        select
            logged.*,
            row_number() over (
                partition by call_key
                order by
                    logged.sent_at nulls last,
                    logged.foreignness > 0,
                    foreign_sessions,
                    placed.session_id,
                    placed.host,
                    logged.logged_in
            ) as place_rank
        from logged
        semi join repeated using (call_key)
        join foreign_sessions on foreign_sessions.document = logged.logged_in
        join call_documents as placed on placed.logged_in = logged.logged_in
    ),
    -- Usage is taken whole from the row with the greatest output, of equal ones with the most
    -- tokens: a copy from before a run's end lacks its input, a row of zeros has none at all.
    best as (
        select *
        from ranked
        qualify
            row_number() over (
                partition by call_key
                order by
                    output_tokens desc,
                    input_tokens
                    + cache_write_5m_tokens
                    + cache_write_1h_tokens
                    + cache_read_tokens desc,
                    place_rank
            )
            = 1
    )
select * exclude (foreignness)
from logged
anti join repeated using (call_key)
union all by name
select
    best.* exclude (document, place, sent_at, foreignness, place_rank),
    owner.document,
    owner.place,
    owner.sent_at
from best
join ranked as owner on owner.call_key = best.call_key and owner.place_rank = 1
