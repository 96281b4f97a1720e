-- One row a passage of a live row of relevance: what it counts for, where it is, and what it says.
select spoken.entry, passages.file, passages.said_id as id, passages.start, passages.content
from passages
join spoken on spoken.file = passages.file and spoken.id = passages.said_id
