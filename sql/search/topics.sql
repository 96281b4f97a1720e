-- One row a wanted line of a log: the topic on it, in the shape of a block.
select
    wanted.document,
    wanted.seq,
    null::integer as turn,
    null::integer as line_start,
    null::integer as line_end,
    null::varchar as role,
    'topic' as kind,
    null::varchar as tool_name,
    null::boolean as is_error,
    null::varchar as uuid,
    catalogue.logged_at as sent_at,
    catalogue.topic as text
from wanted
join catalogue on catalogue.document = wanted.document and catalogue.line = wanted.seq
