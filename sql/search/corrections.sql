-- One row an unknown word: of the nearest words the one that stands in most blocks.
with
    stemmed as (
        select distinct word, candidate, slips, stem(candidate, 'porter') as stem from slips
    ),
    counted as (
        select word, candidate, slips, count(*) as blocks
        from stemmed
        join stems using (stem)
        join uses using (file, stem_id)
        join spoken on spoken.file = uses.file and spoken.id = uses.said_id
        group by word, candidate, slips
    )
select word, candidate
from counted
qualify row_number() over (partition by word order by slips, blocks desc, candidate) = 1
order by word
