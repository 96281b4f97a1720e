-- One row an entry with evidence: how many terms, how dense, how often.
with
    passages as (
        select
            entry,
            is_topic,
            mask,
            bit_or(mask) over (
                partition by entry, is_topic
                order by line
                range between current row and 10 following
            ) as passage
        from hits
    )
select
    entry,
    bit_count(bit_or(mask)) as terms,
    max(bit_count(passage)) filter (not is_topic) as dense,
    sum(bit_count(mask))::bigint as hits,
    bit_count(bit_or(mask & $query_mask::ubigint)) as query_terms,
    max(bit_count(passage & $query_mask::ubigint)) filter (not is_topic) as query_dense,
    sum(bit_count(mask & $query_mask::ubigint))::bigint as query_hits,
    bool_or(is_topic) as topic_matches,
    bool_or(is_topic and (mask & $query_mask::ubigint) <> 0) as query_topic_matches
from passages
group by entry
