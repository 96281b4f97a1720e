-- One row a kind of request: what its price depends on besides date and size.
select distinct
    hash(model, provider, service_tier, speed) as kind, model, provider, service_tier, speed
from stored_calls
semi join
    call_documents
    on call_documents.logged_in = stored_calls.document
    and call_documents.file_index = stored_calls.file_index
