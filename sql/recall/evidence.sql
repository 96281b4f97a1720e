-- One row a wanted entry: how many terms, how dense, how often, and what that comes to.
with
    wanted_entries as (select unnest($entries::integer[]) as entry),
    found as (
        select
            stretches.*,
            1::ubigint << term as mask,
            (1::ubigint << term) & $query_mask::ubigint <> 0 as is_of_query
        from stretches
        semi join wanted_entries using (entry)
    ),
    counted as (
        select
            entry,
            bit_count(bit_or(mask))::integer as terms,
            bit_count(bit_or(mask) & $query_mask::ubigint)::integer as query_terms,
            sum(bit_count(places))::bigint as hits,
            coalesce(sum(bit_count(places)) filter (is_of_query), 0)::bigint as query_hits,
            bool_or(is_topic) as topic_matches,
            bool_or(is_topic and is_of_query) as query_topic_matches
        from found
        group by entry
    ),
    -- A stretch is a passage by itself: the densest of an entry is at least that dense, and no
    -- denser than a stretch and the next one together. Line by line only what may be denser.
    whole as (
        select entry, first_line, bit_or(mask) as mask
        from found
        where not is_topic
        group by entry, first_line
    ),
    sure as (
        select
            entry,
            max(bit_count(mask))::integer as dense,
            max(bit_count(mask & $query_mask::ubigint))::integer as query_dense
        from whole
        group by entry
    ),
    pairs as (
        select
            entry,
            first_line,
            mask | case
                when lead(first_line) over following = first_line + 11
                then lead(mask) over following
                else 0
            end as mask
        from whole
        window following as (partition by entry order by first_line)
    ),
    promising as (
        select distinct entry, unnest([first_line, first_line + 11]) as first_line
        from pairs
        join sure using (entry)
        where bit_count(mask) > dense or bit_count(mask & $query_mask::ubigint) > query_dense
    ),
    passages as (
        select
            entry,
            bit_or(bit_or(mask)) over (
                partition by entry
                order by first_line + place
                range between current row and 10 following
            ) as mask
        from found
        join promising using (entry, first_line), range(11) as stretch(place)
        where not is_topic and places & (1::uinteger << place::uinteger) <> 0
        group by entry, first_line + place
    ),
    denser as (
        select
            entry,
            max(bit_count(mask))::integer as dense,
            max(bit_count(mask & $query_mask::ubigint))::integer as query_dense
        from passages
        group by entry
    ),
    described as (
        select
            counted.*,
            greatest(sure.dense, denser.dense, 0) as dense,
            greatest(sure.query_dense, denser.query_dense, 0) as query_dense
        from counted
        left join sure using (entry)
        left join denser using (entry)
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
left join described using (entry), ranking_weights
