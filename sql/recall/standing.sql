-- One row a candidate that may be among the first: between what its place must lie, whether
-- its evidence has been measured, and which others have to be for its rank to be known.
with
    bounded as (
        select
            candidates.entry,
            age,
            relevance,
            measured.entry is not null as is_measured,
            coalesce(measured.evidence, lowest) as lowest,
            coalesce(measured.evidence, highest) as highest,
            coalesce(measured.score, query_lowest) as query_lowest,
            coalesce(measured.score, query_highest) as query_highest,
            count(*) over () as total
        from candidates
        left join measured using (entry)
    ),
    above_lowest as (
        select lowest as evidence, sum(count(*)) over (order by lowest desc) as entries
        from bounded
        group by lowest
    ),
    above_highest as (
        select highest as evidence, sum(count(*)) over (order by highest desc) as entries
        from bounded
        group by highest
    ),
    ranked as (
        select bounded.*, 1 + coalesce(sure.entries, 0) as best_rank, possible.entries as worst_rank
        from bounded
        asof left join above_lowest as sure on bounded.highest < sure.evidence
        asof left join above_highest as possible on bounded.lowest <= possible.evidence
    ),
    placed as (
        select
            *,
            case
                when $rank = 'windows'
                then query_lowest
                when $rank = 'meaning'
                then relevance
                else
                    relevance + case
                        when highest = 0 then 0 else evidence_weight / (rank_constant + worst_rank)
                    end
            end as least_value,
            case
                when $rank = 'windows'
                then query_highest
                when $rank = 'meaning'
                then relevance
                else
                    relevance + case
                        when highest = 0 then 0 else evidence_weight / (rank_constant + best_rank)
                    end
            end as most_value
        from ranked, ranking_weights
    )
select entry, age, is_measured, lowest, highest, least_value, most_value, total
from placed
where
    most_value >= coalesce(
        (select least_value from placed order by least_value desc limit 1 offset $k - 1), -1
    )
order by least_value desc, age
