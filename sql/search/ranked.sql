-- One row a hit of one page, best first: the block, and the entry that it stands in.
select
    hits.document as block_document,
    hits.seq,
    hits.kind as block_kind,
    hits.said_at,
    case when $rank = 'bm25' then hits.score else hits.blended end as value,
    entries.*,
    eligible.dated_at
from hits
join entries using (entry)
join eligible using (entry)
order by value desc, said_at desc nulls last, block_document, hits.seq
limit $limit
offset $offset
