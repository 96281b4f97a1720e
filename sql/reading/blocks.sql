-- One row a block of a document that the readable shows between two of its lines.
select seq, turn, line_start, line_end, role, kind, signal, tool_name, is_error, text
from read_parquet($file, hive_partitioning = false)
where document = $document and line_end >= $first and line_start <= $last
order by seq
