-- One row a session or subagent: the session at the root of those that it worked for.
with recursive
    parents as (
        select child.document, min(parent.document) as parent
        from documents as child
        join
            documents as parent
            on parent.session_id = child.parent_session_id
            and parent.host is not distinct from child.host
        where
            child.type = 'subagent'
            and parent.type in ('transcript', 'subagent')
            and parent.document <> child.document
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
