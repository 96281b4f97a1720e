-- One row: how many different passages are said, and how many of them have a vector.
select count(*) as passages, count(*) filter (content in (select content from embedded)) as embedded
from
    (
        select distinct content
        from passages
        join spoken on spoken.file = passages.file and spoken.id = passages.said_id
    )
