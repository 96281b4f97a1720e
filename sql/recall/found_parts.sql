-- One row a piece of a term that stands in a word somewhere.
select distinct text from pieces join found_words using (piece)
