-- One row a value that a part of a document's address has, closest to what was typed first.
with
    found as (
        select
            case
                $part
                when 'host'
                then coalesce(host, '-')
                when 'project'
                then coalesce(project, '-')
                when 'sid'
                then sid
                else stem
            end as value,
            coalesce(started_at, name_date::timestamp, source_modified_at) as placed_at
        from documents
        where
            ($type is null or type = $type)
            and type in ('transcript', 'plan', 'memory', 'note')
            and ($host is null or coalesce(host, '-') = $host)
            and ($project is null or coalesce(project, '-') = $project)
    )
select value, count(*) over () as total
from found
where contains(lower(value), lower($typed))
group by value
order by starts_with(lower(value), lower($typed)) desc, max(placed_at) desc nulls last, value
limit $limit
