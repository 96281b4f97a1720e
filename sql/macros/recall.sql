-- One row a conversation that a topic was discussed in, best first.
select unnest(recall_rows(place, query, also, k), recursive := true)
