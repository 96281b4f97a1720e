-- One row a result that says something near: how near that is, and where it stands; a topic, which
-- is shown anyway, stands only for want of another passage.
select near_entries.entry, near_entries.cosine, near.start, document, said.seq, said.kind
from near_entries
join near_passages as near on near.entry = near_entries.entry
join said on said.file = near.file and said.id = near.id
join indexed on indexed.file = said.file and indexed.ordinal = said.ordinal
where near_entries.entry in (select unnest($entries::integer[]))
qualify
    row_number() over (
        partition by near_entries.entry
        order by said.kind = 'topic', near.cosine desc, document, said.seq, near.start
    )
    = 1
