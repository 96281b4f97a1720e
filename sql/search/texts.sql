-- One row a wanted block of some documents, whole.
select
    document, seq, turn, line_start, line_end, role, kind, tool_name, is_error, uuid, sent_at, text
from read_parquet($file, hive_partitioning = false)
where
    document in (select unnest($documents::bigint[]))
    and (document, seq) in (select (document, seq) from wanted)
