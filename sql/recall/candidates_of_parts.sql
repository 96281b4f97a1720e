-- One row a line that holds every piece of a term which has to be verified on the text, and an
-- entry that it counts for.
with
    whole as (
        select term, document, entry, line
        from
            (
                select term, piece, parts, document, entry, unnest(lines) as line
                from spots
                where is_part
            )
        group by term, document, entry, line
        having count(distinct piece) = any_value(parts)
    )
select
    whole.term,
    whole.document,
    whole.line,
    coalesce(whole.entry, topic_lines.entry) as entry,
    whole.entry is null as is_topic
from whole
left join
    topic_lines
    on topic_lines.document = whole.document
    and topic_lines.line = whole.line
    and whole.entry is null
where whole.entry is not null or topic_lines.entry is not null
