"""Another program's SQLite database, read while it is in use and without a trace beside it."""

import errno
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

BUSY_S = 0.5
# Bytes 18 and 19 of the header: the file is in WAL mode.
_HEADER_BYTES = 20
_WAL_MODE = b"\2\2"

# Table → the columns that may be read; the other columns are NULL, other tables are an error.
Readable = Mapping[str, frozenset[str]]
Row = dict[str, Any]


class Database:
    """An open database: rows of its readable tables as they were at one moment."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, query: str, **values: str) -> Iterator[Row]:
        """Yield the rows of a SELECT."""
        cursor = self._connection.execute(query, values)
        names = [column[0] for column in cursor.description]
        for row in cursor:
            yield dict(zip(names, row, strict=True))


@contextmanager
def opened(path: str, readable: Readable) -> Iterator[Database]:
    """Open a database for reading; raises OSError where it can't be read, now or later."""
    path = os.path.realpath(path)
    try:
        before = _look(path)
        options = _options(path)
        with closing(_connect(path, options)) as connection:
            connection.execute("begin")
            connection.set_authorizer(_authorizer(readable))
            yield Database(connection)
        if "immutable" in options and _look(path) != before:
            raise OSError(errno.EAGAIN, "the database changed while it was read")
    except sqlite3.Error as error:
        raise OSError(errno.EIO, f"the database can't be read: {error}") from error


def _connect(path: str, options: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{Path(path).as_uri()}?mode=ro&{options}",
        uri=True,
        timeout=BUSY_S,
        isolation_level=None,
        check_same_thread=False,
    )
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    return connection


def _options(path: str) -> str:
    """Return how to open a database so that SQLite makes no `-wal` or `-shm` beside it.

    Even a reader makes them in WAL mode. Where a writer has, its log is followed through its
    index as it is; where there is no log, the file alone is whole, and nobody writes to it.
    """
    log_bytes = _size(f"{path}-wal")
    if log_bytes is not None and os.path.exists(f"{path}-shm"):
        return "readonly_shm=1"
    if log_bytes:
        raise OSError(
            errno.ENOENT, "the database's -wal is here without its -shm; open it once to join them"
        )
    with open(path, "rb") as file:
        return "immutable=1" if file.read(_HEADER_BYTES)[18:] == _WAL_MODE else ""


def _authorizer(readable: Readable) -> Any:
    def decide(
        action: int, table: str | None, column: str | None, _database: Any, _inside: Any
    ) -> int:
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_FUNCTION):
            return sqlite3.SQLITE_OK
        columns = readable.get(table or "") if action == sqlite3.SQLITE_READ else None
        if columns is None:
            return sqlite3.SQLITE_DENY
        # A count of rows names no column.
        is_readable = not column or column in columns
        return sqlite3.SQLITE_OK if is_readable else sqlite3.SQLITE_IGNORE

    return decide


def _look(path: str) -> tuple[int, int, int | None]:
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns, _size(f"{path}-wal")


def _size(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return None
