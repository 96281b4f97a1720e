-- One row a line that a result can show, densest first: which terms, and the passage it opens.
select *
from
    (
        select
            entry,
            line,
            is_topic,
            mask,
            bit_or(mask) over (
                partition by entry, is_topic
                order by line
                range between current row and 10 following
            ) as passage
        from hits
        where entry in (select unnest($entries::integer[])) and (mask & $mask::ubigint) <> 0
    )
qualify
    row_number() over (
        partition by entry, is_topic
        order by
            bit_count(passage & $mask::ubigint) desc, bit_count(mask & $mask::ubigint) desc, line
    )
    <= $most
order by
    entry,
    is_topic,
    bit_count(passage & $mask::ubigint) desc,
    bit_count(mask & $mask::ubigint) desc,
    line
