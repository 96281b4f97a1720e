"""What a writer holds while a run changes it: segments, index files, and what is dead in them."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from etl.files import Modes
from etl.merge import drop_dead, merge, merges, place_of_segment
from etl.purge import Search, rewritten
from etl.salvage import Remains
from etl.state import State, Taken
from sjduck.pruned import Pruned
from sjduck.snapshots import IndexFile, Manifest, Segment

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
        self._written = 0
        self.state = state
        self.gone = dict(manifest.gone) if manifest else {}
        self.segments: dict[str, Segment] = {
            segment.name: segment for segment in (manifest.segments if manifest else ())
        }
        self.indexes: dict[str, IndexFile] = {
            index.path: index for index in (manifest.indexes if manifest else ())
        }
        self._before = frozenset(self.segments)
        self.leftovers: list[Path] = []
        self.warnings: list[str] = []

    @property
    def paths(self) -> set[str]:
        """Every file that they are made of."""
        files = [file for segment in self.segments.values() for file in segment.tables.values()]
        return {*self.indexes, *(file.path for file in files)}

    @property
    def bytes(self) -> int:
        """Bytes of all of them."""
        segments = sum(segment.bytes for segment in self.segments.values())
        return segments + sum(index.bytes for index in self.indexes.values())

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
