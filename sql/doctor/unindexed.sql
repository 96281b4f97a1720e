-- One row: how many documents with text no index file holds.
select count(*) as documents
from documents
where lines > 0 and document not in (select document from indexed)
