-- One row a document in which a term of punctuation is looked for: the newest, those first
-- that hold other terms.
select documents.document, entries.entry, documents.lines, count(*) over () as candidates
from documents
join entries on entries.document = documents.document
left join (select distinct entry from spots) as found using (entry)
order by found.entry is null, documents.started_at desc nulls last, documents.document
limit $most
