-- One row a block of a document that the readable shows, among those that begin in some lines.
select seq, turn, line_start, line_end, role, kind, signal, tool_name, is_error, text
from read_parquet($file, hive_partitioning = false)
where document = $document and line_end >= $first and line_start > $after and line_start <= $upto
order by seq
