-- One row a line of a wanted entry that holds terms: as bits of a mask, one a term.
with wanted_entries as (select unnest($entries::integer[]) as entry)
select entry, line, is_topic, bit_or(1::ubigint << term) as mask
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
group by entry, line, is_topic
