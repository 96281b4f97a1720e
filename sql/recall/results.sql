-- One row a result: what is shown of it.
select entries.*, eligible.dated_at
from entries
join eligible using (entry)
where entry in (select unnest($entries::integer[]))
