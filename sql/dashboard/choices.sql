-- One row a model, project, host or harness of the whole archive, the dearest of each kind first.
with
    named as (
        select 'model' as split, coalesce(kinds.model, '') as name, spent.*
        from spent
        join kinds using (kind)
        union all
        select 'project', coalesce(places.project, ''), spent.*
        from spent
        join places using (place)
        union all
        select 'host', coalesce(places.host, ''), spent.*
        from spent
        join places using (place)
        union all
        select 'harness', coalesce(places.harness, ''), spent.*
        from spent
        join places using (place)
    )
select split, name, sum(calls)::bigint as calls
from named
group by split, name
qualify
    row_number() over (partition by split order by sum(cost) desc nulls last, sum(calls) desc, name)
    <= $limit
order by split, sum(cost) desc nulls last, sum(calls) desc, name
