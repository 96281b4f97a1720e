-- One row a line of the readable: the turn that it is of, headings included.
select line, max(turn) as turn
from (select unnest($lines::integer[]) as line) as asked
join
    read_parquet($file, hive_partitioning = false) as blocks
    on blocks.document = $document
    and blocks.line_start - 2 <= asked.line
group by line
order by line
