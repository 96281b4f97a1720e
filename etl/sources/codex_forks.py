"""Whose work stands in a Codex session's file: a fork's begins with a copy of its parent's.

The copy is written at once when the fork is made, mostly with new times. It may begin with the
headers of the parent, and of the parent's parents where that was a fork too, but nothing marks
where the records of one end and those of the next begin, or where the copy ends. This is told by
what the version logged: the ordinal from which records are the fork's own; else the times in the
ids of turns (version 7 UUIDs) and in the session's; else the session's own header once more, or
the first pause after the copy began.
"""

import re
from typing import Any, NamedTuple

from etl.document import instant
from etl.fields import object_of, text_of

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_SECOND = 1_000_000
_PAUSE = _SECOND
_DAY = 86_400 * _SECOND
# 2020 to 2100 in milliseconds: other ids are no times.
_TIMES = range(1_577_836_800_000, 4_102_444_800_000)


class Lineage:
    """Follows the records of one file; `session_id` is whose it is, as its name says."""

    def __init__(self, session_id: str | None) -> None:
        self.session_id = session_id
        self.is_copy = False
        self._ancestors: list[str] = []
        self._header_at: int | None = None
        self._previous_at: int | None = None
        self._born_ms: int | None = None
        self._first_own: int | None = None
        self._is_told = False
        self._born_before: list[str] = []

    @property
    def owner(self) -> str | None:
        """The session that the record at hand is of; None where it is one of several."""
        if not self.is_copy:
            return self.session_id
        if len(self._ancestors) == 1:
            return self._ancestors[0]
        # A fork's parent goes on, but not in the fork's file: there the youngest works.
        return self._born_before[0] if self._born_before else None

    @property
    def worker(self) -> str | None:
        """The session that stands for a turn without an id; None where it can't.

        It can't for a copy from versions that give turns ids: there the id is only cut off.
        """
        return None if self.is_copy and self._is_told else self.owner

    def own_header(self, payload: dict[str, Any], sent_at: int | None) -> None:
        """Take the file's first header."""
        self.session_id = header_id(payload) or self.session_id
        self._header_at = self._previous_at = sent_at
        created_at = instant(payload.get("timestamp")) or sent_at
        born_ms = _time_of(self.session_id or "")
        # Not so where somebody made up the id.
        if born_ms and created_at and abs(born_ms * 1_000 - created_at) < _DAY:
            self._born_ms = born_ms
        first_own = payload.get("subagent_history_start_ordinal")
        self._first_own = first_own if isinstance(first_own, int) else None
        parent = text_of(payload.get("forked_from_id"))
        if not parent and self._first_own is not None and (spawned := spawned_as(payload)):
            parent = spawned.parent_session_id or ""
        self._add(parent)

    def header(self, payload: dict[str, Any]) -> None:
        """Take a further header: an ancestor's, or the session's own once more."""
        if (session_id := header_id(payload)) == self.session_id:
            self.is_copy = False
        elif session_id:
            self._add(session_id)

    def _add(self, session_id: str) -> None:
        if session_id and session_id != self.session_id:
            self.is_copy = True
            if session_id not in self._ancestors:
                self._ancestors.append(session_id)

    def record(self, sent_at: int | None, ordinal: Any) -> None:
        """Take the place and the time of the next record."""
        if not self._ancestors:
            return
        if self._first_own is not None and isinstance(ordinal, int):
            self.is_copy = ordinal < self._first_own
            self._is_told = True
        elif sent_at is not None and not self._is_told:
            before, self._previous_at = self._previous_at, sent_at
            # A copy with its old times goes back behind the header.
            is_later = self._header_at is None or sent_at > self._header_at
            if is_later and before is not None and sent_at - before > _PAUSE:
                self.is_copy = False

    def turn(self, turn_id: Any) -> None:
        """Take the id of the turn that begins."""
        began_ms = _time_of(text_of(turn_id)) or 0
        self._born_before = [
            session_id
            for session_id in self._ancestors
            if 0 < (_time_of(session_id) or 0) <= began_ms
        ]
        if self._ancestors and self._first_own is None and self._born_ms and began_ms:
            self.is_copy = began_ms < self._born_ms
            self._is_told = True


class Spawned(NamedTuple):
    """What a header says of a session that another one started."""

    agent_type: str | None
    parent_session_id: str | None


def spawned_as(payload: dict[str, Any]) -> Spawned | None:
    """Return what a header says where the session is a subagent's."""
    source = payload.get("source")
    kind = source.get("subagent") if isinstance(source, dict) else None
    if kind is None and "subagent" not in (source, payload.get("thread_source")):
        return None
    # "review", {"other": "guardian"} or {"thread_spawn": {"parent_thread_id": …, …}}
    named = next(iter(kind.values()), None) if isinstance(kind, dict) else kind
    spawn = object_of(named)
    agent_type = payload.get("agent_role") or spawn.get("agent_role") or named
    parents = (
        payload.get("parent_thread_id"),
        spawn.get("parent_thread_id"),
        payload.get("forked_from_id"),
        payload.get("session_id"),
    )
    foreign = (text_of(parent) for parent in parents if parent != header_id(payload))
    return Spawned(text_of(agent_type) or None, next(filter(None, foreign), None))


def header_id(payload: dict[str, Any]) -> str | None:
    """Return the id of the session that a header is of."""
    return text_of(payload.get("id")) or text_of(payload.get("session_id")) or None


def _time_of(uuid: str) -> int | None:
    """Return the milliseconds since 1970 in a version 7 UUID, None in any other text."""
    match = UUID.fullmatch(uuid)
    if match is None or match.group(1) != "7":
        return None
    milliseconds = int(uuid[:8] + uuid[9:13], 16)
    return milliseconds if milliseconds in _TIMES else None
