-- One row a stem of the question that an index file has.
with
    tokens as (
        select
            unnest(
                string_split_regex(
                    regexp_replace(lower(strip_accents($text)), '[^\p{L}\p{N}]+', ' ', 'g'), '\s+'
                )
            ) as token
    ),
    asked as (select distinct stem(token, 'porter') as stem from tokens where token <> '')
select stems.file, stems.stem_id, stem, dense_rank() over (order by stem) - 1 as number
from stems
join asked using (stem)
