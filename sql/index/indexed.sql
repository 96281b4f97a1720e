-- One row a live document of an index file, and the entry that it is (null: a log).
select ordinals.file, ordinals.ordinal, ordinals.document, entries.entry
from ordinals
join index_files using (file)
join documents on documents.document = ordinals.document
join segments on segments.segment = documents.segment and segments.writer = index_files.writer
left join entries on entries.document = ordinals.document
left join
    dead_in_index
    on dead_in_index.file = ordinals.file
    and dead_in_index.document = ordinals.document
where dead_in_index.document is null
