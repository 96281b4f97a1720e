-- One row a block that matches: its score, and that weighed by signal and age.
with newest as (select max(coalesce(ended_at, started_at)) as newest_at from documents)
select
    found_blocks.*,
    null::uinteger as start,
    score
    * case signal when 'high' then high_weight when 'medium' then medium_weight else low_weight end
    * (
        1
        - recency_weight
        * (
            1 - coalesce(
                pow(
                    0.5,
                    greatest(date_diff('second', said_at, newest_at), 0)
                    / (86400.0 * half_life_days)
                ),
                0
            )
        )
    ) as weighed
from found_blocks, newest, ranking_weights
