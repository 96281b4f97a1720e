-- One row a hit of one page, best first: a block whose words match, and whose text was not found to
-- say otherwise; the entry that it stands in; how many there are. Each part of the search that
-- stands as it was written adds its share of the best score.
with
    hits as (
        select
            matching.*,
            case
                when $rank = 'bm25'
                then score
                else
                    weighed
                    + literal_weight * max(weighed) over () * coalesce(judged.literals, 0) / $parts
            end as value
        from matching
        left join judged using (document, seq), ranking_weights
        where coalesce(judged.stands, not $has_phrases)
    ),
    paged as (
        select
            entry,
            document as block_document,
            seq,
            kind as block_kind,
            said_at,
            value,
            start,
            count(*) over () as total
        from hits
        order by value desc, said_at desc nulls last, block_document, seq
        limit $limit
        offset $offset
    )
select paged.* exclude (entry), entries.*, eligible.dated_at
from paged
join entries using (entry)
join eligible using (entry)
order by value desc, said_at desc nulls last, block_document, seq
