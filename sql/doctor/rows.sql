-- One row: how many documents are not as they should be.
select
    count(*) filter (turns > 0 and document not in (select document from blocks)) as without_text,
    count(source_gone_at) as gone,
    count(*) filter (started_at > $now + interval 1 day) as from_the_future
from documents
