"""What can be kept of a segment with a damaged file, where the sources are gone.

The tables that are whole are. Of damaged blocks those documents are kept whose rows can be read
and give the readable that its hash, in a table that is whole, says.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from etl.files import Modes
from etl.segments import SegmentWriter
from etl.state import State
from sjduck.readable import Layout, markdown_hash, shown_text
from sjduck.snapshots import TABLES, Segment

_ROWS_AT_ONCE = 4_096
# Types without blocks.
_BARE = ("log", "file")
_FACTS = ("type", "host", "session_id", "sid")
_MARKDOWN = ("readable", "markdown")
Place = tuple[str, str]
_PROVING = (
    "document", "seq", "turn", "line_start", "line_end", "role", "kind", "tool_name", "is_error",
    "text",
)  # fmt: skip


class Remains:
    """What is left of a segment: `members` were in it, `retaken` of them are where they came from,
    `kept` are the documents that a new segment holds."""

    def __init__(
        self,
        root: Path,
        segment: Segment,
        broken: Collection[str],
        state: State,
        there: Collection[Place],
    ) -> None:
        self._root = root
        self._segment = segment
        self._broken = broken
        self._state = state
        self.members = {k: t for k, t in state.files.items() if t.segment == segment.name}
        self.retaken = {key for key in self.members if key in there}
        self.kept: set[int] = set()
        again = {self.members[key].document for key in self.retaken}
        self._rows = {d: row for d, row in self._live_rows().items() if d not in again}

    def kept_segment(self, modes: Modes, name: str) -> Segment | None:
        """Write what is whole of the documents whose sources are gone; None where nothing is."""
        self.kept = self._whole()
        if not self.kept:
            return None
        segment = self._segment
        writer = SegmentWriter(self._root, modes, name, segment.host, segment.year)
        for table in TABLES:
            if table in segment.tables and (table not in self._broken or table == "blocks"):
                for batch in _rows(self._path(table), self.kept):
                    writer.add(table, batch)
        for taken in self.members.values():
            if taken.document in self.kept:
                key = taken.source, taken.path
                # Where its source comes back it is taken in again.
                self._state.files[key] = replace(taken, segment=name, size=-1)
        masked = {d: places for d, places in segment.masked.items() if d in self.kept}
        return replace(writer.close(), masked_by=segment.masked_by, masked=masked)

    def lost(self) -> list[dict[str, Any]]:
        """Return what is known of each document that is neither kept nor taken in again."""
        rows = []
        for key, taken in self.members.items():
            if key not in self.retaken and taken.document not in self.kept:
                known = self._rows.get(taken.document, {})
                facts = {name: known.get(name) for name in _FACTS}
                place = {"source": taken.source, "path": taken.path}
                rows.append({"document": str(taken.document), **place, **facts})
        return rows

    def warnings(self) -> list[str]:
        """Return what kept documents lack."""
        lacking = sorted(set(self._broken) - {"documents", "blocks"})
        if not self.kept or not lacking:
            return []
        return [f"{len(self.kept):,} documents were kept without their {' and '.join(lacking)}"]

    def _live_rows(self) -> dict[int, dict[str, Any]]:
        if "documents" in self._broken:
            return {}
        rows = pq.read_table(self._path("documents")).to_pylist()
        return {r["document"]: r for r in rows if r["document"] not in self._segment.dead}

    def _whole(self) -> set[int]:
        whole = set(self._rows)
        if "catalogue" in self._broken:
            whole -= {document for document, row in self._rows.items() if row["type"] == "log"}
        if "blocks" in self._broken:
            proved = _proved(self._path("blocks"), self._rows, self._segment.masked)
            bare = {d for d, row in self._rows.items() if row["type"] in _BARE}
            whole &= proved | bare
        return whole

    def _path(self, table: str) -> Path:
        return self._root / self._segment.tables[table].path


def _rows(path: Path, documents: Collection[int]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of some documents, without those parts of a file that can't be read."""
    wanted = pa.array(sorted(documents), pa.int64())
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            try:
                batches = list(file.iter_batches(_ROWS_AT_ONCE, row_groups=[group]))
            except (OSError, pa.ArrowException):
                continue
            for batch in batches:
                rows = batch.filter(pc.is_in(batch.column("document"), wanted))
                if rows.num_rows:
                    yield rows


def _proved(path: Path, documents: dict[int, dict[str, Any]], masked: Collection[int]) -> set[int]:
    """Return the documents whose blocks give the readable that their rows tell of.

    Of those in which something is `masked`, the hash is of what was there before.
    """
    try:
        rows = (
            row
            for batch in _rows(path, documents)
            for row in batch.select(list(_PROVING)).to_pylist()
        )
        return {
            document
            for document, blocks in groupby(rows, key=itemgetter("document"))
            if _gives(documents[document], list(blocks), is_masked=document in masked)
        }
    except (OSError, pa.ArrowException):
        return set()


def _gives(document: dict[str, Any], blocks: list[dict[str, Any]], *, is_masked: bool) -> bool:
    """Tell whether blocks are all of a document's, each in its place."""
    shown = [block for block in blocks if block["line_start"] is not None]
    if [block["seq"] for block in blocks] != list(range(len(blocks))):
        return False
    if document["source_format"] in _MARKDOWN:
        text = "\n".join(block["text"] for block in shown)
        hashes = markdown_hash(text), markdown_hash(text + "\n")
        return is_masked or document["readable_hash"] in hashes
    layout = Layout()
    for block in shown:
        told = {name: block[name] for name in ("tool_name", "is_error")}
        place = layout.place(block["role"], shown_text(block["kind"], block["text"], **told))
        if place != (block["turn"], block["line_start"], block["line_end"]):
            return False
    prompt = next((block["text"] for block in shown if block["role"] == "user"), None)
    return is_masked or bool(document["readable_hash"] == layout.size_and_hash(prompt)[1])
