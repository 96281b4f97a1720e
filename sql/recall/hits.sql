-- One row a line of an entry that holds terms: as bits of a mask, one a term.
select entry, line, is_topic, bit_or(1::ubigint << term) as mask
from
    (
        select indexed.entry, unnest(spots.lines) as line, false as is_topic, pieces.term
        from spots
        join pieces using (piece)
        join indexed using (file, ordinal)
        where indexed.entry is not null and not pieces.is_part
        union all
        select topic_lines.entry, found.line, true, found.term
        from
            (
                select indexed.document, unnest(spots.lines) as line, pieces.term
                from spots
                join pieces using (piece)
                join indexed using (file, ordinal)
                where indexed.entry is null and not pieces.is_part
            ) as found
        join topic_lines using (document, line)
        union all
        select entry, line, is_topic, term
        from verified
    )
group by entry, line, is_topic
