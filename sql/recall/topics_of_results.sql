-- One row a line of a log that is an entry's topic, newest first.
select topic_lines.entry, topic_lines.line, catalogue.topic as text
from topic_lines
join catalogue using (document, line)
where topic_lines.entry in (select unnest($entries::integer[]))
order by
    topic_lines.entry, catalogue.logged_local desc nulls last, catalogue.logged_at, catalogue.line
