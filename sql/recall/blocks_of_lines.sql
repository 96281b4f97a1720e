-- One row a shown block of some documents that holds a wanted line.
select document, turn, line_start, line_end, kind, tool_name, is_error, text
from read_parquet($file, hive_partitioning = false)
join (select document, list(line) as lines from wanted group by document) as asked using (document)
where
    document in (select unnest($documents::bigint[]))
    and len(list_filter(lines, lambda line:line between line_start and line_end)) > 0
