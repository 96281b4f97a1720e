-- One row a wanted document: what it is, the segment it lies in, and how it was read.
select distinct wanted.document, documents.type, documents.segment, documents.source_format
from wanted
join documents using (document)
