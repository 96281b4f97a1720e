-- One row a reason for which something was not taken in.
select reason, count(*) as rejects, count(distinct document) as documents
from rejects
group by reason
order by rejects desc, reason
