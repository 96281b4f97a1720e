-- One row an entry: Okapi BM25 of everything said in it.
with
    frequencies as (select entry, stem, sum(uses) as uses from found_uses group by entry, stem),
    weights as (
        select stem, log(((units - count(*) + 0.5) / (count(*) + 0.5)) + 1) as weight
        from frequencies, units
        where unit = 'conversation'
        group by stem, units
    )
select
    entry,
    sum(
        weight * ((uses * 2.2) / (uses + (1.2 * (0.25 + (0.75 * (length / average_length))))))
    ) as score
from frequencies
join weights using (stem)
join conversations using (entry), units
where unit = 'conversation'
group by entry
