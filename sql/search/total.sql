-- One row: how many hits there are.
select count(*) as total
from matching
left join judged using (document, seq)
where coalesce(judged.stands, not $has_phrases)
