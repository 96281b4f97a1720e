-- One row a document with a prompt: the first words of the user that it shows, which are its title.
select document, arg_min(text, seq) as text
from read_parquet($file, hive_partitioning = false)
where
    document in (select unnest($documents::bigint[]))
    and line_start is not null
    and role = 'user'
    and kind in ('text', 'summary')
group by document
