-- One row a stem of the question.
select distinct stem(token, 'porter') as stem
from
    (
        select
            unnest(
                string_split_regex(
                    regexp_replace(lower(strip_accents($text)), '[^\p{L}\p{N}]+', ' ', 'g'), '\s+'
                )
            ) as token
    )
where token <> ''
