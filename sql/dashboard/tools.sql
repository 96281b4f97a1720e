-- One row a tool, the most used first, and how many there are; `all_` is of all of them.
select
    tool,
    sum(uses)::bigint as uses,
    sum(results)::bigint as results,
    sum(errors)::bigint as errors,
    sum(errors) / nullif(sum(results), 0) as error_rate,
    sum(sum(uses)) over ()::bigint as all_uses,
    sum(sum(results)) over ()::bigint as all_results,
    sum(sum(errors)) over ()::bigint as all_errors,
    count(*) over () as total
from tool_uses
where
    ($since_at::timestamp is null or quarter_at >= $since_at::timestamp)
    and ($until_at::timestamp is null or quarter_at < $until_at::timestamp)
    and ($host::varchar is null or host = $host)
    and ($harness::varchar is null or harness = $harness)
    and ($project::varchar is null or contains(lower(project), lower($project)))
    and ($model::varchar is null or contains(lower(model), lower($model)))
    and (len($hosts::varchar[]) = 0 or list_contains($hosts::varchar[], coalesce(host, '')))
    and (
        len($projects::varchar[]) = 0 or list_contains($projects::varchar[], coalesce(project, ''))
    )
    and (
        len($harnesses::varchar[]) = 0
        or list_contains($harnesses::varchar[], coalesce(harness, ''))
    )
    and (len($models::varchar[]) = 0 or list_contains($models::varchar[], coalesce(model, '')))
group by tool
order by uses desc, tool
limit $limit
