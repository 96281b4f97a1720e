"""Files of vectors: what a model made of passages, by the hash of what a passage says.

A row is (content BIGINT, scale FLOAT, vector: as many signed bytes as the model has dimensions);
the vector is the bytes times the scale, of length 1. Rows are sorted by content, each once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from etl.files import Modes, make_folder, seal
from sjduck.snapshots import VECTORS, IndexFile, VectorFile
from sjduck.sqlfiles import sql

# One file this many times as large as those that it would be folded with is left as it is.
_LARGE = 2
_ROW_GROUP_ROWS = 50_000
_CONTENTS = pa.schema([("content", pa.int64())])
_SAID = pa.schema(
    [("document", pa.int64()), ("content", pa.int64()), ("newest_at", pa.timestamp("us"))]
)


def said_contents(root: Path, indexes: Iterable[IndexFile]) -> pa.Table:
    """Return what the live documents of some index files say: (document, content, newest_at).

    The newest documents come first. What can't be read, or has no passages since an older sjduck
    wrote it, says nothing.
    """
    import duckdb

    found = [_SAID.empty_table()]
    with duckdb.connect() as connection:
        for index in indexes:
            place = str(root / index.path).replace("'", "''")
            with suppress(OSError, duckdb.Error):
                connection.execute(f"attach '{place}' as said (read_only)")
                connection.execute("use said")
                rows = connection.execute(sql("semantic/contents"), {"dead": sorted(index.dead)})
                found.append(rows.to_arrow_table().cast(_SAID))
            connection.execute("use memory")
            connection.execute("detach database if exists said")
    return pa.concat_tables(found).sort_by([("newest_at", "descending")])


def lack_passages(root: Path, indexes: Iterable[IndexFile]) -> bool:
    """Tell whether an older sjduck wrote one of some index files: it has no passages."""
    import duckdb

    with duckdb.connect() as connection:
        for index in indexes:
            place = str(root / index.path).replace("'", "''")
            with suppress(OSError, duckdb.IOException):
                connection.execute(f"attach '{place}' as said (read_only)")
                try:
                    connection.execute("select * from said.passages limit 0")
                except duckdb.CatalogException:
                    return True
                connection.execute("detach said")
    return False


def write_vectors(
    root: Path, modes: Modes, path: str, model: str, rows: pa.Table
) -> VectorFile | None:
    """Write rows as one file, each content once; None where there are none."""
    rows = rows.sort_by("content")
    contents = rows.column("content")
    if rows.num_rows == 0:
        return None
    is_first = pc.not_equal(contents[1:], contents[:-1])
    rows = rows.filter(pa.chunked_array([pa.array([True]), *is_first.chunks]))
    file = root / path
    make_folder(file.parent, root, modes)
    # Vectors are noise to a compressor, and are read at once.
    pq.write_table(
        rows.combine_chunks(), file, compression="none", use_dictionary=False,
        write_statistics=["content"], row_group_size=_ROW_GROUP_ROWS, store_schema=False,
    )  # fmt: skip
    size, digest = seal(file, modes)
    return VectorFile(path, model, rows.num_rows, size, digest)


def readable(
    root: Path, files: Iterable[VectorFile], columns: Sequence[str] | None = None
) -> dict[VectorFile, pa.Table]:
    """Return the rows of those of some files that can be read."""
    found = {}
    for file in files:
        with suppress(OSError, pa.ArrowException):
            found[file] = pq.read_table(root / file.path, columns=columns)
    return found


def contents(tables: Iterable[pa.Table]) -> pa.ChunkedArray:
    """Return which contents some rows are of."""
    parts = [table.select(["content"]) for table in tables]
    return pa.concat_tables([_CONTENTS.empty_table(), *parts]).column("content")


def to_fold(files: Iterable[VectorFile], new_rows: int) -> list[VectorFile]:
    """Return the files that become one with so many new rows, so that few are left."""
    folded: list[VectorFile] = []
    rows = new_rows
    for file in sorted(files, key=lambda file: (file.rows, file.path)):
        if file.rows > _LARGE * rows:
            break
        folded.append(file)
        rows += file.rows
    return folded


def folder_of_vectors(writer: str) -> str:
    """Return where a writer's files of vectors lie, relative to the archive."""
    return f"{VECTORS}/{writer}"


def only_said(rows: pa.Table, said: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Return the rows whose content is said."""
    return rows.filter(pc.is_in(rows.column("content"), value_set=said))


def holds_others(root: Path, file: VectorFile, said: pa.Array | pa.ChunkedArray) -> bool:
    """Tell whether a file holds what is not said any more; one that can't be read may."""
    held = readable(root, [file], ["content"])
    if not held:
        return True
    return not pc.all(pc.is_in(contents(held.values()), value_set=said), min_count=0).as_py()
