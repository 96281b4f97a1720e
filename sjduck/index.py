"""The search index of a snapshot: its files attached, and what questions need of them at hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import file_digest
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from sjduck.archive import keep_rows
from sjduck.fulltext import load_extension
from sjduck.localcopy import local_place
from sjduck.sqlfiles import sql

if TYPE_CHECKING:
    import duckdb

    from sjduck.archive import View
    from sjduck.snapshots import IndexFile

# Relation of every index file → its columns, for a snapshot that has no index file.
_RELATIONS = {
    "ordinals": "ordinal uinteger, document bigint",
    "lexicon": "first_id uinteger, words varchar",
    "postings": "word_id uinteger, ordinal uinteger, n uinteger, lines uinteger[]",
    "said": (
        "id integer, ordinal uinteger, seq integer, turn integer, line integer, role varchar, "
        "kind varchar, signal varchar, is_sidechain boolean, sent_at timestamp, length bigint"
    ),
    "stems": "stem_id uinteger, stem varchar",
    "uses": "stem_id uinteger, said_id integer, uses uinteger",
}
# What index files of an older sjduck lack, and no question by words needs.
_LATER = {"passages": "said_id integer, start uinteger, content bigint"}
# Resolved once a snapshot, each from the ones before it.
_DERIVED = {
    "entries": "index/entries",
    "topic_lines": "index/topic_lines",
    "indexed": "index/indexed",
    "spoken": "index/spoken",
    "conversations": "index/conversations",
    "turns_said": "index/turns",
    "units": "index/units",
    "ranking_weights": "recall/ranking_weights",
    "blocks_said": "search/blocks_said",
}
# SELECT by what a question found → the relation that it looks into, the number that both have, and
# where those of the question are. It names them as `relation_of_found`.
_LOOKED_UP = {
    "recall/spots": ("postings", "word_id", "found_words"),
    "recall/stem_uses": ("uses", "stem_id", "found_stems"),
    "recall/uses": ("uses", "stem_id", "found_stems"),
}
# From so many bytes on a file is worth a join of its own.
_LARGE_BYTES = 16_000_000
# Of up to 50 numbers DuckDB makes a list by itself; of more than so many it is of no help.
_LISTED = range(51, 10_001)
# What a preparation that failed half-way left is made anew.
_keep = partial(keep_rows, create="create or replace table")
_lock = RLock()


def prepare(view: View) -> None:
    """Attach the snapshot's index files, once a connection; what can't be is in `index_warnings`.

    Afterwards the relations of all files are views of their own names with `file` before.
    """
    connection, snapshot = view.connection, view.snapshot
    with _lock:
        if _is_prepared(connection):
            return
        load_extension(connection)
        files = [(m.writer, index) for m in snapshot.manifests for index in m.indexes]
        attached, warnings = _attach(view, files)
        _add_files(connection, files, attached)
        for name, columns in (_RELATIONS | _LATER).items():
            having = attached if name in _RELATIONS else _having(connection, name, attached)
            connection.execute(f"create or replace view {name} as {_union(name, columns, having)}")
        for name, query in _DERIVED.items():
            connection.execute(f"create or replace table {name} as {sql(query)}")
        _keep(connection, "index_warnings", {"warning": "varchar"}, [(w,) for w in warnings])


def _is_prepared(connection: duckdb.DuckDBPyConnection) -> bool:
    found = connection.execute(
        "select 1 from duckdb_tables() where table_name = 'index_warnings'"
    ).fetchone()
    return found is not None


def _attach(view: View, files: list[tuple[str, IndexFile]]) -> tuple[list[int], list[str]]:
    """Attach what can be attached; return those files' numbers, and what is wrong with others."""
    import duckdb

    attached, warnings = [], []
    for number, (_, index) in enumerate(files):
        try:
            path = local_place(view.snapshot.root, index)
            _check(path, index, thoroughly=view.is_doubtful)
            place = str(path).replace("'", "''")
            view.connection.execute(f"attach if not exists '{place}' as index_{number} (read_only)")
            for relation in _RELATIONS:
                view.connection.execute(f"select * from index_{number}.{relation} limit 0")
            attached.append(number)
        except (OSError, _Damaged, duckdb.Error) as error:
            reason = getattr(error, "strerror", None) or str(error).split("\n", 1)[0]
            warnings.append(
                f"index file {index.path} can't be used ({reason}): "
                f"{index.live_documents} documents are not searched; run 'sjduck etl --reindex'"
            )
    return attached, warnings


def _having(connection: duckdb.DuckDBPyConnection, relation: str, attached: list[int]) -> list[int]:
    """Return the files that have a relation."""
    found = connection.execute(
        "select database_name from duckdb_tables() where table_name = $name", {"name": relation}
    ).fetchall()
    names = {name for (name,) in found}
    return [number for number in attached if f"index_{number}" in names]


class _Damaged(Exception):
    """An index file is not what its manifest says."""


def _check(path: Path, index: IndexFile, *, thoroughly: bool) -> None:
    """Raise where a file has another size or, `thoroughly`, another checksum than it should."""
    if path.stat().st_size != index.bytes:
        raise _Damaged(f"it has {path.stat().st_size} of {index.bytes} bytes")
    if thoroughly:
        with path.open("rb") as file:
            if file_digest(file, "sha256").hexdigest() != index.sha256:
                raise _Damaged("its checksum is wrong")


def _add_files(
    connection: duckdb.DuckDBPyConnection,
    files: list[tuple[str, IndexFile]],
    attached: list[int],
) -> None:
    rows = [(number, files[number][0], files[number][1].bytes) for number in attached]
    dead = [(number, d) for number in attached for d in files[number][1].dead]
    columns = {"file": "integer", "writer": "varchar", "bytes": "bigint"}
    _keep(connection, "index_files", columns, rows)
    _keep(connection, "dead_in_index", {"file": "integer", "document": "bigint"}, dead)


def find_spots(view: View) -> None:
    """Leave the words that hold one of `pieces` in `found_words`, where they stand in `spots`."""
    found = view.table("found_words", sql("recall/words"))
    with _listing(view, found):
        view.table("spots", of_each_file(view, "recall/spots"))


@contextmanager
def _listing(view: View, numbers: int) -> Iterator[None]:
    """Let a join look only at row groups that may hold one of so many numbers.

    Most postings hold none of a question's words. Of all documents DuckDB is to make no such list:
    it costs more than it saves. Where settings are locked, there is none.
    """
    if numbers not in _LISTED or view.is_locked:
        yield
        return
    view.connection.execute(f"set dynamic_or_filter_threshold = {numbers}")
    try:
        yield
    finally:
        view.connection.execute("reset dynamic_or_filter_threshold")


def of_each_file(view: View, name: str) -> str:
    """Return a SELECT of what a question found in the index files, each large one looked up alone.

    A large file has a join of its own, by one number: only so does DuckDB leave out row groups
    that hold none of what is wanted. Small ones share one: planning a join takes longer than it.
    """
    found: str | None = view.kept.get(name)
    if found is None:
        relation, key, wanted = _LOOKED_UP[name]
        files = view.rows("select file, bytes from index_files")
        large = [[row["file"]] for row in files if row["bytes"] >= _LARGE_BYTES]
        small = [row["file"] for row in files if row["bytes"] < _LARGE_BYTES]
        groups = [*large, *([small] if small or not large else [])]
        rows = " union all ".join(
            f"select * from ({_union(relation, _RELATIONS[relation], group)}) where {key} in "
            f"(select {key} from {wanted} where list_contains({group}, file))"
            for group in groups
        )
        found = sql(name).replace(f"{relation}_of_{wanted}", f"({rows})")
        view.kept[name] = found
    return found


def _union(name: str, columns: str, attached: list[int]) -> str:
    if not attached:
        described = (column.rsplit(" ", 1) for column in columns.split(", "))
        typed = ", ".join(f"null::{type_} as {column}" for column, type_ in described)
        return f"select null::integer as file, {typed} where false"
    return " union all ".join(
        f"select {number} as file, * from index_{number}.{name}" for number in attached
    )
