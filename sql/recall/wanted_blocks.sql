-- One row a shown block of any document that holds a wanted line, and may hold the needle.
select document, turn, line_start, line_end, kind, tool_name, is_error, text
from blocks
where
    document in (select document from wanted)
    and line_start is not null
    and exists (
        select 1
        from wanted
        where
            wanted.document = blocks.document
            and wanted.line between blocks.line_start and blocks.line_end
    )
    and (
        $needle::varchar is null
        or kind = 'tool_use'
        or contains(lower(text), $needle)
        or contains(
            lower(
                concat('**→ ', tool_name, '** **⎿ output:** **⎿ error:** ```text ```bash ```json')
            ),
            $needle
        )
        or regexp_matches(text, '[İK]')
    )
