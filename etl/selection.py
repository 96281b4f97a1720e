"""What a prune takes: the documents that pass its filters, and all that goes with them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from etl.document import handle
from sjduck.archive import Row, View
from sjduck.errors import UsageError
from sjduck.pruned import Key, Pruned, text_id
from sjduck.sqlfiles import sql

_TEXTS = ("plan", "memory", "note")


@dataclass(frozen=True, slots=True)
class Filters:
    """What a prune goes by; `before_at` is UTC without zone, compared with the last instant."""

    before_at: datetime | None = None
    host: str | None = None
    project: str | None = None
    harness: str | None = None
    type: str | None = None
    sids: tuple[str, ...] = ()
    with_catalogue: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether they would take everything."""
        narrowing = (self.host, self.project, self.harness, self.type, self.sids)
        return self.before_at is None and not any(narrowing)


@dataclass(frozen=True, slots=True)
class Selection:
    """What goes: live copies of documents, sessions in catalogues, and the keys that say so."""

    copies: list[Row]
    entries: list[Row]
    keys: frozenset[Key]


def select(view: View, filters: Filters, tz: str) -> Selection:
    """Return what passes the filters, with the subagents and prompts of its sessions.

    Raises UsageError where a handle means several sessions.
    """
    copies = view.rows(sql("pruning/copies"), tz=tz)
    entries = view.rows(sql("pruning/entries"), tz=tz)
    _check_handles(filters.sids, copies, entries)
    taken = _taken(copies, filters)
    listed = [e for e in entries if _is_listed(e, filters)] if filters.with_catalogue else []
    keys = _keys(taken, copies, entries, filters) | _entry_keys(listed, entries, filters)
    keys = _with_descendants(keys, copies)
    pruned = Pruned(dict.fromkeys(keys, filters.with_catalogue))
    going = [entry for entry in (_going(entry, pruned) for entry in entries) if entry]
    return Selection([copy for copy in copies if pruned.holds(copy)], going, frozenset(keys))


def means(ref: str, row: Mapping[str, Any]) -> bool:
    """Tell whether a handle, session id or document's number means a copy or entry."""
    ids = (row["session_id"], row.get("whole_id"), row.get("agent_id"))
    bare = ref.removeprefix("ses_")
    # A note has the handle of the session that it came from.
    sid = None if row.get("type") in _TEXTS else row["sid"]
    return (
        ref in ids
        or f"ses_{bare}" in ids
        or bare.lower() == (sid or "").lower()
        or ref == str(row.get("document"))
    )


# -- which pass the filters ----------------------------------------------------------------


def _taken(copies: list[Row], filters: Filters) -> list[Row]:
    """Return the copies that pass; a subagent goes by its session where that is here."""
    sessions = {copy["whole_id"] for copy in copies if copy["type"] == "transcript"}
    last_used = _last_used(copies)
    taken = []
    for copy in copies:
        is_its_parents = copy["type"] == "subagent" and copy["parent_session_id"] in sessions
        if is_its_parents and filters.type != "subagent" and not filters.sids:
            continue
        dated_at = last_used.get((copy["host"], copy["whole_id"]), copy["dated_at"])
        if _passes(copy, dated_at, filters):
            taken.append(copy)
    return taken


def _last_used(copies: Iterable[Row]) -> dict[tuple[str | None, str], datetime]:
    """Return when each session was used last, its subagents' work included."""
    latest: dict[tuple[str | None, str], datetime] = {}
    for copy in copies:
        named = {copy["whole_id"]}
        if copy["type"] == "subagent":
            named.add(copy["parent_session_id"])
        for session in filter(None, named):
            at = (copy["host"], session)
            if copy["dated_at"] is not None:
                latest[at] = max(latest.get(at, copy["dated_at"]), copy["dated_at"])
    return latest


def _passes(row: Row, dated_at: datetime | None, filters: Filters) -> bool:
    project = (filters.project or "").lower()
    return (
        (filters.host is None or row["host"] == filters.host)
        and (filters.harness is None or row["harness"] == filters.harness)
        and project in (row["project"] or "").lower()
        and (filters.before_at is None or (dated_at is not None and dated_at < filters.before_at))
        and (not filters.sids or any(means(ref, row) for ref in filters.sids))
        and (row["type"] == filters.type if filters.type else row["type"] != "log")
    )


def _is_listed(entry: Row, filters: Filters) -> bool:
    """Tell whether a session that only a catalogue knows passes."""
    is_asked_for = filters.type in (None, "transcript")
    as_document = {**entry, "type": filters.type or "transcript"}
    return (
        is_asked_for and not entry["is_here"] and _passes(as_document, entry["dated_at"], filters)
    )


def _check_handles(refs: Iterable[str], copies: list[Row], entries: list[Row]) -> None:
    """Raise where a ref is a handle of several sessions."""
    for ref in refs:
        rows = [row for row in (*copies, *entries) if means(ref, row)]
        named = {row.get("whole_id") or row["session_id"] for row in rows} - {None}
        if len(named) > 1 and ref not in named:
            listed = ", ".join(sorted(named))
            raise UsageError(f"{ref} means several sessions: {listed}; name one of them whole")


# -- by which keys they stay away ----------------------------------------------------------


def _keys(taken: list[Row], copies: list[Row], entries: list[Row], filters: Filters) -> set[Key]:
    hosts: dict[str, set[str | None]] = defaultdict(set)
    for copy in copies:
        hosts[copy["identity"]].add(copy["host"])
    going: dict[str, set[str | None]] = defaultdict(set)
    for copy in taken:
        going[copy["identity"]].add(copy["host"])
    handles = _handles(copies, entries)
    keys = set()
    for copy in taken:
        # Pruned wherever it is known, it stays away from hosts that are not known yet, too.
        is_everywhere = filters.host is None and going[copy["identity"]] == hosts[copy["identity"]]
        host = None if is_everywhere else copy["host"]
        keys |= _keys_of(copy, host, is_alone=len(handles[copy["host"], copy["sid"]]) < 2)
    return keys


def _keys_of(copy: Row, host: str | None, *, is_alone: bool) -> set[Key]:
    """Return the keys of one copy; `is_alone`: no other session of its host has its handle."""
    if copy["type"] == "transcript":
        keys = set()
        if copy["whole_id"]:
            keys.add(Key("session", copy["whole_id"], host))
        else:
            keys.add(Key("document", str(copy["document"])))
        if copy["sid"] and is_alone:
            keys.add(Key("handle", copy["sid"], host))
        return keys
    if copy["type"] == "subagent" and copy["parent_session_id"] and copy["session_id"]:
        named = f"{copy['parent_session_id']} {copy['session_id']}"
        return {Key("subagent", named, host)}
    keys = {Key("document", str(copy["document"]))}
    if copy["type"] in _TEXTS:
        keys.add(Key("text", text_id(copy), host))
    return keys


def _handles(
    copies: Iterable[Row], entries: Iterable[Row]
) -> dict[tuple[str | None, str | None], set[str]]:
    """Return the session ids that each handle of a host may stand for."""
    known: dict[tuple[str | None, str | None], set[str]] = defaultdict(set)
    for copy in copies:
        if copy["type"] == "transcript" and copy["whole_id"]:
            known[copy["host"], copy["sid"]].add(copy["whole_id"])
    for entry in entries:
        known[entry["host"], entry["sid"]].add(entry["session_id"])
    return known


def _entry_keys(listed: list[Row], entries: list[Row], filters: Filters) -> set[Key]:
    known = Counter(entry["session_id"] for entry in entries)
    going = Counter(entry["session_id"] for entry in listed)
    keys = set()
    for entry in listed:
        session = entry["session_id"]
        is_everywhere = filters.host is None and going[session] == known[session]
        keys.add(Key("session", session, None if is_everywhere else entry["host"]))
    return keys


def _with_descendants(keys: set[Key], copies: list[Row]) -> set[Key]:
    """Add the sessions of subagents that have subagents themselves, however deep."""
    parents = {copy["parent_session_id"] for copy in copies if copy["type"] == "subagent"}
    while True:
        pruned = Pruned(dict.fromkeys(keys, False))
        more = {
            Key("session", copy["session_id"], copy["host"])
            for copy in copies
            if copy["type"] == "subagent" and copy["session_id"] in parents and pruned.holds(copy)
        }
        if more <= keys:
            return keys
        keys = keys | more


def _going(entry: Row, pruned: Pruned) -> Row | None:
    """Return a session's entries with how many of them go; None where none does."""
    counts = {
        name: entry[name]
        for name, is_history in (("prompts", True), ("entries", False))
        if pruned.holds_entry(entry["host"], entry["session_id"], is_history=is_history)
    }
    going = {**entry, "prompts": 0, "entries": 0, **counts}
    return going if going["prompts"] or going["entries"] else None


def named_by(ref: str, key: Key) -> bool:
    """Tell whether a ref as a person writes it means what a tombstone keeps away."""
    bare = ref.removeprefix("ses_").lower()
    ids = {key.id.lower(), key.id.removeprefix("ses_").lower()}
    if key.kind == "session":
        ids.add(handle(key.id).lower())
    if key.kind == "subagent":
        ids |= {part.lower() for part in key.id.split(" ")}
    return bare in ids or ref.lower() in ids
