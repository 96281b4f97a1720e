-- One row a reject of a file, whole: what stands in for a source that is not there.
select source_line, byte_offset, reason, sample
from read_parquet($file, hive_partitioning = false)
where document = $document
order by source_line, byte_offset, reason
