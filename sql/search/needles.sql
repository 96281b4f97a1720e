-- One row a token that is looked for, and its stem.
select distinct token, stem from tokens where kind <> 'without' order by token
