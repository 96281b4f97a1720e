-- One row a type and host: how many documents, and the newest.
select
    type,
    host,
    count(*) as documents,
    sum(lines)::bigint as lines,
    sum(bytes)::bigint as bytes,
    count(source_gone_at) as source_gone,
    max(ended_at) as newest_at
from documents
group by type, host
order by type, host
