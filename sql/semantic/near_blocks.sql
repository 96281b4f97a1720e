-- One row a block that says something near and passes the filters: its nearest passage, its rank.
select *, row_number() over (order by cosine desc, said_at desc nulls last, document, seq) as rank
from
    (
        select
            near.entry,
            document,
            seq,
            kind,
            signal,
            coalesce(sent_at, dated_at) as said_at,
            near.cosine,
            near.start
        from near_passages as near
        join blocks_said using (file, id)
        join (select entry, dated_at from eligible) as eligible on eligible.entry = near.entry
        where
            ($role is null or role = $role)
            and ($include_sidechains or not is_sidechain)
            and (
                $since_at::timestamp is null or coalesce(sent_at, dated_at) >= $since_at::timestamp
            )
            and ($until_at::timestamp is null or coalesce(sent_at, dated_at) < $until_at::timestamp)
        qualify
            row_number() over (partition by document, seq order by near.cosine desc, near.start) = 1
    )
