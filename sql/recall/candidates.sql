-- One row a candidate: what the two relevance rankings give it, and between what its evidence
-- must lie: 10 a term, 6 a further term in one passage, 8 for the topic, up to 6 for hits.
with
    matching as (
        select
            eligible.entry,
            eligible.age,
            coverage.* exclude (entry),
            conversation_scores.score as conversation_score,
            turn_scores.score as turn_score
        from eligible
        left join coverage using (entry)
        left join conversation_scores using (entry)
        left join turn_scores using (entry)
        where coverage.entry is not null or conversation_scores.entry is not null
    )
select
    entry,
    age,
    coalesce(
        1.0
        / (10 + row_number() over (order by conversation_score desc nulls last, age))
        * case when conversation_score is not null then 1 end,
        0
    ) + coalesce(
        0.5
        / (10 + row_number() over (order by turn_score desc nulls last, age))
        * case when turn_score is not null then 1 end,
        0
    ) as relevance,
    case
        when mask is null
        then 0
        else
            10 * bit_count(mask)::integer
            + case when topic_mask <> 0 then 8 else 0 end
            + least(least, 6)
    end as lowest,
    case
        when mask is null
        then 0
        else
            10 * bit_count(mask)::integer
            + 6 * greatest(bit_count(line_mask)::integer - 1, 0)
            + case when topic_mask <> 0 then 8 else 0 end
            + least(most, 6)
    end as highest,
    case
        when coalesce(mask & $query_mask::ubigint, 0) = 0
        then 0
        else
            10 * bit_count(mask & $query_mask::ubigint)::integer
            + case when topic_mask & $query_mask::ubigint <> 0 then 8 else 0 end
            + least(query_least, 6)
    end as query_lowest,
    case
        when coalesce(mask & $query_mask::ubigint, 0) = 0
        then 0
        else
            10 * bit_count(mask & $query_mask::ubigint)::integer
            + 6 * greatest(bit_count(line_mask & $query_mask::ubigint)::integer - 1, 0)
            + case when topic_mask & $query_mask::ubigint <> 0 then 8 else 0 end
            + least(query_most, 6)
    end as query_highest
from matching
