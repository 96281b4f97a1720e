-- One row a word of an entry that holds a term, or a single line: on how many lines it stands.
select entry, term, false as is_topic, len(lines) as lines
from spots
where entry is not null and not is_part
union all
select entry, term, is_topic, 1
from other_hits
