-- One row a quarter of an hour, place and kind of request of a period that such quarters make up.
select *
from spent
where
    ($since_at::timestamp is null or quarter_at >= $since_at::timestamp)
    and ($until_at::timestamp is null or quarter_at < $until_at::timestamp)
