-- One row a word that holds a piece, in a document that it stands in.
select found.piece, postings.file, postings.ordinal, postings.lines
from postings
join found_words as found using (file, word_id)
