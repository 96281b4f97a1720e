-- One row: how many hours, days and weeks have calls, and how many lie between the first and the
-- last of them.
select
    count(distinct date_trunc('hour', local_at)) as hour,
    count(distinct date_trunc('day', local_at)) as day,
    count(distinct date_trunc('week', local_at)) as week,
    date_diff('hour', min(local_at), max(local_at)) as span_hour,
    date_diff('day', min(local_at), max(local_at)) as span_day,
    date_diff('week', min(local_at), max(local_at)) as span_week
from shown
