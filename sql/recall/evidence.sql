-- One row a wanted entry: how many terms, how dense, how often, and what that comes to.
with
    wanted_entries as (select unnest($entries::integer[]) as entry),
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
        where entry in (select entry from wanted_entries)
    ),
    counted as (
        select
            entry,
            bit_count(bit_or(mask))::integer as terms,
            coalesce(max(bit_count(passage)::integer) filter (not is_topic), 0) as dense,
            sum(bit_count(mask))::bigint as hits,
            bool_or(is_topic) as topic_matches,
            bit_count(bit_or(mask & $query_mask::ubigint))::integer as query_terms,
            coalesce(
                max(bit_count(passage & $query_mask::ubigint)::integer) filter (not is_topic), 0
            ) as query_dense,
            sum(bit_count(mask & $query_mask::ubigint))::bigint as query_hits,
            bool_or(is_topic and (mask & $query_mask::ubigint) <> 0) as query_topic_matches
        from passages
        group by entry
    )
select
    wanted_entries.entry,
    coalesce(terms, 0) as terms,
    coalesce(query_terms, 0) as query_terms,
    coalesce(query_dense, 0) as query_dense,
    coalesce(query_topic_matches, false) as query_topic_matches,
    coalesce(
        term_points * terms
        + passage_points * greatest(dense - 1, 0)
        + case when topic_matches then topic_points else 0 end
        + least(hits, most_hit_points),
        0
    ) as evidence,
    coalesce(
        term_points * query_terms
        + passage_points * greatest(query_dense - 1, 0)
        + case when query_topic_matches then topic_points else 0 end
        + least(query_hits, most_hit_points),
        0
    ) as score
from wanted_entries
left join counted using (entry), ranking_weights
