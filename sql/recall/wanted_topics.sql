-- One row a wanted line of a log: the topic on it.
select wanted.document, wanted.line, catalogue.topic as text
from wanted
join catalogue using (document, line)
where catalogue.topic is not null
