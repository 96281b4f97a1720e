"""What was pruned leaves a writer's files: it is found in them, and they are written anew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from etl.document import Claim
from etl.files import Modes
from etl.merge import merge
from sjduck.pruned import HISTORIES, Pruned
from sjduck.snapshots import Manifest, Segment

# What tells of a document whether it was pruned.
COLUMNS = (
    "document", "host", "type", "session_id", "parent_session_id", "sid", "stem", "source_path",
    "source_format", "readable_hash",
)  # fmt: skip
_ENTRY_COLUMNS = ["document", "host", "session_id"]


@dataclass(frozen=True, slots=True)
class Sieve:
    """Holds back the rows of what was pruned: of whole documents, and entries of catalogues."""

    pruned: Pruned
    documents: frozenset[int]
    histories: frozenset[int]

    @classmethod
    def of(cls, pruned: Pruned, rows: Iterable[Mapping[str, Any]]) -> Sieve:
        """Return the sieve for some rows of `documents` and what belongs to them."""
        held, histories = set(), set()
        for row in rows:
            if pruned.holds(row):
                held.add(row["document"])
            elif row["source_format"] in HISTORIES:
                histories.add(row["document"])
        return cls(pruned, frozenset(held), frozenset(histories))

    def passing(self, table: str, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows that stay."""
        if self.documents:
            held = pa.array(sorted(self.documents), pa.int64())
            batch = batch.filter(pc.invert(pc.is_in(batch.column("document"), held)))
        if table == "catalogue" and batch.num_rows:
            batch = batch.filter(pa.array([not held for held in self._held_entries(batch)]))
        return batch

    def logs_with_entries(self, batches: Iterable[pa.RecordBatch]) -> set[int]:
        """Return the logs of which an entry is held back."""
        return {
            document
            for batch in batches
            for document, is_held in zip(
                batch.column("document").to_pylist(), self._held_entries(batch), strict=True
            )
            if is_held
        }

    def _held_entries(self, batch: pa.RecordBatch) -> list[bool]:
        columns = (batch.column(name).to_pylist() for name in _ENTRY_COLUMNS)
        return [
            self.pruned.holds_entry(host, session_id, is_history=document in self.histories)
            for document, host, session_id in zip(*columns, strict=True)
        ]


class Search:
    """Where in the files of a writer's generations stands what was pruned.

    `sieves`: segment → what holds it back there; `failures`: what could not be looked through.
    """

    def __init__(self, root: Path, pruned: Pruned, generations: Iterable[Manifest]) -> None:
        self.sieves: dict[str, Sieve] = {}
        self.documents: set[int] = set()
        self.indexes: set[str] = set()
        self.failures: dict[str, str] = {}
        generations = list(generations)
        for segment in {s.name: s for m in generations for s in m.segments}.values():
            self._look_into(root, pruned, segment)
        for path in {index.path for manifest in generations for index in manifest.indexes}:
            if self.documents and holds_any(root / path, self.documents):
                self.indexes.add(path)

    def is_in(self, manifest: Manifest) -> bool:
        """Tell whether a generation names a file that holds it, or that may."""
        names = {segment.name for segment in manifest.segments}
        paths = {index.path for index in manifest.indexes}
        return bool(names & (self.sieves.keys() | self.failures.keys()) or paths & self.indexes)

    def _look_into(self, root: Path, pruned: Pruned, segment: Segment) -> None:
        try:
            rows = pq.read_table(root / segment.tables["documents"].path, columns=list(COLUMNS))
            sieve = Sieve.of(pruned, rows.to_pylist())
            logs: set[int] = set()
            if "catalogue" in segment.tables:
                entries = pq.read_table(
                    root / segment.tables["catalogue"].path, columns=_ENTRY_COLUMNS
                )
                logs = sieve.logs_with_entries(entries.to_batches()) - sieve.documents
        except (OSError, pa.ArrowException) as error:
            self.failures[segment.name] = str(error).split("\n", 1)[0]
            return
        if sieve.documents or logs:
            self.sieves[segment.name] = sieve
            self.documents |= sieve.documents | logs


def rewritten(
    root: Path, modes: Modes, name: str, segment: Segment, sieve: Sieve
) -> Segment | None:
    """Write a segment anew without what the sieve holds back; None where nothing lives then."""
    if not _living(root, segment, sieve):
        return None
    return merge(root, modes, name, [segment], passing=sieve.passing)


def is_away(claim: Claim, pruned: Pruned) -> bool:
    """Tell of a file that is not opened yet whether it stays away, as far as its name says."""
    return pruned.holds(
        {
            "document": claim.document,
            "host": claim.host,
            "type": claim.type,
            "session_id": claim.session_id,
            "parent_session_id": claim.parent_session_id,
            "sid": None,
            "readable_hash": None,
        }
    )


def _living(root: Path, segment: Segment, sieve: Sieve) -> set[int]:
    path = root / segment.tables["documents"].path
    documents = pq.read_table(path, columns=["document"])["document"].to_pylist()
    return set(documents) - segment.dead - sieve.documents


def holds_any(path: Path, documents: set[int]) -> bool:
    """Tell whether an index file holds any of some documents; one that can't be read may."""
    import duckdb

    place = str(path).replace("'", "''")
    try:
        with duckdb.connect() as connection:
            connection.execute(f"attach '{place}' as searched (read_only)")
            found = connection.execute(
                "select 1 from searched.ordinals "
                "where document in (select unnest($documents::bigint[])) limit 1",
                {"documents": sorted(documents)},
            ).fetchone()
    except (OSError, duckdb.Error):
        return True
    return found is not None
