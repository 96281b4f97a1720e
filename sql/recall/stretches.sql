-- One row a stretch of eleven lines of a wanted entry and a term that stands in it: on which of
-- its lines, as bits, the lowest the first.
with wanted_entries as (select unnest($entries::integer[]) as entry)
select
    entry,
    is_topic,
    term,
    line - line % 11 as first_line,
    bit_or(1::uinteger << (line % 11)::uinteger) as places
from
    (
        select entry, unnest(lines) as line, false as is_topic, term
        from spots
        join wanted_entries using (entry)
        where not is_part
        union all
        select entry, line, true, term
        from topic_hits
        join wanted_entries using (entry)
        union all
        select entry, line, is_topic, term
        from verified
        join wanted_entries using (entry)
    )
group by all
