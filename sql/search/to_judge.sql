-- One row a matching block whose text decides, best first: on phrases and on what must not stand
-- (`is_decisive`), so many of all `candidates`; and on words as they were written, a few.
with
    holding as (
        select *, $has_phrases or withouts > 0 as is_decisive
        from matching
        where phrases >= $phrases
    )
select document, seq, kind, is_decisive, candidates
from
    (
        select
            *,
            count(*) filter (is_decisive) over () as candidates,
            row_number() over (
                partition by is_decisive
                order by
                    case when $rank = 'bm25' then score else weighed end desc,
                    said_at desc nulls last,
                    document,
                    seq
            ) as place,
            row_number() over (
                partition by words > 0 order by weighed desc, said_at desc nulls last, document, seq
            ) as place_of_words
        from holding
    )
where (is_decisive and place <= $most) or (words > 0 and place_of_words <= $most_words)
order by is_decisive desc, place
