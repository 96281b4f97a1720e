-- One row a session that a group stands for.
select document, sid, host, topic
from documents
where document in (select unnest($documents::bigint[]))
