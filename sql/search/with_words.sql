-- One row a part of the search that is looked for and has words.
select distinct part from tokens where kind <> 'without'
