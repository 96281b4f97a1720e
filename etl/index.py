"""Build a search index: an immutable DuckDB file over some documents, from Parquet alone.

Evidence (`etl.words`): every line of every readable, as `lexicon` and `postings`. Relevance
(`etl.relevance`): what was said, one row a block, in the full-text extension's terms.
`ordinals` maps the index's own document numbers to the archive's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import file_digest
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from etl.files import Modes, make_folder, sync_folder
from etl.parts import Part, columns, tables
from etl.relevance import Relevance
from etl.words import Words
from sjduck.readable import Block, header, pieces
from sjduck.snapshots import IndexFile

if TYPE_CHECKING:
    import duckdb

# DuckDB's own 256 KiB make a file of one session 1.6 MB instead of 0.3, of 160 sessions 4.2
# instead of 3.2; its smallest, 16 KiB, make the latter 8.0.
_SMALL_BYTES = 1024 * 1024
_BLOCK_SIZES = {True: 32_768, False: 65_536}
_MEMORY = "400MB"


def build_index(
    root: Path, modes: Modes, path: str, parts: Sequence[Part], scratch: Path
) -> IndexFile | None:
    """Write the index of some documents at `path`; None where there are none.

    `scratch` is a folder for what does not fit into memory.
    """
    import duckdb

    documents = sorted(_documents(root, parts), key=itemgetter("document"))
    if not documents:
        return None
    file = root / path
    make_folder(file.parent, root, modes)
    file.unlink(missing_ok=True)
    (scratch / "index").unlink(missing_ok=True)
    is_small = sum(row["bytes"] for row in documents) < _SMALL_BYTES
    with duckdb.connect(scratch / "index") as connection:
        connection.execute(f"set memory_limit = '{_MEMORY}'")
        place = str(file).replace("'", "''")
        connection.execute(f"attach '{place}' as out (block_size {_BLOCK_SIZES[is_small]})")
        _fill(connection, root, parts, documents)
        connection.execute("detach out")
    (scratch / "index").unlink()
    file.chmod(modes.file)
    with file.open("rb") as written:
        digest = file_digest(written, "sha256").hexdigest()
        os.fsync(written.fileno())
    sync_folder(file.parent)
    return IndexFile(path, len(documents), file.stat().st_size, digest)


def _fill(
    connection: duckdb.DuckDBPyConnection,
    root: Path,
    parts: Sequence[Part],
    documents: list[dict[str, Any]],
) -> None:
    ordinals = {row["document"]: ordinal for ordinal, row in enumerate(documents)}
    rows = pa.table(
        {"ordinal": pa.array(ordinals.values(), pa.uint32()), "document": list(ordinals)}
    )
    connection.register("rows_ordinals", rows)
    connection.execute("create table out.ordinals as select * from rows_ordinals")
    relevance = Relevance(connection.cursor())
    # Each spends half of its time in one thread of Python: together they keep two cores busy.
    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(relevance.take, root, parts, ordinals)
        words = Words(connection)
        for row, blocks in _blocks(root, parts, documents):
            _take_words(words, ordinals[row["document"]], row, blocks)
        for table in tables(root, parts, "catalogue", ("document", "line", "topic")):
            for document, line, topic in zip(*columns(table), strict=True):
                words.take(ordinals[document], line, topic or "")
        words.write()
        written.result()
    relevance.write()


def _take_words(words: Words, ordinal: int, row: dict[str, Any], blocks: Iterator[Block]) -> None:
    """Take every line of one document's readable."""
    first_prompt: str | None = None
    for piece in pieces(blocks):
        block = piece.block
        if first_prompt is None and block is not None and block.role == "user":
            first_prompt = block.text
        words.take(ordinal, piece.first, piece.text)
    if row["source_format"] not in ("readable", "markdown"):
        words.take(ordinal, 1, "\n".join(header(first_prompt, row["turns"])))


def _documents(root: Path, parts: Sequence[Part]) -> Iterator[dict[str, Any]]:
    for table in tables(root, parts, "documents", ("document", "turns", "bytes", "source_format")):
        yield from table.to_pylist()


def _blocks(
    root: Path, parts: Sequence[Part], documents: list[dict[str, Any]]
) -> Iterator[tuple[dict[str, Any], Iterator[Block]]]:
    """Yield each document with its shown blocks, in the order of segments and documents."""
    by_number = {row["document"]: row for row in documents}
    for part in parts:
        stored = (
            (document, Block._make(values))
            for table in tables(root, [part], "blocks", ("document", *Block._fields), shown=True)
            for document, *values in zip(*columns(table), strict=True)
        )
        for document, blocks in groupby(stored, key=itemgetter(0)):
            yield by_number[document], map(itemgetter(1), blocks)
