-- One row a line of a log and the entry whose topic it is.
select topics.log_document as document, topics.log_line as line, entries.entry
from topics
join entries on entries.session_id = topics.session_id and entries.type = 'transcript'
where not topics.is_history
union
select catalogue.document, catalogue.line, entries.entry
from catalogue
join
    topics
    on topics.session_id = catalogue.session_id
    and topics.host is not distinct from catalogue.host
join
    entries
    on entries.type = 'log'
    and entries.session_id = catalogue.session_id
    and entries.host is not distinct from catalogue.host
where
    topics.is_history
    or (catalogue.document = topics.log_document and catalogue.line = topics.log_line)
union
select log_document, log_line, entry
from entries
where log_document is not null
