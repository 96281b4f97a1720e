-- One row a token that is looked for and stands in no live row of relevance.
select distinct token
from tokens
where kind <> 'without' and name not in (select stem from found_uses)
order by token
