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
    entry,
    turn,
    sum(
        weight * ((uses * 2.2) / (uses + (1.2 * (0.25 + (0.75 * (length / average_length))))))
    ) as score
from found_uses
join weights using (stem)
join (select file, id, length from spoken) as spoken using (file, id), units
where unit = 'block'
group by file, id, entry, turn
