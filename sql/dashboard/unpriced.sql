-- One row a model with calls that have no known price, those with most first.
select model, sum(unpriced_calls)::bigint as calls
from shown
group by model
having sum(unpriced_calls) > 0
order by calls desc, model
