-- One row a block of a document in a range, whole.
select
    seq,
    turn,
    line_start,
    line_end,
    role,
    kind,
    tool_name,
    is_error,
    sent_at,
    uuid,
    source_line,
    text
from read_parquet($file, hive_partitioning = false)
where document = $document and seq between $first and $last
order by seq
