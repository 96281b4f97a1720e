-- One row a turn of an entry: Okapi BM25 of everything said in it.
with
    frequencies as (
        select entry, turn, stem, sum(uses) as uses from found_uses group by entry, turn, stem
    ),
    weights as (
        select stem, log(((units - count(*) + 0.5) / (count(*) + 0.5)) + 1) as weight
        from frequencies, units
        where unit = 'turn'
        group by stem, units
    )
select
    entry,
    turn,
    -- In whole numbers: the sum of fractions differs in its last digit with the order of threads.
    sum(
        (
            1e12
            * weight
            * ((uses * (k1 + 1)) / (uses + (k1 * ((1 - b) + (b * (length / average_length))))))
        )::bigint
    )
    / 1e12 as score
from frequencies
join weights using (stem)
join turns_said using (entry, turn), units, ranking_weights
where unit = 'turn'
group by entry, turn
