-- One row a live row of relevance, and the entry and turn that it counts for.
select
    said.file,
    said.id,
    coalesce(indexed.entry, topic_lines.entry) as entry,
    case when said.kind = 'topic' then -1 else coalesce(said.turn, 0) end as turn,
    said.length
from said
join indexed using (file, ordinal)
left join
    topic_lines
    on said.kind = 'topic'
    and topic_lines.document = indexed.document
    and topic_lines.line = said.line
where indexed.entry is not null or topic_lines.entry is not null
