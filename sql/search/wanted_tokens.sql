-- One row a token that is looked for: its part and stem, and whether it stands in a live row of
-- relevance.
select
    part,
    token,
    stem,
    name in (select name from search_stems where stem in (select stem from found_uses)) as is_known
from tokens
where kind <> 'without'
order by part, token
