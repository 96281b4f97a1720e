-- One row a block of low signal that holds a term on one of its lines and passes the filters, in
-- the shape of `said`: scored like a block that was said, by lines in the place of words.
with
    low as (
        select document, seq, line_start, line_end, role, kind, is_sidechain, sent_at
        from blocks
        where
            signal = 'low'
            and line_start is not null
            and not is_replay
            and document in (select distinct document from lines_of_parts)
    ),
    counted as (
        select
            lines.part as term,
            lines.entry,
            low.* exclude (line_start, line_end),
            line_end - line_start + 1 as length,
            count(*) as uses
        from lines_of_parts as lines
        asof join low on low.document = lines.document and low.line_start <= lines.line
        where lines.line <= low.line_end
        group by all
    ),
    weights as (
        select term, log(((any_value(units) + 0.5) / (count(*) + 0.5)) + 1) as weight
        from counted, units
        where unit = 'block'
        group by term
    ),
    average as (
        select avg(length) as average_length
        from (select distinct document, seq, length from counted)
    ),
    scored as (
        select
            entry,
            document,
            seq,
            kind,
            coalesce(sent_at, dated_at) as said_at,
            sum(
                (
                    1e12
                    * weight
                    * (
                        (uses * (k1 + 1))
                        / (uses + (k1 * ((1 - b) + (b * (length / average_length)))))
                    )
                )::bigint
            ) filter (asked_for <> 'without')
            / 1e12 as score,
            count(*) filter (asked_for = 'phrase') as phrases,
            count(*) filter (asked_for = 'word' and is_written_so) as words,
            count(*) filter (asked_for = 'without') as withouts
        from counted
        join weights using (term)
        join
            (select part as term, kind as asked_for, is_written_so from asked) as asked using (term)
        join eligible using (entry), average, ranking_weights
        where ($role is null or role = $role) and ($include_sidechains or not is_sidechain)
        group by all
    )
select entry, document, seq, kind, 'low' as signal, said_at, score, phrases, words, withouts
from scored
where
    score is not null
    and ($since_at::timestamp is null or said_at >= $since_at::timestamp)
    and ($until_at::timestamp is null or said_at < $until_at::timestamp)
