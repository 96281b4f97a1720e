-- One row a block that matches by its words, is near in meaning, or both: reciprocal rank fusion of
-- the two rankings, or how near it is; and where its nearest passage starts, where no word shows
-- it.
with
    by_words as (
        select
            *,
            row_number() over (
                order by weighed desc, said_at desc nulls last, document, seq
            ) as rank
        from worded
        where $mode <> 'meaning'
    ),
    both_ways as (
        select
            coalesce(by_words.entry, near_blocks.entry) as entry,
            document,
            seq,
            coalesce(by_words.kind, near_blocks.kind) as kind,
            coalesce(by_words.signal, near_blocks.signal) as signal,
            coalesce(by_words.said_at, near_blocks.said_at) as said_at,
            coalesce(by_words.phrases, 0) as phrases,
            coalesce(by_words.words, 0) as words,
            coalesce(by_words.withouts, 0) as withouts,
            case when by_words.rank is null then near_blocks.start end as start,
            case
                when $mode = 'meaning'
                then near_blocks.cosine
                else
                    coalesce(1 / (rank_constant + by_words.rank), 0)
                    + coalesce(meaning_weight.weight / (rank_constant + near_blocks.rank), 0)
            end as score
        from by_words
        full join near_blocks using (document, seq), ranking_weights, meaning_weight
        where by_words.rank is not null or near_blocks.rank <= most_near
    )
select *, score as weighed
from both_ways
