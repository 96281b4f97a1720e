-- One row a document that lies at a path, whole or under its source's root.
with placed as (select *, source_root || '/' || source_path as whole_path, 0 as rank from documents)
select placed.* exclude (whole_path)
from placed
where whole_path = $path or source_path = $path or readable_path = $path
order by
    rank,
    case when type in ('transcript', 'subagent') then lines end desc nulls last,
    source_format = 'readable',
    source_modified_at desc,
    document
