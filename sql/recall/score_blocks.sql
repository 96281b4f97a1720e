-- One row a row of relevance: Okapi BM25 of it alone, as the full-text extension has it.
with
    weights as (
        select stem, log(((units - count(*) + 0.5) / (count(*) + 0.5)) + 1) as weight
        from found_uses, units
        where unit = 'block'
        group by stem, units
    )
select
    file,
    id,
    -- In whole numbers: the sum of fractions differs in its last digit with the order of threads.
    sum(
        (
            1e12
            * weight
            * ((uses * (k1 + 1)) / (uses + (k1 * ((1 - b) + (b * (length / average_length))))))
        )::bigint
    )
    / 1e12 as score
from found_uses
join weights using (stem), units, ranking_weights
where unit = 'block'
group by file, id
