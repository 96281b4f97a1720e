-- One row a line of a wanted entry and a term that stands on it, which may come twice.
with wanted_entries as (select unnest($entries::integer[]) as entry)
select entry, term, false as is_topic, unnest(lines) as line
from spots
join wanted_entries using (entry)
where not is_part
union all
select entry, term, is_topic, line
from other_hits
join wanted_entries using (entry)
