-- One row a part of the search and a live row of relevance that holds all tokens of it.
with
    needed as (
        select asked.part, asked.kind, asked.is_written_so, count(distinct tokens.name) as tokens
        from asked
        join tokens using (part)
        where asked.kind <> 'word' or asked.is_written_so
        group by all
    )
select needed.part, needed.kind, needed.is_written_so, uses.file, uses.said_id as id
from uses
join search_stems as found using (file, stem_id)
join needed using (part)
group by all
having count(distinct found.name) = any_value(needed.tokens)
