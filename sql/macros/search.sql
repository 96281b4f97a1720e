-- One row a block in which words were said, best first.
select unnest(search_rows(place, query, k), recursive := true)
