-- One row a shown block of some documents: the lines that it stands on.
select document, line_start, line_end
from read_parquet($file, hive_partitioning = false)
where document in (select unnest($documents::bigint[])) and line_start is not null
