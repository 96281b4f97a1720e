-- One row a word of the lexicon that is at most so many slips away from an unknown one. Untested
-- are those that can't be: of another length, or with no part of it where the slips left it.
with
    near as (
        select
            misspelt.word,
            words.word as candidate,
            translate(misspelt.word, signs, codes) as coded,
            regexp_replace(
                translate(words.word, signs, codes), '[^[:ascii:]]', '?', 'g'
            ) as coded_candidate
        from
            (
                select unnest(string_split(strip_accents(words), chr(10))) as word from lexicon
            ) as words
        join
            misspelt
            on strlen(words.word) between misspelt.shortest and misspelt.longest
            and (
                starts_with(words.word, misspelt.head)
                or ends_with(words.word, misspelt.tail)
                or contains(words.word, misspelt.middle)
            )
    )
select word, candidate, damerau_levenshtein(coded_candidate, coded) as slips
from near
where damerau_levenshtein(coded_candidate, coded) between 1 and $most_slips
