"""What registering the server with a client changes in its files, and taking it out again."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sjduck.clients.commands import is_ours
from sjduck.clients.files import Change, ChangedMeanwhile, content
from sjduck.clients.known import NAME, Client, Environment, Server, Text
from sjduck.clients.ways import Way, look_up, with_value, without
from sjduck.errors import SjduckError

_BOM = b"\xef\xbb\xbf"
_ATTEMPTS = 5
# Another transport's: a server that has both is started by neither, or the wrong one.
_OTHERS = ("url", "httpUrl")


@dataclass(frozen=True, slots=True)
class Plan:
    """The changes that are to be made, and the files that others wrote, which are left alone."""

    changes: tuple[Change, ...]
    left_alone: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Done:
    """The changes that were made, and the copies that were kept of what was there."""

    plan: Plan
    backups: Mapping[Path, Path]


# -- what changes --------------------------------------------------------------------------


def installing(client: Client, server: Server, environment: Environment) -> Plan:
    """Return what registers a server; raises SjduckError for a file that can't be read."""
    path = client.config(environment)
    before = content(path)
    text = _read(client, path, before)
    after = _with_entry(text, client.servers(text.read()), client.entry(server), path)
    files, left_alone = [], []
    for file, wanted in client.command_files(environment):
        there = content(file)
        if there is None or _is_ours(there):
            files.append(Change(file, there, wanted.encode()))
        else:
            left_alone.append(file)
    config = Change(path, before, _encoded(after, before), keeps_backup=True)
    return _plan([config, *files], left_alone)


def uninstalling(client: Client, environment: Environment) -> Plan:
    """Return what takes the server out; raises SjduckError for a file that can't be read."""
    path = client.config(environment)
    before = content(path)
    changes = []
    if before is not None:
        text = _read(client, path, before)
        after = _taken(text, (*client.servers(text.read()), NAME), path)
        changes.append(Change(path, before, _encoded(after, before), keeps_backup=True))
    left_alone = []
    for file, _ in client.command_files(environment):
        there = content(file)
        if there is not None and _is_ours(there):
            changes.append(Change(file, there, None))
        elif there is not None:
            left_alone.append(file)
    return _plan(changes, left_alone)


def _plan(changes: list[Change], left_alone: list[Path]) -> Plan:
    return Plan(tuple(c for c in changes if c.before != c.after), tuple(left_alone))


def _with_entry(text: Text, servers: Way, entry: dict[str, Any], path: Path) -> Text:
    """Return the text with an entry in it; what else stands in one that is there stays."""
    way = (*servers, NAME)
    there = look_up(text.read(), way)
    for key in _OTHERS:
        if isinstance(there, dict) and key in there:
            text = _taken(text, (*way, key), path)
    for piece, value in _pieces(way, entry, there):
        if look_up(text.read(), piece) != value:
            text = _put(text, piece, value, path)
    return text


def _pieces(way: Way, value: Any, there: Any) -> Iterator[tuple[Way, Any]]:
    """Yield what is to be put where: a table that is there already is kept, key by key."""
    if isinstance(value, dict) and isinstance(there, dict):
        for key, item in value.items():
            yield from _pieces((*way, key), item, there.get(key))
    else:
        yield way, value


def _put(text: Text, way: Way, value: Any, path: Path) -> Text:
    return _edited(lambda: text.put(way, value), lambda: with_value(text.read(), way, value), path)


def _taken(text: Text, way: Way, path: Path) -> Text:
    return _edited(lambda: text.take(way), lambda: without(text.read(), way), path)


def _edited(edit: Callable[[], Text], expected: Callable[[], Any], path: Path) -> Text:
    """Return an edited text, which reads as it has to; raises SjduckError."""
    try:
        edited = edit()
        if not edited.holds(expected()):
            raise ValueError("it is written in a way that sjduck does not know; do it by hand")
    except (ValueError, LookupError, TypeError) as error:
        raise SjduckError(f"can't edit {path}: {error}; nothing was changed") from error
    return edited


def _read(client: Client, path: Path, before: bytes | None) -> Text:
    try:
        text = client.text((before or b"").removeprefix(_BOM).decode())
        if not isinstance(text.read(), dict):
            raise ValueError("it is no object")
    except ValueError as error:
        said = str(error).split("\n", 1)[0]
        raise SjduckError(f"can't read {path}: {said}; mend it, nothing was changed") from error
    return text


def _encoded(text: Text, before: bytes | None) -> bytes:
    bom = _BOM if (before or b"").startswith(_BOM) else b""
    return bom + text.text.encode()


def _is_ours(there: bytes) -> bool:
    return is_ours(there.decode("utf-8", "replace"))


# -- the changes ---------------------------------------------------------------------------


def carry_out(plan_of: Callable[[], Plan]) -> Done:
    """Make the changes that are planned; planned anew where a file was written meanwhile.

    Raises SjduckError.
    """
    made: list[Change] = []
    backups: dict[Path, Path] = {}
    for _ in range(_ATTEMPTS):
        plan = plan_of()
        try:
            for change in plan.changes:
                if backup := change.apply():
                    backups[change.path] = backup
                made.append(change)
        except ChangedMeanwhile:
            continue
        return Done(Plan(tuple(made), plan.left_alone), backups)
    raise SjduckError("the client writes its configuration all the time; close it and try again")
