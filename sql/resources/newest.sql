-- One row a session, plan, memory or note, newest first, from a place in that order on.
with
    placed as (
        select
            documents.*,
            coalesce(
                started_at,
                timezone('UTC', timezone($tz, name_date::timestamp)),
                source_modified_at,
                'epoch'::timestamp
            ) as placed_at
        from documents
        where type in ('transcript', 'plan', 'memory', 'note')
    ),
    one_each as (
        select *
        from placed
        qualify
            row_number() over (
                partition by identity
                order by
                    case when type = 'transcript' then lines end desc nulls last,
                    source_format = 'readable',
                    source_modified_at desc,
                    document
            )
            = 1
    )
select
    document,
    type,
    host,
    project,
    harness,
    topic,
    stem,
    sid,
    turns,
    coalesce(ended_at, source_modified_at) as changed_at,
    epoch_us(placed_at) as placed_us,
    strftime(timezone($tz, timezone('UTC', placed_at)), '%Y-%m-%d') as date
from one_each
where
    $after_us::bigint is null
    or (epoch_us(placed_at), document) < ($after_us::bigint, $after_document::bigint)
order by placed_us desc, document desc
limit $limit
