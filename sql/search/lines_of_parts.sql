-- One row a line of a document that holds every piece of a part of the search.
select term as part, document, entry, line
from
    (
        select term, piece, parts, document, entry, unnest(lines) as line
        from spots
        where entry is not null
    )
group by term, document, entry, line
having count(distinct piece) = any_value(parts)
