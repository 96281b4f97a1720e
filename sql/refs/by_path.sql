-- One row a document of which a copy lies at a path, whole or from any folder of it on.
with
    placed as (select host, identity, replace(path, chr(92), '/') as path from copies),
    meant as (
        select host, identity, min((path <> $path)::integer) as rank
        from placed
        where path = $path or ends_with(path, '/' || $path)
        group by host, identity
    )
select documents.*, rank
from documents
join meant on documents.identity = meant.identity and documents.host is not distinct from meant.host
order by rank, preference
