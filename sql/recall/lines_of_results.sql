-- One row a line that a result can show, densest first, the title last: it repeats a prompt.
with
    passages as (
        select
            entry,
            line,
            is_topic,
            mask & $mask::ubigint as mask,
            line = 1 and not is_topic as is_title,
            bit_or(mask & $mask::ubigint) over (
                partition by entry, is_topic
                order by line
                range between current row and 10 following
            ) as passage
        from hits
        where entry in (select unnest($entries::integer[])) and (mask & $mask::ubigint) <> 0
    )
select entry, line, is_topic
from passages
qualify
    row_number() over (
        partition by entry, is_topic
        order by is_title, bit_count(passage) desc, bit_count(mask) desc, line
    )
    <= $most
order by entry, is_topic, is_title, bit_count(passage) desc, bit_count(mask) desc, line
