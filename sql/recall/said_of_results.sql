-- One row a wanted entry in which a stem of the question was said: the block that says most of
-- them.
with
    held as (
        select file, id, count(distinct stem) as stems, sum(uses) as uses
        from found_uses
        where entry in (select unnest($entries::integer[]))
        group by file, id
    )
select blocks_said.entry, blocks_said.document, blocks_said.seq, blocks_said.kind
from held
join blocks_said using (file, id)
qualify row_number() over (partition by entry order by stems desc, uses desc, document, seq) = 1
