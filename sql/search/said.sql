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
    ),
    found as (
        select
            block_scores.entry,
            indexed.document,
            said.seq,
            said.kind,
            said.signal,
            coalesce(said.sent_at, eligible.dated_at) as said_at,
            block_scores.score,
            coalesce(held.phrases, 0) as phrases,
            coalesce(held.words, 0) as words,
            coalesce(held.withouts, 0) as withouts
        from block_scores
        join eligible using (entry)
        join entries using (entry)
        join said on said.file = block_scores.file and said.id = block_scores.id
        join indexed on indexed.file = said.file and indexed.ordinal = said.ordinal
        left join held on held.file = said.file and held.id = said.id
        where
            ($role is null or said.role = $role)
            and ($include_sidechains or not said.is_sidechain)
            and (said.kind <> 'topic' or entries.document is null)
            and not coalesce(held.is_unwanted, false)
    )
select *
from found
where
    ($since_at::timestamp is null or said_at >= $since_at::timestamp)
    and ($until_at::timestamp is null or said_at < $until_at::timestamp)
