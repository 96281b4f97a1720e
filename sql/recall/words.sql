-- One row a word of an index file that holds a piece of a term.
select piece, term, is_part, parts, file, (first_id + place - 1)::uinteger as word_id
from
    (
        select
            pieces.*,
            lexicon.file,
            lexicon.first_id,
            unnest(string_split(lexicon.words, chr(10))) as word,
            generate_subscripts(string_split(lexicon.words, chr(10)), 1) as place
        from lexicon
        join pieces on contains(lexicon.words, pieces.text)
    )
where contains(word, text)
