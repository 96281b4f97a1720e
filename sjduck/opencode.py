"""opencode's sessions in each shape they are kept in: the session, its messages, their parts."""

import os
from collections.abc import Iterator
from typing import Any

from sjduck.confine import allowed_roots, is_within
from sjduck.jsontext import value_of
from sjduck.sqlfiles import sql
from sjduck.sqlitefile import Database, Row, opened

KIND = "opencode"
DATABASE = "opencode.db"
STORAGE = "storage"
_SESSION_COLUMNS = {
    "id": "id", "parent_id": "parentID", "directory": "directory", "title": "title",
    "version": "version", "agent": "agent",
}  # fmt: skip
_TIME_COLUMNS = {"time_created": "created", "time_updated": "updated"}
# Accounts, credentials and the secrets of shared sessions are never read, nor a share's address.
_READABLE = {
    "session": frozenset({*_SESSION_COLUMNS, *_TIME_COLUMNS}),
    "message": frozenset({"id", "session_id", "time_created", "time_updated", "data"}),
    "part": frozenset({"id", "message_id", "session_id", "time_created", "time_updated", "data"}),
}


def export_records(value: Any) -> Iterator[Any] | None:
    """Return the records of what `opencode export` wrote; None for anything else."""
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        return _exported(value)
    return None


def _exported(value: dict[str, Any]) -> Iterator[Any]:
    if "info" in value:
        yield value["info"]
    for message in value["messages"]:
        parts = message.get("parts") if isinstance(message, dict) else None
        yield message["info"] if isinstance(message, dict) and "info" in message else message
        yield from parts if isinstance(parts, list) else ()


# -- the storage tree ----------------------------------------------------------------------


def storage_records(root: str, path: str) -> Iterator[Any]:
    """Yield the records of a session that lies in many files; none where it is gone.

    `path` is that of its session file, or of its folder of messages where it has no such file.
    """
    tree = _Tree(root)
    session_id = os.path.basename(path).removesuffix(".json")
    if path.endswith(".json") and (text := tree.text(path)) is not None:
        yield _object_or_text(text)
    messages = [
        (_time_created(message), name, message)
        for name, message in tree.pieces(f"{STORAGE}/message/{session_id}")
    ]
    for _, name, message in sorted(messages, key=lambda entry: entry[:2]):
        yield message
        yield from (part for _, part in tree.pieces(f"{STORAGE}/part/{name}"))


class _Tree:
    """The files of a storage tree; those that links lead out of it to are left out."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._roots = allowed_roots(root, KIND)

    def pieces(self, folder: str) -> Iterator[tuple[str, Any]]:
        """Yield the ids and pieces of a folder, in the order of the ids; none if it is gone."""
        try:
            names = sorted(filter(is_piece, os.listdir(os.path.join(self._root, folder))))
        except (FileNotFoundError, NotADirectoryError):
            return
        for name in names:
            if (text := self.text(f"{folder}/{name}")) is not None:
                yield name.removesuffix(".json"), _object_or_text(text)

    def text(self, path: str) -> str | None:
        """Return what stands in a file; None where it is gone."""
        file = os.path.join(self._root, path)
        if not os.path.isfile(file) or not is_within(file, self._roots):
            return None
        try:
            with open(file, "rb") as piece:
                return piece.read().decode("utf-8", "replace")
        except FileNotFoundError:
            return None


def is_piece(name: str) -> bool:
    """Tell whether a file of the storage tree holds a session, a message or a part."""
    return name.endswith(".json") and not name.startswith(".")


def _time_created(message: Any) -> float:
    time = message.get("time") if isinstance(message, dict) else None
    created = time.get("created") if isinstance(time, dict) else None
    return created if isinstance(created, int | float) else 0


# -- the database --------------------------------------------------------------------------


def database_sizes(root: str) -> Iterator[Row]:
    """Yield each session of the database: `session_id`, `bytes`, `time_updated`."""
    with opened(os.path.join(root, DATABASE), _READABLE) as database:
        yield from database.rows(sql("opencode/sizes"))


def database_records(root: str, path: str) -> Iterator[Any]:
    """Yield the records of a session, `opencode.db/<session id>`; none where it is gone."""
    session_id = path.removeprefix(f"{DATABASE}/")
    file = os.path.join(root, DATABASE)
    if not os.path.isfile(file):
        return
    with opened(file, _READABLE) as database:
        for session in database.rows(sql("opencode/session"), session_id=session_id):
            yield _session(session)
            yield from _messages(database, session_id)


def _messages(database: Database, session_id: str) -> Iterator[Any]:
    for message in database.rows(sql("opencode/messages"), session_id=session_id):
        own = {"id": message["id"], "sessionID": session_id}
        yield _with_ids(own, message["data"])
        for part in database.rows(sql("opencode/parts"), message_id=str(message["id"])):
            ids = {"id": part["id"], "messageID": message["id"], "sessionID": session_id}
            yield _with_ids(ids, part["data"])


def _session(row: Row) -> Row:
    """Return a row of the table as exports write a session."""
    named = {name: row.get(column) for column, name in _SESSION_COLUMNS.items()}
    times = {name: row.get(column) for column, name in _TIME_COLUMNS.items()}
    return {
        **{name: value for name, value in named.items() if value is not None},
        "time": {name: value for name, value in times.items() if value is not None},
    }


def _with_ids(ids: Row, data: Any) -> Any:
    """Return a stored object with the ids that stand in columns of their own."""
    record = _object_or_text(data if isinstance(data, str) else "")
    return {**ids, **record} if isinstance(record, dict) else record


def _object_or_text(text: str) -> Any:
    try:
        value = value_of(text)
    except ValueError:
        return text
    return value if isinstance(value, dict) else text
