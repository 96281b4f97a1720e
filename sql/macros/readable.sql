-- One row a line of a document's readable.
select unnest(readable_rows(place, ref), recursive := true)
