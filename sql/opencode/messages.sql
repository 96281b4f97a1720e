-- One row a message of a session of an opencode database, in opencode's order.
select id, data from message where session_id = $session_id order by time_created, id
