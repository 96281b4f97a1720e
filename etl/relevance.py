"""The relevance of an index: what was said, in the terms of the full-text extension.

`create_fts_index` gives the same rows (a test holds that) in five times the time: it stems every
word where it stands. Here DuckDB folds the text, Polars cuts it, and the extension stems each
word once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from etl.ids import Ids
from etl.parts import Part, tables
from etl.passages import Passages
from sjduck.fulltext import load_extension
from sjduck.words import relevance_text

if TYPE_CHECKING:
    import duckdb

# What the extension takes for a word when it is told to ignore all but letters and digits; its
# default would drop digits and every script but one.
_WORD = r"[\p{L}\p{N}]+"
_BLOCK_COLUMNS = (
    "document", "seq", "turn", "line_start", "role", "kind", "signal", "is_sidechain", "sent_at",
    "text",
)  # fmt: skip
# Held before it is written, sorted, as one run: 16 MB, and several times that while it is sorted.
_RUN_KEYS = 2_000_000
_SAID = (
    "id::integer as id, ordinal::uinteger as ordinal, seq::integer as seq, turn::integer as turn, "
    "line_start::integer as line, role, kind, signal, is_sidechain, sent_at::timestamp as sent_at, "
    "length::integer as length"
)


class Relevance:
    """Takes what was said; writes `said`, `stems` and `uses`.

    A use of a stem is one number: the stem in its upper half, the row of `said` in the lower.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        load_extension(connection)
        self._words, self._stems = Ids(), Ids()
        self._stem_of = pl.Series([], dtype=pl.UInt32)
        self._keys: list[pl.Series] = []
        self._held = 0
        self._count = 0
        connection.execute(
            "create table out.said (id integer, ordinal uinteger, seq integer, turn integer, "
            "line integer, role varchar, kind varchar, signal varchar, is_sidechain boolean, "
            "sent_at timestamp, length integer)"
        )
        self._passages = Passages(connection)
        connection.execute(
            "create table out.uses (stem_id uinteger, said_id integer, uses uinteger)"
        )

    def take(self, root: Path, parts: Sequence[Part], ordinals: Mapping[int, int]) -> None:
        """Take the blocks worth ranking by, and the topics of catalogues."""
        for blocks in tables(root, parts, "blocks", _BLOCK_COLUMNS, said=True):
            self._add(blocks, ordinals)
        for rows in tables(root, parts, "catalogue", ("document", "line", "topic")):
            topics = rows.filter(pc.is_valid(rows.column("topic")))
            self._add(_as_blocks(topics), ordinals)

    def write(self) -> None:
        """Write what is left, and the stems in their order."""
        self._flush()
        stems = self._stems.texts()
        rows = pa.table({"stem_id": pa.array(range(stems.len()), pa.uint32()), "stem": stems})
        self._connection.register("rows_stems", rows)
        self._connection.execute(
            "create table out.stems as select stem_id, stem from rows_stems order by stem"
        )
        self._connection.unregister("rows_stems")

    def _add(self, blocks: pa.Table, ordinals: Mapping[int, int]) -> None:
        ids = range(self._count, self._count + blocks.num_rows)
        self._count += blocks.num_rows
        self._passages.take(ids, blocks)
        words = self._cut(blocks.column("text").to_pylist())
        documents = blocks.column("document").to_pylist()
        rows = (
            blocks.set_column(0, "ordinal", pa.array([ordinals[d] for d in documents], pa.uint32()))
            .drop(["text"])
            .add_column(0, "id", pa.array(ids, pa.int32()))
            .append_column("length", words.list.len().to_arrow())
        )
        self._connection.register("rows_said", rows)
        self._connection.execute(f"insert into out.said select {_SAID} from rows_said")
        self._connection.unregister("rows_said")
        self._hold(pl.DataFrame({"id": pl.Series(ids, dtype=pl.UInt64), "word": words}))

    def _cut(self, texts: Sequence[str]) -> pl.Series:
        """Return the words of each text, folded as the extension folds."""
        given = pa.table({"text": pa.array([relevance_text(text) for text in texts], pa.string())})
        self._connection.register("rows_texts", given)
        folded = self._connection.execute(
            "select lower(strip_accents(text)) as text from rows_texts"
        ).to_arrow_table()
        self._connection.unregister("rows_texts")
        return pl.Series(folded.column("text")).str.extract_all(_WORD)

    def _hold(self, said: pl.DataFrame) -> None:
        """Hold each use of a stem until there are enough for a run."""
        uses = said.explode("word").drop_nulls("word")
        words = self._words.of(uses["word"])
        self._stem_new_words()
        stems = self._stem_of.gather(words)
        self._keys.append(stems.cast(pl.UInt64) * 2**32 + uses["id"])
        self._held += uses.height
        if self._held >= _RUN_KEYS:
            self._flush()

    def _stem_new_words(self) -> None:
        words = self._words.texts(self._stem_of.len())
        if words.len() == 0:
            return
        self._connection.register("rows_words", pa.table({"word": words.to_arrow()}))
        stemmed = self._connection.execute(
            "select stem(word, 'porter') as stem from rows_words"
        ).to_arrow_table()
        self._connection.unregister("rows_words")
        stems = self._stems.of(pl.Series(stemmed.column("stem")))
        self._stem_of = pl.concat([self._stem_of, stems])

    def _flush(self) -> None:
        """Write the held uses as one run, sorted by stem and row."""
        if not self._keys:
            return
        runs = pl.concat(self._keys).sort().rle().struct.unnest()
        self._keys, self._held = [], 0
        self._connection.register("rows_uses", runs.to_arrow())
        self._connection.execute(
            "insert into out.uses select (value >> 32)::uinteger, (value & 4294967295)::integer, "
            "len::uinteger from rows_uses"
        )
        self._connection.unregister("rows_uses")


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
