-- One row: what nearness in meaning weighs beside the words: little where one turn holds most of
-- what the words asked for tell, much where none does. Words that stand inside others only, in
-- `found_parts`, tell nothing either way.
with
    weights as (
        select
            stem,
            log(
                ((units - count(distinct entry) + 0.5) / (count(distinct entry) + 0.5)) + 1
            ) as weight
        from found_uses, units
        where unit = 'conversation'
        group by stem, units
    ),
    asked as (
        select distinct token, stem(token, 'porter') as stem
        from
            (
                select
                    unnest(
                        string_split(
                            regexp_replace(lower(strip_accents($text)), '[^\p{L}\p{N}]+', ' ', 'g'),
                            ' '
                        )
                    ) as token
            )
        where token <> ''
    ),
    wanted as (
        select sum(coalesce(weights.weight, log(((units + 0.5) / 0.5) + 1))) as weight
        from asked
        left join weights using (stem), units
        where
            unit = 'conversation'
            and (weights.stem is not null or token not in (select text from found_parts))
    ),
    held as (
        select max(weight) as weight
        from
            (
                select sum(weight) as weight
                from (select distinct entry, turn, stem from found_uses)
                join weights using (stem)
                join (select distinct stem from asked) using (stem)
                group by entry, turn
            )
    )
select
    least_meaning_weight
    + (most_meaning_weight - least_meaning_weight)
    * greatest(
        least(
            (well_held - coalesce(coalesce(held.weight, 0) / wanted.weight, 1))
            / (well_held - badly_held),
            1
        ),
        0
    ) as weight
from wanted, held, ranking_weights
