-- One row a stem of the question in a live row of relevance.
select spoken.file, spoken.id, spoken.entry, spoken.turn, spoken.length, found.stem, uses.uses
from uses_of_found_stems as uses
join found_stems as found using (file, stem_id)
join spoken on spoken.file = uses.file and spoken.id = uses.said_id
