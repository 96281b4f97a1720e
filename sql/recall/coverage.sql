-- One row an entry with evidence: which terms it holds, and how often at least and at most.
with
    found as (
        select entry, term, false as is_topic, len(lines) as lines
        from spots
        where entry is not null and not is_part
        union all
        select entry, term, true, 1
        from topic_hits
        union all
        select entry, term, is_topic, 1
        from verified
    ),
    by_term as (
        select entry, term, is_topic, max(lines) as least, sum(lines) as most
        from found
        group by entry, term, is_topic
    )
select
    entry,
    bit_or(1::ubigint << term) as mask,
    bit_or(case when is_topic then 0 else 1::ubigint << term end) as line_mask,
    bit_or(case when is_topic then 1::ubigint << term else 0 end) as topic_mask,
    sum(least) as least,
    sum(most) as most,
    coalesce(sum(least) filter (term < $query_terms), 0) as query_least,
    coalesce(sum(most) filter (term < $query_terms), 0) as query_most
from by_term
group by entry
