-- One row a token that is looked for in a live row of relevance.
select
    spoken.file,
    spoken.id,
    spoken.entry,
    spoken.turn,
    found.name as stem,
    sum(uses.uses)::uinteger as uses
from uses
join
    (select distinct file, stem_id, name from search_stems where kind <> 'without') as found using (
        file, stem_id
    )
join spoken on spoken.file = uses.file and spoken.id = uses.said_id
group by all
