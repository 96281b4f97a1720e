-- One row a document that passes the filters; the same session of several hosts is one.
with
    passing as (
        select
            document,
            identity,
            preference,
            hosts is not null as is_spread,
            host,
            project,
            topic,
            turns,
            bytes,
            coalesce(started_at, timezone('UTC', timezone($tz, name_date::timestamp))) as dated_at
        from documents
        where
            ($type is null or type = $type)
            and ($type is not null or type in ('transcript', 'subagent', 'plan', 'memory', 'note'))
            and ($include_sidechains or type <> 'subagent')
            and ($host is null or host = $host)
            and ($harness is null or harness = $harness)
            and ($project is null or contains(lower(project), lower($project)))
            and ($since_at::timestamp is null or dated_at >= $since_at::timestamp)
            and ($until_at::timestamp is null or dated_at < $until_at::timestamp)
    ),
    best as (
        select identity, min(preference) as preference
        from passing
        where is_spread
        group by identity
    )
select passing.*
from passing
left join best using (identity)
where best.preference is null or best.preference = passing.preference
