-- One row a document of a page, with everything that a listing may show of it.
select
    *, strftime(coalesce(timezone($tz, timezone('UTC', started_at)), name_date), '%Y-%m-%d') as date
from documents
where document in (select unnest($documents::bigint[]))
