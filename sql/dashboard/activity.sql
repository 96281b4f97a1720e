-- One row an hour of a weekday (1: Monday) with calls: what was used then, over all weeks.
select
    isodow(local_at)::integer as weekday,
    hour(local_at)::integer as hour,
    sum(calls)::bigint as calls,
    sum(total_tokens)::bigint as total_tokens,
    (sum(cost) / 1e12)::double as cost_usd
from shown
where local_at is not null
group by all
order by weekday, hour
