-- One row a counted response of a period and tool that it used; without tools it has none.
select priced.*, tools.tool
from priced
join call_documents on call_documents.logged_in = priced.logged_in
join
    (
        select document, file_index, call_key, unnest(tools) as tool
        from stored_calls
        where len(tools) > 0
    ) as tools
    on tools.document = priced.logged_in
    and tools.file_index = call_documents.file_index
    and tools.call_key = priced.call_key
where
    ($since_at::timestamp is null or sent_at >= $since_at::timestamp)
    and ($until_at::timestamp is null or sent_at < $until_at::timestamp)
