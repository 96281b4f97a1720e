"""What a writer holds while a run changes it: segments, index files, and what is dead in them."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from etl.files import Modes
from etl.masking import Masking, masked
from etl.merge import drop_dead, merge, merges, place_of_segment
from etl.purge import Search, holds_any, rewritten
from etl.salvage import Remains
from etl.state import State, Taken
from etl.vectors import folder_of_vectors, holds_others, only_said, said_contents, write_vectors
from sjduck.pruned import Pruned
from sjduck.snapshots import IndexFile, Manifest, Segment, VectorFile

Place = tuple[str, str]


class Holdings:
    """A writer's segments and index files, and where each file that it took in lies in them.

    `run_name` begins the names of what is written; `leftovers` are files of this run that no
    generation will name; `warnings` is what could not be done.
    """

    def __init__(
        self, root: Path, modes: Modes, run_name: str, manifest: Manifest | None, state: State
    ) -> None:
        self._root = root
        self._modes = modes
        self._run_name = run_name
        self._writer = manifest.writer if manifest else ""
        self._written = 0
        self.state = state
        self.gone = dict(manifest.gone) if manifest else {}
        self.segments: dict[str, Segment] = {
            segment.name: segment for segment in (manifest.segments if manifest else ())
        }
        self.indexes: dict[str, IndexFile] = {
            index.path: index for index in (manifest.indexes if manifest else ())
        }
        self.vectors: dict[str, VectorFile] = {
            file.path: file for file in (manifest.vectors if manifest else ())
        }
        self._before = frozenset(self.segments)
        self.leftovers: list[Path] = []
        self.warnings: list[str] = []

    @property
    def paths(self) -> set[str]:
        """Every file that they are made of."""
        files = [file for segment in self.segments.values() for file in segment.tables.values()]
        return {*self.indexes, *self.vectors, *(file.path for file in files)}

    @property
    def bytes(self) -> int:
        """Bytes of all of them."""
        held = (self.segments, self.indexes, self.vectors)
        return sum(file.bytes for files in held for file in files.values())

    def segment_name(self) -> str:
        """Return a name that no other segment has."""
        self._written += 1
        return f"{self._run_name}-{self._written}"

    def add(self, segment: Segment) -> None:
        """Take a new segment."""
        self.segments[segment.name] = segment

    def bury(self, before: Taken) -> None:
        """Note that a document's older copy is dead where it lay."""
        self.state.bury(before)
        segment = self.segments.get(before.segment)
        if segment is not None:
            dead = segment.dead | {before.document}
            self.segments[segment.name] = replace(segment, dead=dead)
        index = self.indexes.get(before.index)
        if index is not None:
            dead = index.dead | {before.document}
            self.indexes[index.path] = replace(index, dead=dead)

    def merge(self, *, whole: bool) -> int:
        """Merge what is due, all where it is to be `whole`; return how many segments were."""
        live = drop_dead(list(self.segments.values()))
        self.segments = {segment.name: segment for segment in live}
        merged = 0
        for chosen in merges(live, whole=whole, mostly_dead=self.state.mostly_dead()):
            name = self.segment_name()
            try:
                new = merge(self._root, self._modes, name, chosen)
            except (OSError, pa.ArrowException) as error:
                self.leftovers += place_of_segment(self._root, chosen[0], name)
                reason = str(error).split("\n", 1)[0]
                self.warnings.append(f"not merged, the next run tries again: {reason}")
                continue
            for segment in chosen:
                del self.segments[segment.name]
                self.leftovers += self._unnamed(segment)
            self.add(new)
            self.state.moved({segment.name: new.name for segment in chosen})
            merged += len(chosen)
        return merged

    def purge(self, pruned: Pruned, generations: Iterable[Manifest]) -> tuple[Search, bool]:
        """Take out what was pruned; return where it stands, and whether nothing was left in.

        Segments that hold it are written anew, index files that do are left out.
        """
        search = Search(self._root, pruned, generations)
        for name in [name for name in self.segments if name in search.sieves]:
            old, sieve = self.segments.pop(name), search.sieves[name]
            new = rewritten(self._root, self._modes, self.segment_name(), old, sieve)
            if new is not None:
                self.add(new)
                self.state.moved({name: new.name})
            self.state.left_away(sieve.documents)
            for document in sieve.documents:
                self.gone.pop(document, None)
        self._leave_out_indexes(search.indexes)
        unread = search.failures.keys() & self.segments.keys()
        self.warnings += [
            f"segment {name} can't be read ({search.failures[name]}), so what was pruned may "
            "stand in it; run 'sjduck doctor --fix'"
            for name in sorted(unread)
        ]
        return search, not unread

    def mask(self, masking: Masking) -> bool:
        """Mask the secrets in what was stored without these rules; return whether there were any.

        Segments that hold one are written anew; index files that may know it are left out.
        """
        changed: set[int] = set()
        has_masked = False
        for old in drop_dead(list(self.segments.values())):
            if old.masked_by == masking.rules:
                continue
            name = self.segment_name()
            try:
                new = masked(self._root, self._modes, name, old, masking)
            except (OSError, pa.ArrowException) as error:
                self.leftovers += place_of_segment(self._root, old, name)
                reason = str(error).split("\n", 1)[0]
                self.warnings.append(
                    f"segment {old.name} can't be read ({reason}), so secrets may stand in it; "
                    "run 'sjduck doctor --fix'"
                )
                continue
            del self.segments[old.name]
            self.add(new)
            if new.name != old.name:
                self.state.moved({old.name: new.name})
                has_masked = True
                changed |= new.masked.keys()
        if has_masked:
            self._leave_out_indexes(
                {
                    path
                    for path, index in self.indexes.items()
                    if index.dead or holds_any(self._root / path, changed)
                }
            )
        return has_masked

    def do_without(self, damaged: Collection[str], there: Collection[Place]) -> Iterator[Remains]:
        """Leave damaged files out; yield what remains of each segment with one.

        Of documents whose sources are not `there`, what is whole is kept.
        """
        for segment in list(self.segments.values()):
            broken = {table for table, file in segment.tables.items() if file.path in damaged}
            if broken:
                del self.segments[segment.name]
                remains = Remains(self._root, segment, broken, self.state, there)
                if new := remains.kept_segment(self._modes, self.segment_name()):
                    self.add(new)
                self._forget(remains)
                yield remains
        self._leave_out_indexes(damaged)
        self.vectors = {p: file for p, file in self.vectors.items() if p not in damaged}

    def trim_vectors(self, generations: Iterable[Manifest]) -> set[str]:
        """Take out the vectors of what nothing says any more; return the files that have some.

        Those that the newest generation does without are written anew.
        """
        said = said_contents(self._root, self.indexes.values()).column("content")
        named = {file.path: file for manifest in generations for file in manifest.vectors}
        dated = {p for p, f in (named | self.vectors).items() if holds_others(self._root, f, said)}
        for path in dated & self.vectors.keys():
            old = self.vectors.pop(path)
            new = f"{folder_of_vectors(self._writer)}/{self.segment_name()}.parquet"
            with suppress(OSError, pa.ArrowException):
                rows = only_said(pq.read_table(self._root / path), said)
                written = write_vectors(self._root, self._modes, new, old.model, rows)
                if written is not None:
                    self.vectors[new] = written
        return dated

    def _forget(self, remains: Remains) -> None:
        """Forget the documents of a damaged segment that were not kept."""
        for key, taken in remains.members.items():
            if taken.document not in remains.kept:
                self.bury(taken)
                self.gone.pop(taken.document, None)
                del self.state.files[key]

    def _leave_out_indexes(self, paths: Collection[str]) -> None:
        self.indexes = {p: index for p, index in self.indexes.items() if p not in paths}

    def _unnamed(self, segment: Segment) -> list[Path]:
        """Return the files of a segment that this run wrote: no generation names them."""
        if segment.name in self._before:
            return []
        return [self._root / file.path for file in segment.tables.values()]
