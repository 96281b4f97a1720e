-- One row a term on a line of a log that is an entry's topic.
select topic_lines.entry, found.term, true as is_topic, found.line
from
    (
        select document, unnest(lines) as line, term from spots where entry is null and not is_part
    ) as found
join topic_lines using (document, line)
group by all
