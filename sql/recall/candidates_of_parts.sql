-- One row a line that holds every piece of a term which has to be verified on the text.
select term, document, entry, line
from
    (
        select
            pieces.term,
            pieces.piece,
            pieces.parts,
            indexed.document,
            indexed.entry,
            unnest(spots.lines) as line
        from spots
        join pieces using (piece)
        join indexed using (file, ordinal)
        where pieces.is_part
    )
group by term, document, entry, line
having count(distinct piece) = any_value(parts)
