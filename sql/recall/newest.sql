-- One row a document in which a term of punctuation is looked for: the newest, those first
-- that hold other terms, up to so many documents and lines.
with
    placed as (
        select
            documents.document,
            entries.entry,
            found.entry is null as is_other,
            documents.started_at,
            documents.lines
        from documents
        join entries on entries.document = documents.document
        left join (select distinct entry from spots) as found using (entry)
    ),
    counted as (
        select
            *,
            count(*) over () as candidates,
            row_number() over newest as place,
            sum(lines) over newest as lines_so_far
        from placed
        window newest as (order by is_other, started_at desc nulls last, document)
    )
select document, entry, candidates
from counted
where place = 1 or (place <= $most_documents and lines_so_far <= $most_lines)
order by place
