-- One row a session or subagent with calls: its cost, of a session with that of its subagents.
select
    document,
    coalesce(cost_usd, 0)
    + case when $include_sidechains then 0 else coalesce(subagents_cost_usd, 0) end as cost_usd
from session_usage
where cost_usd is not null or subagents_cost_usd is not null
