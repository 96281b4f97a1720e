-- One row a line that a result can show, densest first, the title last: it repeats a prompt.
with
    hits as (
        select
            entry,
            is_topic,
            first_line + place as line,
            bit_or(1::ubigint << term) & $mask::ubigint as mask
        from stretches, range(11) as stretch(place)
        where
            entry in (select unnest($entries::integer[]))
            and (1::ubigint << term) & $mask::ubigint <> 0
            and places & (1::uinteger << place::uinteger) <> 0
        group by all
    ),
    passages as (
        select
            entry,
            line,
            is_topic,
            mask,
            line = 1 and not is_topic as is_title,
            bit_or(mask) over (
                partition by entry, is_topic
                order by line
                range between current row and 10 following
            ) as passage
        from hits
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
