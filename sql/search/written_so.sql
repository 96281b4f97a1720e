-- One row a word with punctuation and a live row of relevance that may hold it as it was written:
-- one line of it, or of what follows it, has all its pieces; or it has the word's tokens, and
-- stands on no line, or the word has no piece that lines are searched for.
with
    blocks as (
        select indexed.document, said.file, said.id, said.line
        from said
        join indexed using (file, ordinal)
        where said.line is not null
    )
select distinct lines.part, blocks.file, blocks.id
from lines_of_parts as lines
asof join blocks on blocks.document = lines.document and blocks.line <= lines.line
union
select holders.part, holders.file, holders.id
from holders
join said using (file, id)
where holders.kind = 'word' and (said.line is null or holders.part not in (select term from pieces))
