"""What a writer remembers of each file it took in, one state a generation."""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import orjson
import pyarrow.parquet as pq

from etl.document import document_number
from etl.files import write_whole
from sjduck.snapshots import Manifest, manifest_folder

_RACY_NS = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Taken:
    """One file as it was when it was taken in last.

    `size` is -1 where the file could not be read whole and has to be tried again.
    """

    source: str
    path: str
    document: int
    segment: str
    index: str
    size: int
    mtime_ns: int
    digest: str
    taken_ns: int
    cost_s: float

    def looks_unchanged(self, size: int, mtime_ns: int) -> bool:
        """Tell by a look whether the file is as it was.

        A file that was written within the clock's grain of being read could have changed
        since without its time showing it.
        """
        racy = self.taken_ns - self.mtime_ns < _RACY_NS
        return self.size == size and self.mtime_ns == mtime_ns and not racy


@dataclass(slots=True)
class State:
    """Every file that a writer took in, by source and path."""

    files: dict[tuple[str, str], Taken]

    def dumps(self) -> bytes:
        """Return the state as JSON."""
        return orjson.dumps([asdict(taken) for taken in self.files.values()])

    def moved(self, segments: dict[str, str]) -> None:
        """Follow documents whose segment was merged into another."""
        for key, taken in self.files.items():
            if taken.segment in segments:
                self.files[key] = replace(taken, segment=segments[taken.segment])

    def indexed(self, documents: set[int], index: str) -> None:
        """Note which index file holds documents now."""
        for key, taken in self.files.items():
            if taken.document in documents:
                self.files[key] = replace(taken, index=index)


def read_state(root: Path, manifest: Manifest) -> State | None:
    """Return the state that belongs to a generation; None where it is missing or damaged."""
    try:
        file = manifest_folder(root, manifest.writer) / manifest.state
        taken = [Taken(**entry) for entry in orjson.loads(file.read_bytes())]
    except (OSError, orjson.JSONDecodeError, TypeError):
        return None
    return State({(entry.source, entry.path): entry for entry in taken})


def recover_state(root: Path, manifest: Manifest) -> State:
    """Return what a lost state can be told from the archive: what to replace, not what is new."""
    columns = ["document", "host", "source_kind", "source_path"]
    files: dict[tuple[str, str], Taken] = {}
    for segment in manifest.segments:
        path = root / segment.tables["documents"].path
        for row in pq.read_table(path, columns=columns).to_pylist():
            name = _name_of(row, manifest)
            if name is not None and row["document"] not in segment.dead:
                key = name, row["source_path"]
                files[key] = Taken(*key, row["document"], segment.name, "", -1, 0, "", 0, 0.0)
    return State(files)


def _name_of(row: Mapping[str, Any], manifest: Manifest) -> str | None:
    """Return the source that a document came from: its number holds the source's name."""
    owner = row["host"] or manifest.host
    for name, source in manifest.sources.items():
        if source["kind"] == row["source_kind"]:
            path = row["source_path"]
            if row["document"] in (document_number(o, name, path) for o in (owner, None)):
                return name
    return None


def write_state(root: Path, writer: str, name: str, state: State, mode: int) -> None:
    """Write the state of a generation, whole or not at all."""
    write_whole(manifest_folder(root, writer) / name, state.dumps(), mode)


def drop_states(root: Path, writer: str, *, keep: str) -> None:
    """Remove the states of other generations."""
    folder = manifest_folder(root, writer)
    for name in os.listdir(folder):
        if name.startswith("state-") and name != keep:
            (folder / name).unlink(missing_ok=True)
