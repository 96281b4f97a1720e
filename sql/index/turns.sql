-- One row a turn of an entry: how many words were said in it.
select entry, turn, sum(length)::bigint as length from spoken group by entry, turn
