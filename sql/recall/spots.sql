-- One row a word that holds a piece of a term, in a live document that it stands in.
select
    found.piece,
    found.term,
    found.is_part,
    found.parts,
    indexed.document,
    indexed.entry,
    postings.lines
from postings_of_found_words as postings
join found_words as found using (file, word_id)
join indexed using (file, ordinal)
