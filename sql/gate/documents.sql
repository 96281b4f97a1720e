-- One row a live document of a tree that lies at one of these paths.
select distinct source_path, source_format, type
from (select * rename(file_index as segment) from stored_documents) as stored
anti join dead using (segment, document)
anti join pruned using (segment, document)
where
    source_kind = $kind
    and source_root = $root
    and source_path in (select unnest($paths::varchar[]))
order by source_path, source_format, type
