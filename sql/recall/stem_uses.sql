-- One row a stem of the question in a row of relevance, dead or alive.
select found.number as stem, uses.file, uses.said_id, uses.uses
from uses_of_found_stems as uses
join found_stems as found using (file, stem_id)
