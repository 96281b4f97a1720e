"""The relevance of an index: what was said, in the terms of the full-text extension."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from etl.parts import Part, tables
from sjduck.fulltext import load_extension
from sjduck.words import relevance_text

if TYPE_CHECKING:
    import duckdb

# The default would drop digits and every script but one.
_IGNORED = r"[^\p{L}\p{N}]+"
_BLOCK_COLUMNS = (
    "document", "seq", "turn", "line_start", "role", "kind", "signal", "is_sidechain", "sent_at",
    "text",
)  # fmt: skip


class Relevance:
    """Takes what was said; writes `said`, `stems` and `uses`."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        connection.execute(
            "create table said (id integer, ordinal uinteger, seq integer, turn integer, "
            "line integer, role varchar, kind varchar, signal varchar, is_sidechain boolean, "
            "sent_at timestamp, text varchar)"
        )
        self._count = 0

    def take(self, root: Path, parts: Sequence[Part], ordinals: Mapping[int, int]) -> None:
        """Take the blocks worth ranking by, and the topics of catalogues."""
        for blocks in tables(root, parts, "blocks", _BLOCK_COLUMNS, said=True):
            self._add(blocks, ordinals)
        for rows in tables(root, parts, "catalogue", ("document", "line", "topic")):
            topics = rows.filter(pc.is_valid(rows.column("topic")))
            self._add(_as_blocks(topics), ordinals)

    def write(self) -> None:
        """Index the rows with the extension, and store what questions read of it."""
        load_extension(self._connection)
        self._connection.execute(
            "pragma create_fts_index('said', 'id', 'text', stemmer = 'porter', "
            f"stopwords = 'none', ignore = '{_IGNORED}', strip_accents = 1, lower = 1)"
        )
        for name, query in {
            "said": "select said.* exclude (text), len as length from said "
            "join fts_main_said.docs on docs.name = said.id order by id",
            "stems": "select termid::uinteger as stem_id, term as stem from fts_main_said.dict "
            "order by term",
            "uses": "select termid::uinteger as stem_id, docs.name as said_id, "
            "count(*)::uinteger as uses from fts_main_said.terms join fts_main_said.docs "
            "using (docid) group by all order by all",
        }.items():
            self._connection.execute(f"create table out.{name} as {query}")

    def _add(self, blocks: pa.Table, ordinals: Mapping[int, int]) -> None:
        count = blocks.num_rows
        documents = blocks.column("document").to_pylist()
        texts = [relevance_text(text) for text in blocks.column("text").to_pylist()]
        ids = pa.array(range(self._count, self._count + count), pa.int32())
        rows = (
            blocks.set_column(0, "ordinal", pa.array([ordinals[d] for d in documents]))
            .add_column(0, "id", ids)
            .drop(["text"])
            .append_column("text", pa.array(texts, pa.string()))
        )
        self._count += count
        self._connection.register("rows_said", rows)
        self._connection.execute("insert into said select * from rows_said")
        self._connection.unregister("rows_said")


def _as_blocks(topics: pa.Table) -> pa.Table:
    """Return topics of catalogues in the shape of blocks: their line is the log's."""
    count = topics.num_rows

    def constant(value: object, type_: pa.DataType) -> pa.Array:
        return pa.repeat(pa.scalar(value, type_), count)

    line = topics.column("line")
    return pa.table(
        {
            "document": topics.column("document"),
            "seq": line,
            "turn": constant(None, pa.int32()),
            "line_start": line,
            "role": constant(None, pa.string()),
            "kind": constant("topic", pa.string()),
            "signal": constant("high", pa.string()),
            "is_sidechain": constant(False, pa.bool_()),
            "sent_at": constant(None, pa.timestamp("us")),
            "text": topics.column("topic"),
        }
    )
