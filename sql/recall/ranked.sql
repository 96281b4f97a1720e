-- One row a result, best first: reciprocal rank fusion of the rankings, by windows or by meaning.
with
    ranks as (
        select
            candidates.entry,
            age,
            relevance,
            coalesce(evidence, lowest) as evidence,
            coalesce(score, query_lowest) as score,
            row_number() over (order by coalesce(evidence, lowest) desc, age) as evidence_rank,
            count(*) over () as total
        from candidates
        left join measured using (entry)
    )
select entries.*, eligible.dated_at, measured.* exclude (entry), ranks.total
from ranks
join entries using (entry)
join eligible using (entry)
join measured using (entry), ranking_weights
order by
    case
        when $rank = 'windows'
        then ranks.score
        when $rank = 'meaning'
        then ranks.relevance
        else
            ranks.relevance + case
                when ranks.evidence = 0
                then 0
                else evidence_weight / (rank_constant + evidence_rank)
            end
    end desc,
    ranks.age
limit $k
