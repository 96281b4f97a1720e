"""opencode homes: exported sessions, written as the storage tree or the database keeps them."""

import json
import sqlite3
from pathlib import Path
from typing import Any

from etl.discover import Found, discover
from sjduck.settings import Source
from tests.flattened import Flat, flatten_claim, samples

Row = dict[str, Any]
_NOT_EXPORTS = ("empty", "message_alone", "torn")
EXPORTS = {path.stem: path for path in samples("opencode") if path.stem not in _NOT_EXPORTS}

# What the real tables have, without the columns that say nothing here.
SCHEMA = """
create table account (id text primary key, email text, access_token text, refresh_token text);
create table credential (id text primary key, label text, value text);
create table session_share (session_id text primary key, id text, secret text, url text);
create table session (
    id text primary key, project_id text not null, parent_id text, slug text not null,
    directory text not null, title text not null, version text not null, share_url text,
    permission text, time_created integer not null, time_updated integer not null, agent text
);
create table message (
    id text primary key, session_id text not null, time_created integer not null,
    time_updated integer not null, data text not null
);
create index message_session_time_created_id_idx on message (session_id, time_created, id);
create table part (
    id text primary key, message_id text not null, session_id text not null,
    time_created integer not null, time_updated integer not null, data text not null
);
create index part_message_id_id_idx on part (message_id, id);
create index part_session_idx on part (session_id);
"""


def export_of(name: str) -> Row:
    """Return a sample."""
    content: Row = json.loads(EXPORTS[name].read_bytes())
    return content


def look(home: Path) -> Found:
    """Return what a home holds."""
    return discover(Source("opencode", home, "testhost", name="opencode"))


def flatten_home(home: Path) -> list[Flat]:
    """Return the rows of each session of a home."""
    return [flatten_claim(claim, source) for claim, source in look(home).files]


def connect(home: Path, *, journal: str = "wal") -> sqlite3.Connection:
    """Return a connection that writes the database of a home, made where it is missing."""
    home.mkdir(parents=True, exist_ok=True)
    is_new = not (home / "opencode.db").exists()
    database = sqlite3.connect(home / "opencode.db", isolation_level=None)
    database.execute(f"pragma journal_mode = {journal}")
    if is_new:
        database.executescript(SCHEMA)
    return database


def insert(database: sqlite3.Connection, export: Row, **columns: Any) -> None:
    """Write a session with its messages and parts as rows; `columns` are more of the session's."""
    info = export["info"]
    times = info["time"]
    _insert(
        database,
        "session",
        {
            "id": info["id"], "project_id": "p", "parent_id": info.get("parentID"), "slug": "s",
            "directory": info["directory"], "title": info["title"], "version": info["version"],
            "time_created": times["created"], "time_updated": times["updated"], **columns,
        },
    )  # fmt: skip
    for message in export["messages"]:
        own = dict(message["info"])
        ids = {"id": own.pop("id"), "session_id": own.pop("sessionID")}
        created = own["time"]["created"]
        clock = {"time_created": created, "time_updated": own["time"].get("completed", created)}
        _insert(database, "message", {**ids, **clock, "data": json.dumps(own)})
        for part in message["parts"]:
            insert_part(database, part, clock)


def insert_part(database: sqlite3.Connection, part: Row, clock: Row) -> None:
    """Write a part as a row."""
    own = dict(part)
    ids = {
        "id": own.pop("id"),
        "message_id": own.pop("messageID"),
        "session_id": own.pop("sessionID"),
    }
    _insert(database, "part", {**ids, **clock, "data": json.dumps(own)})


def write_database(home: Path, *exports: Row, journal: str = "wal") -> None:
    """Write sessions into the database of a home and close it."""
    database = connect(home, journal=journal)
    for export in exports:
        insert(database, export)
    database.close()


def write_storage(home: Path, *exports: Row) -> None:
    """Write sessions as the storage tree of a home."""
    storage = home / "storage"
    for export in exports:
        session = export["info"]["id"]
        _write(storage / "session" / "5b5f4f05" / f"{session}.json", export["info"])
        for message in export["messages"]:
            info = message["info"]
            _write(storage / "message" / session / f"{info['id']}.json", info)
            for part in message["parts"]:
                _write(storage / "part" / info["id"] / f"{part['id']}.json", part)


def _insert(database: sqlite3.Connection, table: str, row: Row) -> None:
    places = ", ".join("?" * len(row))
    database.execute(
        f"insert into {table} ({', '.join(row)}) values ({places})", list(row.values())
    )


def _write(file: Path, value: Row) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value, indent=2))
