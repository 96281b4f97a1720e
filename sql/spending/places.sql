-- One row a place where responses were asked for: a document, a working folder, main or side.
select distinct
    hash(placed.document, rows.cwd, rows.is_sidechain, rows.harness) as place,
    placed.document,
    placed.host,
    rows.harness,
    coalesce(
        nullif(regexp_extract(rows.cwd, '([^/\\]+)[/\\]*$', 1), ''), placed.project
    ) as project,
    rows.cwd,
    rows.is_sidechain
from stored_calls as rows
join
    call_documents as placed
    on placed.logged_in = rows.document
    and placed.file_index = rows.file_index
