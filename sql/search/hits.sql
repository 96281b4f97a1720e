-- One row a hit: a block whose words match, and whose text was not found to say otherwise. Each
-- part of the search that stands as it was written adds its share of the best score.
select
    matching.* exclude (phrases, words, withouts),
    weighed
    + literal_weight * max(weighed) over () * coalesce(judged.literals, 0) / $parts as blended
from matching
left join judged using (document, seq), ranking_weights
where coalesce(judged.stands, not $has_phrases)
