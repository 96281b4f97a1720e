-- One row a unit of ranking: how many there are, and their average length in words.
select 'block' as unit, count(*) as units, avg(length) as average_length
from spoken
union all
select 'turn', count(*), avg(length)
from turns_said
union all
select 'conversation', count(*), avg(length)
from conversations
