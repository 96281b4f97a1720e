-- One row a line of a live catalogue, without what goes with a pruned session: its prompts in a
-- history, and its other rows where that was asked for.
select entries.*
from living_catalogue as entries
join living as log using (document)
where
    not exists (
        select 1
        from tombstones
        where
            tombstones.kind = 'session'
            and tombstones.id = entries.session_id
            and (tombstones.host is null or tombstones.host = entries.host)
            and (tombstones.with_catalogue or log.source_format in ('history', 'codex-history'))
    )
