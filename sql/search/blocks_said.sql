-- One row a block that was said, or a topic of a session whose transcript is not here: where it is,
-- who said it and when.
select
    spoken.file,
    spoken.id,
    spoken.entry,
    indexed.document,
    said.seq,
    said.line,
    said.role,
    said.kind,
    said.signal,
    said.is_sidechain,
    said.sent_at
from spoken
join said on said.file = spoken.file and said.id = spoken.id
join indexed on indexed.file = said.file and indexed.ordinal = said.ordinal
join entries on entries.entry = spoken.entry
where said.kind <> 'topic' or entries.document is null
