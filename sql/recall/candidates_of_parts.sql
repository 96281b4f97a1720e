-- One row a line that holds every piece of a term which has to be verified on the text.
select term, document, entry, line
from (select term, piece, parts, document, entry, unnest(lines) as line from spots where is_part)
group by term, document, entry, line
having count(distinct piece) = any_value(parts)
