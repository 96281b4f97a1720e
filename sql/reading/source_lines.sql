-- One row: the lines of the source file that a range of turns came from.
select min(source_line) as first_line, max(source_line) as last_line
from read_parquet($file, hive_partitioning = false)
where document = $document and line_start is not null and turn between $first_turn and $last_turn
