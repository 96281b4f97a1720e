-- One row a shown block of one document that holds one of some lines.
select document, turn, line_start, line_end, kind, tool_name, is_error, text
from read_parquet($file, hive_partitioning = false)
where
    document = $document
    and len(list_filter($lines::integer[], lambda line:line between line_start and line_end)) > 0
