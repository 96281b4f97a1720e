-- One row a shown block of one document: the lines that it stands on.
select document, line_start, line_end
from read_parquet($file, hive_partitioning = false)
where document = $document and line_start is not null
order by line_start
