"""The SSH door: what a key's forced command gives, of archived files and what belongs to them."""

import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

from sjduck import unrolled
from sjduck.archive import View, question
from sjduck.errors import SjduckError
from sjduck.mounts import folders
from sjduck.rawfiles import Place, count_lines, send
from sjduck.sqlfiles import sql

_REFUSED = "refused: the gate knows 'resolve <sid>', 'fetch <path>', and no command for MCP"
_NOT_FOUND = "not found or outside the archive"
_MAX_COMMAND = 4_096
# What a path of an archived file does not have: controls, and bytes that are no UTF-8.
_UNUSABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_SESSION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")
_LABEL = "@"


# -- what is asked -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Resolve:
    """Where the raw copies of a session are; `session` is an id or handle."""

    session: str


@dataclass(frozen=True, slots=True)
class Fetch:
    """A file or folder, by a path that Resolve gave or one beside or below it."""

    path: str


def parse(command: str) -> Resolve | Fetch:
    """Return what a client's command asks for; its quotes are read, no shell ever sees it.

    Raises SjduckError for anything else.
    """
    try:
        words = [] if _is_unusable(command) else shlex.split(command)
    except ValueError:
        words = []
    match words:
        case ["resolve", session] if _SESSION.fullmatch(session):
            return Resolve(session)
        case ["fetch", path] if _leads_down(path):
            return Fetch(path)
    raise SjduckError(_REFUSED)


def _is_unusable(text: str) -> bool:
    return len(text) > _MAX_COMMAND or _UNUSABLE.search(text) is not None


def _leads_down(path: str) -> bool:
    return not path.startswith("-") and not {"", ".", ".."}.intersection(path.split("/"))


# -- what paths are called -----------------------------------------------------------------


class _Places:
    """The trees of an archive that are on this machine, and what their paths are called.

    A path in a scrubjay tree is the one under its root, as scrubjay's own door has it. Those of
    other trees, and of several such ones, begin with a label that tells which.
    """

    def __init__(self, view: View) -> None:
        rows = view.rows(sql("gate/places"))
        places = [Place(row["source_kind"], row["source_root"]) for row in rows]
        reachable = folders({Path(place.root) for place in places})
        here = [place for place in places if Path(place.root) in reachable]
        self._labelled = {_label(place): place for place in here}
        self._storages = [place for place in here if place.kind == "scrubjay"]

    def name(self, place: Place, path: str) -> str:
        """Return what a path of a tree is called."""
        stands_alone = self._storages == [place] and not path.startswith((_LABEL, "-"))
        return path if stands_alone else f"{_label(place)}/{path}"

    def named(self, name: str) -> list[tuple[Place, str]]:
        """Return the trees, and the path in each, that a name may mean."""
        label, _, path = name.partition("/")
        if label in self._labelled and path:
            return [(self._labelled[label], path)]
        return [(place, name) for place in self._storages]


def _label(place: Place) -> str:
    return f"{_LABEL}{place.kind}-{place.digest}"


# -- resolve -------------------------------------------------------------------------------


class Copy(NamedTuple):
    """A raw copy of a session: what to fetch it by, its lines, its time in seconds."""

    path: str
    lines: int
    modified_at: int


@question
def copies(view: View, session: str) -> list[Copy]:
    """Return the raw copies of a session that are on this machine, the longest first.

    A session in a database, or in many files, has none.
    """
    places = _Places(view)
    found = set()
    for row in view.rows(sql("gate/copies"), ref=session, bare=session.removeprefix("ses_")):
        place, path = Place(row["source_kind"], row["source_root"]), row["source_path"]
        name = places.name(place, path)
        if _is_elsewhere(row["source_format"]) or _is_unusable(name):
            continue
        if file := place.open(path):
            with file:
                modified_at = int(os.fstat(file.fileno()).st_mtime)
                found.add(Copy(name, count_lines(file), modified_at))
    return sorted(found, key=lambda copy: (-copy.lines, -copy.modified_at, copy.path))


def _is_elsewhere(format: str) -> bool:
    """Tell documents that no single file is, or one that may be another machine's.

    A history's path is the same on every machine: on this one another's would lie there.
    """
    return unrolled.is_gathered(format) or format in ("history", "codex-history")


# -- fetch ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or folder that may be fetched, and the name it was asked by."""

    name: str
    place: Place
    path: str

    def send(self, out: IO[bytes]) -> int:
        """Write it as a tar; return how many files became shorter while they were read."""
        try:
            return send(out, self.name, self.place, self.path)
        except FileNotFoundError as error:
            raise SjduckError(_NOT_FOUND) from error


@question
def entry(view: View, path: str) -> Entry:
    """Return what a path may fetch: an archived file, or what belongs to a session.

    A Claude Code session has a folder of its name beside it, its subagents a `.meta.json`.
    Raises SjduckError for anything else, whether it is there or not.
    """
    found = [
        Entry(path, place, below)
        for place, below in _Places(view).named(path)
        if _is_document(view, place, below) or _belongs_to_session(view, place, below)
    ]
    if len(found) != 1:
        raise SjduckError(_NOT_FOUND)
    return found[0]


def _is_document(view: View, place: Place, path: str) -> bool:
    rows = view.rows(sql("gate/documents"), kind=place.kind, root=place.root, paths=[path])
    return any(not _is_elsewhere(row["source_format"]) for row in rows)


def _belongs_to_session(view: View, place: Place, path: str) -> bool:
    """Tell whether a path is a session's own folder, or below it, or beside a subagent."""
    parts = path.split("/")
    ends = range(1, len(parts) + (place.folder(path) is not None))
    owners = {"/".join(parts[:end]) + ".jsonl": "transcript" for end in ends}
    if path.endswith(".meta.json"):
        owners[path.removesuffix(".meta.json") + ".jsonl"] = "subagent"
    rows = view.rows(sql("gate/documents"), kind=place.kind, root=place.root, paths=list(owners))
    return any(
        row["source_format"] == "claude" and row["type"] == owners[row["source_path"]]
        for row in rows
    )
