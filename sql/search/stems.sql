-- One row a stem of an index file that a token of the search stands for: its own; for the last
-- word of a phrase also those that begin with it; for a single sign of a script without spaces
-- the pairs that hold it.
select tokens.part, tokens.kind, tokens.name, stems.file, stems.stem_id, stem
from stems
join tokens using (stem)
union
select tokens.part, tokens.kind, tokens.name, stems.file, stems.stem_id, stems.stem
from stems
join tokens on tokens.is_begun and starts_with(stems.stem, tokens.token)
union
select tokens.part, tokens.kind, tokens.name, stems.file, stems.stem_id, stems.stem
from stems
join tokens on tokens.is_inside and contains(stems.stem, tokens.token)
