-- One row a line of a log, whole: what stands in for a source that is not there.
select
    line, host, session_id, logged_local, logged_at, cwd, topic, harness, model, turns, bytes, extra
from read_parquet($file, hive_partitioning = false)
where document = $document
order by line
