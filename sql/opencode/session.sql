-- One row: a session of an opencode database; its columns differ between versions.
select * from session where id = $session_id
