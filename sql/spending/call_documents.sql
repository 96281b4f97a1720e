-- One row a live document with calls: where they lie, and the document that is read for it.
select
    live_calls.document as logged_in,
    live_calls.file_index,
    chosen.document,
    copies.session_id,
    chosen.host,
    chosen.project
from live_calls
join copies using (document)
join
    documents as chosen
    on chosen.identity = copies.identity
    and chosen.host is not distinct from copies.host
