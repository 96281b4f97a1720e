-- One row a counted response of a period and tool that it used; without tools it has none.
with
    -- Of the lines of a response some copies have only those before the tool.
    used as (
        select distinct call_key, unnest(tools) as tool
        from stored_calls
        semi join
            call_documents
            on call_documents.logged_in = stored_calls.document
            and call_documents.file_index = stored_calls.file_index
        where len(tools) > 0
    )
select priced.*, used.tool
from priced
join used using (call_key)
where
    ($since_at::timestamp is null or sent_at >= $since_at::timestamp)
    and ($until_at::timestamp is null or sent_at < $until_at::timestamp)
