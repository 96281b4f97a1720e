-- One row a block that was said, holds a word of the search and passes the filters: its score, and
-- how many phrases, words with punctuation and unwanted texts it may hold.
with
    held as (
        select
            file,
            id,
            count(*) filter (kind = 'phrase') as phrases,
            count(*) filter (kind = 'word' and written_so.part is not null) as words,
            count(*) filter (kind = 'without' and is_written_so) as withouts,
            count(*) filter (kind = 'without' and not is_written_so) > 0 as is_unwanted
        from holders
        left join written_so using (part, file, id)
        group by file, id
    )
select
    entry,
    document,
    seq,
    blocks_said.kind,
    signal,
    coalesce(sent_at, dated_at) as said_at,
    score,
    coalesce(phrases, 0) as phrases,
    coalesce(words, 0) as words,
    coalesce(withouts, 0) as withouts
from block_scores
join blocks_said using (file, id)
join (select entry, dated_at from eligible) using (entry)
left join held using (file, id)
where
    ($role is null or role = $role)
    and ($include_sidechains or not is_sidechain)
    and not coalesce(is_unwanted, false)
    and ($since_at::timestamp is null or said_at >= $since_at::timestamp)
    and ($until_at::timestamp is null or said_at < $until_at::timestamp)
