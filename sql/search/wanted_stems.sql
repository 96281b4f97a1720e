-- One row a stem of an index file that is looked for.
select distinct file, stem_id, stem from search_stems where kind <> 'without'
