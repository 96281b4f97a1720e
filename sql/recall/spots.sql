-- One row a word that holds a piece of a term, in a live document that it stands in.
with
    words as materialized(
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
    )
select
    words.piece,
    words.term,
    words.is_part,
    words.parts,
    indexed.document,
    indexed.entry,
    postings.lines
from postings
join words using (file, word_id)
join indexed using (file, ordinal)
