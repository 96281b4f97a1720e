"""The evidence of an index: which word stands on which lines of which document."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa

from etl.ids import Ids
from sjduck.words import INDEX_WORD, MAX_WORD, OVERLAP

if TYPE_CHECKING:
    import duckdb

# Cut into words at once: enough for every core, little to hold.
_CUT_CHARACTERS = 8 * 1024 * 1024
# A word on a line of a document is one number: word, slot and line, from the highest bit.
_LINE_BITS, _SLOT_BITS = 22, 14
_MAX_LINES, _MAX_SLOTS = 2**_LINE_BITS, 2**_SLOT_BITS
# Held before it is written, sorted, as one run: 32 MB, and several times that while it is sorted.
_RUN_KEYS = 4_000_000
_WORDS_A_ROW = 256


class Words:
    """Takes texts by document and line; writes `lexicon` and `postings`.

    A slot stands for a document, or for a stretch of a very long one, within a run.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._ids = Ids()
        self._texts: list[str] = []
        self._places: list[int] = []
        self._characters = 0
        self._slots: list[tuple[int, int]] = []
        self._keys: list[pl.Series] = []
        self._count = 0
        connection.execute(
            "create table runs (word uinteger, ordinal uinteger, n uinteger, lines uinteger[])"
        )

    def take(self, ordinal: int, line: int, text: str) -> None:
        """Take text whose first line is `line` of a document's readable."""
        last = line + text.count("\n")
        if not self._slots or self._slots[-1][0] != ordinal or not self._fits(line, last):
            if len(self._slots) == _MAX_SLOTS:
                self._flush()
            self._slots.append((ordinal, line))
        if not self._fits(line, last):
            self._take_in_halves(ordinal, line, text)
            return
        slot = len(self._slots) - 1
        self._texts.append(text)
        self._places.append((slot << _LINE_BITS) + line - self._slots[-1][1])
        self._characters += len(text)
        if self._characters >= _CUT_CHARACTERS:
            self._cut()

    def write(self) -> None:
        """Write what is left and the lexicon, many words to a row, those of most documents first.

        Most words that hold a piece of a question are rare: so they lie together at the end of
        `postings`, and a question looks at a fifth of it instead of all.
        """
        self._flush()
        self._connection.execute(
            "create table ranks as select word, "
            "(row_number() over (order by count(*) desc, word) - 1)::uinteger as word_id "
            "from runs group by word"
        )
        self._write_lexicon()
        self._connection.execute(
            "create table out.postings as select word_id, ordinal, n, lines "
            "from runs join ranks using (word) order by word_id, ordinal"
        )

    def _write_lexicon(self) -> None:
        order = self._connection.execute("select word from ranks order by word_id")
        words = self._ids.texts().gather(pl.Series(order.to_arrow_table().column("word")))
        # Sorting takes room, and who stands where is in the tables now.
        self._ids = Ids()
        word_ids = pl.int_range(words.len(), dtype=pl.UInt32, eager=True)
        rows = (
            pl.DataFrame({"word_id": word_ids, "word": words})
            .group_by(
                first_id=pl.col("word_id") // _WORDS_A_ROW * _WORDS_A_ROW, maintain_order=True
            )
            .agg(words=pl.col("word").str.join("\n"))
        )
        self._connection.register("rows", rows.to_arrow())
        self._connection.execute(
            "create table out.lexicon as select first_id::uinteger as first_id, words from rows"
        )
        self._connection.unregister("rows")

    def _fits(self, first: int, last: int) -> bool:
        base = self._slots[-1][1]
        return base <= first and last - base < _MAX_LINES

    def _take_in_halves(self, ordinal: int, line: int, text: str) -> None:
        """Take a text of millions of lines piece by piece."""
        at = text.find("\n", len(text) // 2)
        middle = at if at >= 0 else text.rfind("\n")
        self.take(ordinal, line, text[:middle])
        self.take(ordinal, line + text.count("\n", 0, middle) + 1, text[middle + 1 :])

    def _cut(self) -> None:
        """Cut the gathered texts into words and hold each with its place."""
        if not self._texts:
            return
        texts = pl.DataFrame(
            {"place": pl.Series(self._places, dtype=pl.UInt64), "text": self._texts}
        )
        self._texts, self._places, self._characters = [], [], 0
        words = cut(texts)
        above = 2 ** (_LINE_BITS + _SLOT_BITS)
        keys = self._ids.of(words["word"]).cast(pl.UInt64) * above + words["place"]
        self._keys.append(keys)
        self._count += keys.len()
        if self._count >= _RUN_KEYS:
            self._flush()

    def _flush(self) -> None:
        """Write the held words as one run, sorted by word, document and line."""
        self._cut()
        if self._keys:
            keys = pl.concat(self._keys).sort()
            self._keys, self._count = [], 0
            self._write_run(keys.filter(keys.ne_missing(keys.shift())))
        self._slots = []

    def _write_run(self, keys: pl.Series) -> None:
        groups = (keys // _MAX_LINES).rename("group").rle().struct.unnest()
        bases = pl.Series([base for _, base in self._slots], dtype=pl.UInt32)
        ordinals = pl.Series([ordinal for ordinal, _ in self._slots], dtype=pl.UInt32)
        slots = (keys // _MAX_LINES % _MAX_SLOTS).cast(pl.UInt32)
        lines = (keys % _MAX_LINES).cast(pl.UInt32) + bases.gather(slots)
        ends = groups["len"].cum_sum()
        offsets = pl.concat([pl.Series([0], dtype=ends.dtype), ends]).cast(pl.Int64)
        group_slots = (groups["value"] % _MAX_SLOTS).cast(pl.UInt32)
        rows = pa.table(
            {
                "word": (groups["value"] // _MAX_SLOTS).cast(pl.UInt32).to_arrow(),
                "ordinal": ordinals.gather(group_slots).to_arrow(),
                "n": groups["len"].cast(pl.UInt32).to_arrow(),
                "lines": pa.LargeListArray.from_arrays(offsets.to_arrow(), lines.to_arrow()),
            }
        )
        self._connection.register("rows", rows)
        self._connection.execute("insert into runs select * from rows")
        self._connection.unregister("rows")


def cut(texts: pl.DataFrame) -> pl.DataFrame:
    """Return a row a word and line of `texts` (place of the first line, text): place, word.

    Words are folded as `sjduck.words.fold` folds; a very long one is cut into overlapping
    pieces. A word that stands on a line more than once is there as often.
    """
    words = (
        texts.lazy()
        .select(
            "place",
            pl.col("text")
            .str.to_lowercase()
            .str.replace_all("ς", "σ", literal=True)
            .str.replace_all("i\u0307", "i", literal=True)
            .str.split("\n"),
        )
        .with_columns(below=pl.int_ranges(0, pl.col("text").list.len(), dtype=pl.UInt64))
        .explode("text", "below")
        .select(
            (pl.col("place") + pl.col("below")).alias("place"),
            pl.col("text").str.extract_all(INDEX_WORD).alias("word"),
        )
        .explode("word")
        .drop_nulls("word")
        .collect()
    )
    is_long = pl.col("word").str.len_bytes() > MAX_WORD
    long = words.filter(is_long)
    if long.height == 0:
        return words
    parts = long.with_columns(
        pl.col("word").map_elements(_parts, return_dtype=pl.List(pl.String))
    ).explode("word")
    return pl.concat([words.filter(~is_long), parts])


def _parts(word: str) -> list[str]:
    """Cut a very long word into pieces that overlap."""
    step = MAX_WORD - OVERLAP
    return [word[at : at + MAX_WORD] for at in range(0, max(len(word) - OVERLAP, 1), step)]
