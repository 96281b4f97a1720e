-- One row a document whose blocks are wanted: the segment it lies in.
select documents.document, documents.segment
from documents
where document in (select unnest($documents::bigint[]))
