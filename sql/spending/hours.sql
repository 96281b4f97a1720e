-- One row an hour in which a harness was used, in order.
select distinct harness, date_trunc('hour', quarter_at) as hour_at
from spent
join places using (place)
where quarter_at is not null
order by harness, hour_at
