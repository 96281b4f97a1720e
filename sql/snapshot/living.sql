-- One row a live document: of what several writers took in, the one that is read.
with
    stored as materialized(select * rename(file_index as segment) from stored_documents),
    places as (
        select stored.document, stored.segment, gone.gone_at as source_gone_at
        from stored
        join segments using (segment)
        left join dead on dead.segment = stored.segment and dead.document = stored.document
        left join gone on gone.writer = segments.writer and gone.document = stored.document
        left join pruned on pruned.segment = stored.segment and pruned.document = stored.document
        where dead.document is null and pruned.document is null
        qualify
            row_number() over (
                partition by stored.document
                order by
                    case when stored.type in ('transcript', 'subagent') then stored.lines end
                    desc nulls last,
                    gone.gone_at is not null,
                    stored.source_modified_at desc,
                    segments.writer
            )
            = 1
    )
select stored.*, places.source_gone_at
from stored
join places using (document, segment)
