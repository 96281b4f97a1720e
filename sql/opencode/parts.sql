-- One row a part of a message of an opencode database, in opencode's order.
select id, data from part where message_id = $message_id order by id
