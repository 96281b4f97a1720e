-- One row a document that a URI names.
select *, 0 as rank
from documents
where
    (type = $type or $type = 'transcript' and type = 'subagent')
    and stem = $stem
    and ($host is null or coalesce(host, '-') = $host)
    and ($project is null or coalesce(project, '-') = $project)
order by preference
