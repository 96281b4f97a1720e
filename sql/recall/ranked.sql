-- One row a candidate, best first: reciprocal rank fusion of three rankings, or by windows.
with
    candidates as (
        select
            eligible.*,
            evidence.* exclude (entry),
            conversation_scores.score as conversation_score,
            turn_scores.score as turn_score,
            10 * coalesce(terms, 0)
            + 6 * greatest(coalesce(dense, 1) - 1, 0)
            + case when topic_matches then 8 else 0 end
            + least(coalesce(hits, 0), 6) as evidence_score,
            10 * coalesce(query_terms, 0)
            + 6 * greatest(coalesce(query_dense, 1) - 1, 0)
            + case when query_topic_matches then 8 else 0 end
            + least(coalesce(query_hits, 0), 6) as score
        from eligible
        left join evidence using (entry)
        left join conversation_scores using (entry)
        left join
            (select entry, max(score) as score from scored_turns group by entry) as turn_scores
            using (entry)
        where terms > 0 or conversation_scores.score is not null
    ),
    ranks as (
        select
            *,
            row_number() over (
                order by
                    conversation_score desc nulls last,
                    dated_at desc nulls last,
                    session_id,
                    identity
            ) as conversation_rank,
            row_number() over (
                order by turn_score desc nulls last, dated_at desc nulls last, session_id, identity
            ) as turn_rank,
            row_number() over (
                order by evidence_score desc, dated_at desc nulls last, session_id, identity
            ) as evidence_rank,
            count(*) over () as total
        from candidates
    )
select
    *,
    case when conversation_score is null then 0 else 1.0 / (10 + conversation_rank) end
    + case when turn_score is null then 0 else 0.5 / (10 + turn_rank) end
    + case when evidence_score = 0 then 0 else 0.25 / (10 + evidence_rank) end as fused
from ranks
order by
    case when $rank = 'windows' then score else fused end desc,
    dated_at desc nulls last,
    session_id,
    identity
limit $k
