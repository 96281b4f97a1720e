-- One row a quarter of an hour, tool and where it was used: each use once, however many sessions
-- repeat it.
with
    uses as (
        select
            hash(coalesce(tool_use_id, document || ':' || seq), sent_at, tool_name) as use,
            arg_min(
                struct_pack(
                    tool := tool_name,
                    host := host,
                    harness := harness,
                    project := project,
                    model := model,
                    sent_at := sent_at
                ),
                (document, seq)
            ) as first,
            bool_or(has_result) as has_result,
            bool_or(is_error) as is_error
        from tool_calls
        group by use
    )
select
    first.tool,
    first.host,
    first.harness,
    first.project,
    first.model,
    time_bucket(interval '15 minutes', first.sent_at) as quarter_at,
    count(*) as uses,
    count(*) filter (has_result) as results,
    count(*) filter (is_error) as errors
from uses
group by all
