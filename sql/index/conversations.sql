-- One row an entry: how many words were said in it.
select entry, sum(length)::bigint as length from spoken group by entry
