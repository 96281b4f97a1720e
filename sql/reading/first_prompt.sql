-- One row: the first words of the user that the readable shows; they are its title.
select text
from read_parquet($file, hive_partitioning = false)
where
    document = $document
    and line_start is not null
    and role = 'user'
    and kind in ('text', 'summary')
order by seq
limit 1
