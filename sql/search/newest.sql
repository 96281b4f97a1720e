-- One row a block that was said and passes the filters, the newest so many, in the shape of `said`:
-- what is looked through where a search has no word.
select
    entry,
    document,
    seq,
    kind,
    signal,
    coalesce(sent_at, dated_at) as said_at,
    0.0::double as score,
    0 as phrases,
    0 as words,
    0 as withouts
from blocks_said
join (select entry, dated_at from eligible) using (entry)
where
    ($role is null or role = $role)
    and ($include_sidechains or not is_sidechain)
    and ($since_at::timestamp is null or said_at >= $since_at::timestamp)
    and ($until_at::timestamp is null or said_at < $until_at::timestamp)
order by said_at desc nulls last, document, seq
limit $most
