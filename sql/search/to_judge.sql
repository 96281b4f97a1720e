-- One row a matching block whose text decides, best first: on phrases and on what must not stand
-- (`is_decisive`), so many of all `candidates`; and on words as they were written, a few.
with
    holding as (
        select
            document,
            seq,
            kind,
            said_at,
            words,
            weighed,
            $has_phrases or withouts > 0 as is_decisive,
            case when $rank = 'bm25' then score else weighed end as value
        from matching
        where phrases >= $phrases
    ),
    decisive as (
        select document, seq, kind, is_decisive, value, said_at
        from holding
        where is_decisive
        order by value desc, said_at desc nulls last, document, seq
        limit $most
    ),
    written_so as (
        select document, seq, kind, is_decisive, value, said_at
        from holding
        where words > 0
        order by weighed desc, said_at desc nulls last, document, seq
        limit $most_words
    )
select
    document, seq, kind, is_decisive, (select count(*) from holding where is_decisive) as candidates
from
    (
        select *
        from decisive
        union
        select *
        from written_so
    )
order by is_decisive desc, value desc, said_at desc nulls last, document, seq
