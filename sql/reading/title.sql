-- One row: a document and the first words of the user that it shows, which are its title.
select $document as document, arg_min(text, seq) as text
from read_parquet($file, hive_partitioning = false)
where
    document = $document
    and line_start is not null
    and role = 'user'
    and kind in ('text', 'summary')
