-- One row a word with punctuation and a live row of relevance that may hold it as it was written:
-- one line of it, or of what follows it, has all its pieces; or it has the word's tokens, and
-- stands on no line, or the word has no piece that lines are searched for.
with shown as (select file, id, document, line from blocks_said where line is not null)
select distinct lines.part, shown.file, shown.id
from lines_of_parts as lines
asof join shown on shown.document = lines.document and shown.line <= lines.line
union
select holders.part, holders.file, holders.id
from holders
join blocks_said using (file, id)
where
    holders.kind = 'word'
    and (blocks_said.line is null or holders.part not in (select term from pieces))
