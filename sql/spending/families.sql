-- One row a session or subagent: the session at the root of those that it worked for.
with recursive
    -- The pieces of a session of Gemini CLI have its id as their agent's.
    known as (
        select document, host, session_id, started_at
        from documents
        where type in ('transcript', 'subagent')
        union
        select document, host, agent_id, started_at
        from documents
        where type = 'transcript' and agent_id is not null
    ),
    parents as (
        select
            child.document,
            coalesce(
                max_by(known.document, (known.started_at, known.document)) filter (
                    where known.started_at <= child.started_at
                ),
                min(known.document)
            ) as parent
        from documents as child
        join
            known
            on known.session_id = child.parent_session_id
            and known.host is not distinct from child.host
        where child.type = 'subagent' and known.document <> child.document
        group by child.document
    ),
    climb as (
        select document, document as ancestor, 0 as steps
        from documents
        where type in ('transcript', 'subagent')
        union all
        select climb.document, parents.parent, steps + 1
        from climb
        join parents on parents.document = climb.ancestor
        where steps < 32
    )
select document, arg_max(ancestor, steps) as root
from climb
group by document
