-- One row: the first and last line of the readable that a range of turns covers.
select min(line_start) as first_line, max(line_end) as last_line
from read_parquet($file, hive_partitioning = false)
where document = $document and line_start is not null and turn between $first_turn and $last_turn
