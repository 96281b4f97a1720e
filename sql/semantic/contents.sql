-- One row a passage that a live document of one index file says: whose, what, and how new that is.
select ordinals.document, passages.content, ordinals.newest_at
from
    (
        select ordinal, document, max(sent_at) as newest_at
        from ordinals
        join said using (ordinal)
        where document not in (select unnest($dead::bigint[]))
        group by ordinal, document
    ) as ordinals
join said using (ordinal)
join passages on passages.said_id = said.id
order by newest_at desc nulls last, document, said.id, passages.start
