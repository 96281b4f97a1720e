-- One row a candidate: what the rankings by relevance and by meaning give it, and between what its
-- evidence must lie: points for terms, further ones in one passage, the topic, and hits.
with
    matching as (
        select
            eligible.entry,
            eligible.age,
            coverage.* exclude (entry),
            conversation_scores.score as conversation_score,
            turn_scores.score as turn_score,
            near_entries.rank as near_rank
        from eligible
        left join coverage using (entry)
        left join conversation_scores using (entry)
        left join turn_scores using (entry)
        left join near_entries using (entry), ranking_weights
        where
            near_entries.rank <= most_near
            or (
                $rank <> 'meaning'
                and (coverage.entry is not null or conversation_scores.entry is not null)
            )
    )
select
    entry,
    age,
    coalesce(
        conversation_weight
        / (rank_constant + row_number() over (order by conversation_score desc nulls last, age))
        * case when conversation_score is not null and $rank <> 'meaning' then 1 end,
        0
    ) + coalesce(
        turn_weight
        / (rank_constant + row_number() over (order by turn_score desc nulls last, age))
        * case when turn_score is not null and $rank <> 'meaning' then 1 end,
        0
    )
    + coalesce(meaning_weight.weight / (rank_constant + near_rank), 0) as relevance,
    case
        when mask is null
        then 0
        else
            term_points * bit_count(mask)::integer
            + case when topic_mask <> 0 then topic_points else 0 end
            + least(least, most_hit_points)
    end as lowest,
    case
        when mask is null
        then 0
        else
            term_points * bit_count(mask)::integer
            + passage_points * greatest(bit_count(line_mask)::integer - 1, 0)
            + case when topic_mask <> 0 then topic_points else 0 end
            + least(most, most_hit_points)
    end as highest,
    case
        when coalesce(mask & $query_mask::ubigint, 0) = 0
        then 0
        else
            term_points * bit_count(mask & $query_mask::ubigint)::integer
            + case when topic_mask & $query_mask::ubigint <> 0 then topic_points else 0 end
            + least(query_least, most_hit_points)
    end as query_lowest,
    case
        when coalesce(mask & $query_mask::ubigint, 0) = 0
        then 0
        else
            term_points * bit_count(mask & $query_mask::ubigint)::integer
            + passage_points * greatest(bit_count(line_mask & $query_mask::ubigint)::integer - 1, 0)
            + case when topic_mask & $query_mask::ubigint <> 0 then topic_points else 0 end
            + least(query_most, most_hit_points)
    end as query_highest
from matching, ranking_weights, meaning_weight
