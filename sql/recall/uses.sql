-- One row a stem of the question in a live row of relevance.
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
select spoken.file, spoken.id, spoken.entry, spoken.turn, asked.stem, uses.uses
from asked
join stems using (stem)
join uses using (file, stem_id)
join spoken on spoken.file = uses.file and spoken.id = uses.said_id
