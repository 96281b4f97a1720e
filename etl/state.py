"""What a writer remembers of each file it took in, one state a generation."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from etl.document import document_number
from etl.files import write_whole
from sjduck.snapshots import Manifest, manifest_folder

_RACY_NS = 2_000_000_000
# A file rests this many times as long as it took to take it in.
_REST = 20


@dataclass(frozen=True, slots=True)
class Taken:
    """One file as it was when it was taken in last.

    `size` is -1 where the file could not be read whole and has to be tried again; `segment` is
    empty where it was pruned, so that it is not read again.
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

    def rest_s(self, now_ns: int) -> float:
        """Return for how many seconds yet the file should not be taken in again."""
        since_s = (now_ns - self.taken_ns) / 1e9
        # A clock that was set back makes nothing wait.
        return _REST * self.cost_s - since_s if since_s >= 0 else 0.0


@dataclass(slots=True)
class State:
    """Every file that a writer took in, by source and path.

    `dead_bytes`: segment or index file → bytes of the source files whose older copies are dead
    in it.
    """

    files: dict[tuple[str, str], Taken]
    dead_bytes: dict[str, int] = field(default_factory=dict)

    def dumps(self) -> bytes:
        """Return the state as JSON."""
        files = [asdict(taken) for taken in self.files.values()]
        return orjson.dumps({"files": files, "dead_bytes": self.dead_bytes})

    def bury(self, before: Taken) -> None:
        """Note that a file's older copy is dead."""
        for name in (before.segment, before.index):
            self.dead_bytes[name] = self.dead_bytes.get(name, 0) + max(before.size, 0)

    def live_bytes(self) -> Counter[str]:
        """Return the bytes of the source files that live in each segment and index file."""
        live: Counter[str] = Counter()
        for taken in self.files.values():
            for name in (taken.segment, taken.index):
                live[name] += max(taken.size, 0)
        return live

    def mostly_dead(self) -> frozenset[str]:
        """Return the segments and index files that hold more that is dead than that lives.

        One large session that grew is one dead document among many, and most of the bytes.
        """
        live = self.live_bytes()
        return frozenset(name for name, size in self.dead_bytes.items() if size > live[name])

    def spent(self, keys: Iterable[tuple[str, str]], seconds: float) -> None:
        """Share the time that it took to take in some files among them, by their bytes."""
        sizes = {key: max(self.files[key].size, 1) for key in keys}
        total = sum(sizes.values())
        for key, size in sizes.items():
            share = seconds * size / total
            cost_s = round(max(self.files[key].cost_s, share), 4)
            self.files[key] = replace(self.files[key], cost_s=cost_s)

    def moved(self, segments: dict[str, str]) -> None:
        """Follow documents whose segment was merged into another."""
        for key, taken in self.files.items():
            if taken.segment in segments:
                self.files[key] = replace(taken, segment=segments[taken.segment])

    def left_away(self, documents: frozenset[int]) -> None:
        """Forget where documents lay that were pruned."""
        for key, taken in self.files.items():
            if taken.document in documents:
                self.files[key] = replace(taken, segment="", index="")

    def indexed(self, documents: set[int], index: str) -> None:
        """Note which index file holds documents now."""
        for key, taken in self.files.items():
            if taken.document in documents:
                self.files[key] = replace(taken, index=index)


def read_state(root: Path, manifest: Manifest) -> State | None:
    """Return the state that belongs to a generation; None where it is missing or damaged."""
    try:
        file = manifest_folder(root, manifest.writer) / manifest.state
        body = orjson.loads(file.read_bytes())
        taken = [Taken(**entry) for entry in body["files"]]
        dead_bytes = dict(body["dead_bytes"])
    except (OSError, orjson.JSONDecodeError, TypeError, KeyError, ValueError):
        return None
    return State({(entry.source, entry.path): entry for entry in taken}, dead_bytes)


def recover_state(root: Path, manifest: Manifest) -> State:
    """Return what a lost state can be told from the archive: what to replace, not what is new."""
    columns = ["document", "host", "source_kind", "source_path"]
    files: dict[tuple[str, str], Taken] = {}
    for segment in manifest.segments:
        path = root / segment.tables["documents"].path
        try:
            rows = pq.read_table(path, columns=columns).to_pylist()
        except (OSError, pa.ArrowException):  # damaged: `sjduck doctor` says so
            continue
        for row in rows:
            if row["document"] not in segment.dead:
                name = _name_of(row, manifest)
                # Of a source that is not known any more it is still to be indexed.
                place = row["source_path"] if name else str(row["document"])
                files[name or "", place] = Taken(
                    name or "", place, row["document"], segment.name, "", -1, 0, "", 0, 0.0
                )
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
