-- One row a shown block of some documents that may hold the needle.
select document, turn, line_start, line_end, kind, tool_name, is_error, text
from blocks
where
    document in (select unnest($documents::bigint[]))
    and line_start is not null
    and (
        kind = 'tool_use'
        or contains(lower(text), $needle)
        or contains(
            lower(
                concat('**→ ', tool_name, '** **⎿ output:** **⎿ error:** ```text ```bash ```json')
            ),
            $needle
        )
    )
