-- One row a matching block whose text decides: on phrases and on what must not stand, the best so
-- many; and on words as they were written, a few of the best. `candidates`: how many might hold
-- every phrase.
select document, seq, kind, candidates
from
    (
        select
            *,
            count(*) over () as candidates,
            row_number() over (
                order by weighed desc, said_at desc nulls last, document, seq
            ) as place,
            row_number() over (
                partition by words > 0 order by weighed desc, said_at desc nulls last, document, seq
            ) as place_of_words
        from matching
        where phrases >= $phrases
    )
where
    ((place <= $most) and ($has_phrases or withouts > 0))
    or (words > 0 and place_of_words <= $most_words)
order by document, seq
