-- One row a document whose title is wanted: the first words of the user that it shows.
select document, arg_min(text, seq) as text
from read_parquet($files, hive_partitioning = false)
where
    document in (select document from wanted where line = 1)
    and line_start is not null
    and role = 'user'
    and kind in ('text', 'summary')
group by document
