-- One row a candidate whose evidence, not measured yet, may lie on either side of a contender's.
select candidates.entry
from candidates
left join measured using (entry)
where
    measured.entry is null
    and lowest < highest
    and exists (
        select 1
        from measured as contender
        where
            contender.entry in (select unnest($contenders::integer[]))
            and contender.evidence between candidates.lowest and candidates.highest
    )
