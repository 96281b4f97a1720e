-- One row a block that was said and passes the filters, the newest so many: what is looked
-- through where a search has no word.
select
    eligible.entry,
    indexed.document,
    said.seq,
    said.kind,
    said.signal,
    coalesce(said.sent_at, eligible.dated_at) as said_at,
    0.0::double as score,
    0 as phrases,
    0 as words,
    0 as withouts
from spoken
join eligible using (entry)
join entries using (entry)
join said on said.file = spoken.file and said.id = spoken.id
join indexed on indexed.file = said.file and indexed.ordinal = said.ordinal
where
    ($role is null or said.role = $role)
    and ($include_sidechains or not said.is_sidechain)
    and (said.kind <> 'topic' or entries.document is null)
    and ($since_at::timestamp is null or said_at >= $since_at::timestamp)
    and ($until_at::timestamp is null or said_at < $until_at::timestamp)
order by said_at desc nulls last, indexed.document, said.seq
limit $most
