"""What was pruned: tombstones keep sessions and documents away until they are let back.

A writer's manifest holds the tombstones that were set there; all writers' together hold for all
files of the archive. Of several for one key the newest counts, so that any writer may lift what
another set.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from hashlib import md5, sha256
from typing import Any, NamedTuple

import orjson

# Formats of catalogues in which every prompt stands: what was said, not only what it was about.
HISTORIES = frozenset({"history", "codex-history"})
_TEXTS = frozenset({"plan", "memory", "note"})
_PROJECT_KEY = re.compile(r"([^/]+)/(?:notes/|memory/)?[^/]+$")


class Key(NamedTuple):
    """What stays away, on one host or, where that is None, on every one.

    kind → id: session → session id, its subagents too; subagent → `<parent> <session id>`;
    handle → handle of a transcript that has no session id; document → its number; text → what
    is the same plan, memory or note in every source.
    """

    kind: str
    id: str
    host: str | None = None


@dataclass(frozen=True, slots=True)
class Tombstone:
    """Since when a key stays away, or, where it is lifted, does so no more."""

    at: datetime
    is_lifted: bool = False
    with_catalogue: bool = False


Tombstones = Mapping[Key, Tombstone]


@dataclass(frozen=True)
class Pruned:
    """Everything that stays away; each key with whether its catalogue rows do, too."""

    keys: Mapping[Key, bool]

    def __bool__(self) -> bool:
        return bool(self.keys)

    @cached_property
    def digest(self) -> str:
        """What tells this from another, empty where nothing stays away."""
        if not self.keys:
            return ""
        listed = sorted([*map(str, key), kept] for key, kept in self.keys.items())
        return sha256(orjson.dumps(listed)).hexdigest()

    def holds(self, row: Mapping[str, Any]) -> bool:
        """Tell whether a row of `documents` stays away; sql/snapshot/pruned.sql says the same."""
        host = row["host"]
        return any(
            Key(*named, None) in self.keys or (host and Key(*named, host) in self.keys)
            for named in _names(row)
        )

    def holds_entry(self, host: str | None, session_id: str | None, *, is_history: bool) -> bool:
        """Tell whether a row of `catalogue` stays away: a prompt does with its session."""
        if not session_id:
            return False
        for where in (None, host):
            with_catalogue = self.keys.get(Key("session", session_id, where))
            if with_catalogue is not None and (is_history or with_catalogue):
                return True
        return False


NOTHING = Pruned({})


def standing(tombstones: Iterable[Tombstones]) -> Pruned:
    """Return what all tombstones together keep away."""
    newest: dict[Key, Tombstone] = {}
    for own in tombstones:
        for key, stone in own.items():
            known = newest.get(key)
            if known is None or (stone.at, stone.is_lifted) > (known.at, known.is_lifted):
                newest[key] = stone
    return Pruned({k: stone.with_catalogue for k, stone in newest.items() if not stone.is_lifted})


def text_id(row: Mapping[str, Any]) -> str:
    """Return what is the same for a plan, memory or note in every source that has it."""
    parts = [row["type"]]
    if row["type"] != "plan":
        found = _PROJECT_KEY.search(row["source_path"])
        parts += [found[1] if found else "", row["stem"]]
    named = " ".join([*parts, str(row["readable_hash"])])
    return md5(named.encode(), usedforsecurity=False).hexdigest()


def body_of(tombstones: Tombstones) -> list[dict[str, Any]]:
    """Return tombstones as a manifest holds them: those set at once together."""
    groups: dict[Tombstone, list[list[str | None]]] = {}
    for key, stone in sorted(tombstones.items(), key=lambda item: (item[1].at, str(item[0]))):
        groups.setdefault(stone, []).append(list(key))
    return [
        {
            "at": stone.at.isoformat(),
            "is_lifted": stone.is_lifted,
            "with_catalogue": stone.with_catalogue,
            "keys": keys,
        }
        for stone, keys in groups.items()
    ]


def from_body(body: Iterable[Mapping[str, Any]]) -> dict[Key, Tombstone]:
    """Return the tombstones of a manifest."""
    return {
        Key(*key): Tombstone(
            datetime.fromisoformat(group["at"]), group["is_lifted"], group["with_catalogue"]
        )
        for group in body
        for key in group["keys"]
    }


def _names(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each kind and id by which a row of `documents` may stay away."""
    type_, session_id, parent = row["type"], row["session_id"], row["parent_session_id"]
    yield "document", str(row["document"])
    if session_id:
        yield "session", session_id
    if type_ in ("subagent", "file") and parent:
        yield "session", parent
        if session_id:
            yield "subagent", f"{parent} {session_id}"
    if type_ == "transcript" and not session_id and row["sid"]:
        yield "handle", row["sid"]
    if type_ in _TEXTS and row["readable_hash"] is not None:
        yield "text", text_id(row)
