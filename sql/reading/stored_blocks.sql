-- One row a block of a document, whole: what stands in for a source that is gone.
select
    seq,
    turn,
    line_start,
    line_end,
    role,
    kind,
    tool_name,
    tool_use_id,
    is_error,
    sent_at,
    cwd,
    message_id,
    uuid,
    model,
    source_line,
    text
from read_parquet($file, hive_partitioning = false)
where document = $document
order by seq
