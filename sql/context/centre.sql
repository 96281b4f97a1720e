-- One row: the blocks of a document that are asked for, and how many it has. A line between blocks
-- stands for the block below it, a uuid for the blocks of the first line that has it.
select
    min(seq) filter (is_asked_for) as first_seq,
    max(seq) filter (is_asked_for) as last_seq,
    max(seq) as end_seq
from
    (
        select
            seq,
            case
                when $seq is not null
                then seq = $seq
                when $turn is not null
                then turn = $turn
                when $uuid is not null
                then
                    uuid = $uuid
                    and source_line
                    is not distinct from min(source_line) filter (uuid = $uuid) over ()
                else seq = arg_min(seq, line_end) filter (line_end >= $line) over ()
            end as is_asked_for
        from read_parquet($file, hive_partitioning = false)
        where document = $document
    )
