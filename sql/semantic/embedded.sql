-- One row a vector in some files: what it stands for.
select content from read_parquet($files::varchar[], hive_partitioning = false)
