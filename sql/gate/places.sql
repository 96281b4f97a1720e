-- One row a tree that live documents came from.
select distinct source_kind, source_root
from (select * rename(file_index as segment) from stored_documents) as stored
anti join dead using (segment, document)
anti join pruned using (segment, document)
order by source_root, source_kind
