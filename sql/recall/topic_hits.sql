-- One row a term on a line of a log that is an entry's topic.
select topic_lines.entry, found.line, found.term
from
    (
        select indexed.document, unnest(spots.lines) as line, pieces.term
        from spots
        join pieces using (piece)
        join indexed using (file, ordinal)
        where indexed.entry is null and not pieces.is_part
    ) as found
join topic_lines using (document, line)
group by all
