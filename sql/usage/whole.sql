-- One row a counted response of a period.
select *, null::varchar as tool
from priced
where
    ($since_at::timestamp is null or sent_at >= $since_at::timestamp)
    and ($until_at::timestamp is null or sent_at < $until_at::timestamp)
