-- One row an entry that passes the filters and says something near: its nearest passage, its rank.
select *, row_number() over (order by cosine desc, age) as rank
from
    (
        select near.entry, age, near.cosine, near.file, near.id, near.start
        from near_passages as near
        join eligible using (entry)
        qualify
            row_number() over (
                partition by near.entry order by near.cosine desc, near.file, near.id, near.start
            )
            = 1
    )
