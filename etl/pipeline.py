"""One run: look at the sources, flatten what is new, publish the next snapshot."""

import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import pyarrow as pa

from etl import indexing, manifests
from etl.choosing import Choosing
from etl.discover import Found, discover
from etl.files import Modes, make_folder, open_root
from etl.holdings import Holdings
from etl.index import build_index
from etl.intake import Intake
from etl.lock import writer_lock
from etl.manifests import LostRace
from etl.naming import named, place_of
from etl.place import check_place, note_place
from etl.purge import Search
from etl.quarantine import settle
from etl.redaction import Redaction
from etl.report import Progress, Report, write_last_run
from etl.state import State, drop_states, read_state, recover_state, write_state
from sjduck import __version__
from sjduck.errors import NothingToRead, SjduckError
from sjduck.integrity import named_files
from sjduck.mounts import silent
from sjduck.settings import Settings, Source
from sjduck.snapshots import (
    IndexFile,
    Manifest,
    manifest_folder,
    newest_manifest,
    read_snapshot,
    utc_now,
)

LOCK_WAIT_S = 600.0
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What a run does besides taking in: `damaged` are paths of files to do without.

    `paced`: a file that was taken in a short while ago is left for a later run, and past
    generations hold no more than was written since.
    """

    reindex: bool = False
    paced: bool = False
    merge_all: bool = False
    drop_history: bool = False
    damaged: frozenset[str] = frozenset()


def run(
    settings: Settings,
    writer: str,
    progress: Progress,
    *,
    reindex: bool = False,
    paced: bool = False,
    needs_sources: bool = True,
    begun: Callable[[], None] | None = None,
) -> Report:
    """Take in what is new in all sources and publish it; return what was done.

    `reindex` makes the whole search index anew from the archive; `paced` is for runs that follow
    one another all day; without `needs_sources` what the archive holds is enough; `begun` is called
    when no other run of this writer is on any more, before the sources are looked at.

    Raises NothingToRead where no source can be read that is needed, ArchiveUnusable where the
    archive can't be written or is of a newer format, LockHeld where another run does not end.
    """
    started = time.perf_counter()
    away = silent([settings.archive, *(source.path for source in settings.sources)])
    here = tuple(source for source in settings.sources if source.path not in away)
    is_without = not any(os.path.isdir(source.path) for source in here)
    if is_without and (needs_sources or newest_manifest(settings.archive, writer) is None):
        raise NothingToRead(_no_source(settings, away))
    with writing(settings.archive, writer, progress) as modes:
        if begun is not None:
            begun()
        settled = replace(settings, sources=here)
        upkeep = Upkeep(reindex=reindex, paced=paced)
        report = run_locked(settled, writer, modes, progress, upkeep)
        report.warnings += [
            f"{source.kind} source {source.path} {away[source.path]}; left out of this run"
            for source in settings.sources
            if source.path in away
        ]
        if is_without and not settings.sources:
            report.warnings.append(_no_source(settings, away))
        report.seconds = round(time.perf_counter() - started, 3)
        write_last_run(settings.archive, report, modes)
    return report


@contextmanager
def writing(root: Path, writer: str, progress: Progress) -> Iterator[Modes]:
    """Hold the writer's lock of an archive that can be written; gives the modes of its files."""
    read_snapshot(root)
    check_place(root)
    modes = open_root(root)
    make_folder(manifest_folder(root, writer), root, modes)
    os.umask(0o777 & ~modes.folder)
    progress.waiting("waiting for another run of this writer")
    with writer_lock(root, writer, modes, wait_s=LOCK_WAIT_S):
        yield modes
        note_place(root)


def run_locked(
    settings: Settings, writer: str, modes: Modes, progress: Progress, upkeep: Upkeep
) -> Report:
    """Do a run under the lock; where that did not hold and another published first, start over."""
    for attempt in range(_ATTEMPTS):
        try:
            return _Run(settings, writer, modes, progress, upkeep).report()
        except LostRace:
            if attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


class _Run:
    """A run that holds the writer's lock."""

    def __init__(
        self,
        settings: Settings,
        writer: str,
        modes: Modes,
        progress: Progress,
        upkeep: Upkeep,
    ) -> None:
        self._root = settings.archive
        self._settings = settings
        self._writer = writer
        self._modes = modes
        self._progress = progress
        self._upkeep = upkeep
        self._reindex = upkeep.reindex
        self._folder = manifest_folder(self._root, writer)
        self._manifest = newest_manifest(self._root, writer)
        self._pruned = read_snapshot(self._root).pruned
        self._honoured = self._manifest.honoured if self._manifest else ""
        self._search: Search | None = None
        self._dated_vectors: set[str] = set()
        self._generation = manifests.next_generation(self._root, writer)
        self._state = self._read_state()
        known = self._manifest.sources if self._manifest else {}
        self._sources = named(settings.sources, known)
        self._published = ""
        self._token = secrets.token_hex(3)
        self._report = Report(
            writer, settings.host, str(self._root), utc_now().isoformat(timespec="seconds")
        )
        self._held = Holdings(self._root, modes, self._run_name(), self._manifest, self._state)
        self._choosing = Choosing(self._state, self._pruned, self._report, paced=upkeep.paced)
        self._redaction = Redaction(settings, self._manifest, self._held, self._report)
        self._intake = Intake(
            self._root, modes, self._held, self._pruned, self._report, rules=self._redaction.rules
        )
        self._retaken: set[tuple[str, str]] = set()

    def report(self) -> Report:
        """Do the run."""
        self._check_manifest()
        self._progress.waiting("looking at the sources")
        found = [discover(source) for source in self._sources.values() if self._is_there(source)]
        with self._marked() as was_killed:
            self._do_without_damaged(found)
            self._redaction.take_again(found)
            work = self._choosing.work(found)
            self._choosing.note_gone(found, self._held.gone)
            spent_s = _seconds(lambda: self._intake.take(work, self._scratch(), self._progress))
            self._report.retaken = len(self._retaken & self._state.files.keys())
            self._purge(was_killed=was_killed)
            self._redaction.mask_older()
            self._progress.waiting("merging segments")
            self._report.merged = self._held.merge(whole=self._upkeep.merge_all)
            spent_s += _seconds(self._index)
            self._trim()
            self._spend(spent_s)
            self._publish()
            self._clean(was_killed=was_killed)
        self._report.warnings += self._held.warnings
        self._report.archive_bytes = self._held.bytes
        return self._report

    def _do_without_damaged(self, found: list[Found]) -> None:
        """Leave damaged files out; their documents are taken in anew, or what is whole is kept."""
        there = {(claim.source, claim.path) for tree in found for claim, _ in tree.files}
        for remains in self._held.do_without(self._upkeep.damaged, there):
            self._retaken |= remains.retaken
            self._report.kept += len(remains.kept)
            self._report.lost += remains.lost()
            self._report.warnings += remains.warnings()

    def _check_manifest(self) -> None:
        newest = self._manifest.generation if self._manifest else 0
        if newest + 1 != self._generation:
            self._report.warnings.append(
                "the newest manifest is torn, and what it alone named is not shown; run "
                "'sjduck doctor --fix'"
            )

    def _is_there(self, source: Source) -> bool:
        if os.path.isdir(source.path):
            return True
        self._report.warnings.append(f"{source.kind} source {source.path} is not there")
        return False

    def _read_state(self) -> State:
        if self._manifest is None:
            return State({})
        state = read_state(self._root, self._manifest)
        if state is None:
            # Which index file holds what is lost as well.
            self._reindex = True
            return recover_state(self._root, self._manifest)
        if self._honoured != self._pruned.digest:
            # What was let back is taken in again.
            state.files = {key: taken for key, taken in state.files.items() if taken.segment}
        return state

    def _run_name(self) -> str:
        """Return a name that no other run has, also where the lock did not hold."""
        return f"{self._writer}-{self._generation:08d}-{self._token}"

    def _scratch(self) -> Path:
        return self._folder / "scratch"

    def _purge(self, *, was_killed: bool) -> None:
        """Take out what was pruned since the newest generation, by whichever writer."""
        digest = self._pruned.digest
        if digest == self._honoured and not (digest and was_killed):
            return
        self._progress.waiting("looking for what was pruned")
        generations = manifests.whole(self._root, self._writer).values()
        self._search, is_out = self._held.purge(self._pruned, generations)
        if is_out:
            self._honoured = digest
        if digest and manifests.torn(self._root, self._writer):
            self._report.warnings.append(
                "a manifest is torn, and what was pruned may stand in files that it names; run "
                "'sjduck doctor --fix'"
            )

    def _index(self) -> None:
        """Index what no index file holds, together with what small files hold."""
        before = [] if self._reindex or self._is_to_fold() else self._held.indexes.values()
        keep, documents = indexing.plan(self._root, self._state, before)
        room = indexing.MAX_FILES - len(keep)
        groups = indexing.groups(self._state, documents, room=room)
        built: dict[str, tuple[IndexFile, set[int]]] = {}
        for number, group in enumerate(groups, 1):
            self._progress.waiting(f"indexing {len(documents):,} documents")
            apart = f"-{number}" if len(groups) > 1 else ""
            path = f"index/{self._writer}/{self._run_name()}{apart}.duckdb"
            parts = indexing.parts(self._state, self._held.segments.values(), group)
            try:
                index = build_index(self._root, self._modes, path, parts, self._scratch())
            except (SjduckError, OSError, duckdb.Error, pa.ArrowException) as error:
                for made in (path, *built):
                    (self._root / made).unlink(missing_ok=True)
                reason = str(error).split("\n", 1)[0]
                self._report.warnings.append(f"not indexed, the next run tries again: {reason}")
                return
            if index is not None:
                built[path] = index, group
        self._held.indexes = {index.path: index for index in keep}
        for path, (index, group) in built.items():
            self._held.indexes[path] = index
            self._state.indexed(group, path)
            self._report.indexed += index.documents

    def _trim(self) -> None:
        """Leave no vector of what was pruned, and on a vacuum none that stands for nothing."""
        has_left = bool(self._search or self._redaction.has_masked)
        if has_left or self._upkeep.merge_all:
            generations = manifests.whole(self._root, self._writer).values()
            dated = self._held.trim_vectors(generations)
            self._dated_vectors = dated if has_left else set()

    def _is_to_fold(self) -> bool:
        """Tell whether the index is to be as few files as it can be, and is not."""
        indexes = self._held.indexes.values()
        documents = {taken.document for taken in self._state.files.values() if taken.segment}
        fewest = len(indexing.groups(self._state, documents, room=indexing.MAX_FILES))
        return self._upkeep.merge_all and (len(indexes) > fewest or any(i.dead for i in indexes))

    def _spend(self, spent_s: float) -> None:
        """Note what it took to take in each file, which then rests for a while."""
        self._state.spent(self._intake.taken, spent_s)
        if self._upkeep.paced:
            now = time.time_ns()
            for key, file in self._intake.taken.items():
                rest_s = self._state.files[key].rest_s(now)
                if rest_s > 0:
                    self._report.resting[file] = rest_s

    def _publish(self) -> None:
        before = self._manifest
        self._state.dead_bytes = {
            name: size
            for name, size in self._state.dead_bytes.items()
            if name in self._held.segments or name in self._held.indexes
        }
        manifest = Manifest(
            writer=self._writer,
            host=self._settings.host,
            generation=self._generation,
            created_at=utc_now(),
            sjduck=__version__,
            state=f"state-{self._generation:08d}-{self._token}",
            segments=tuple(sorted(self._held.segments.values(), key=lambda segment: segment.name)),
            indexes=tuple(sorted(self._held.indexes.values(), key=lambda index: index.path)),
            gone=self._held.gone,
            sources={
                **(before.sources if before else {}),
                **{name: place_of(source) for name, source in self._sources.items()},
            },
            tombstones=before.tombstones if before else {},
            honoured=self._honoured,
            vectors=tuple(sorted(self._held.vectors.values(), key=lambda file: file.path)),
        )
        if before and _content(before) == _content(manifest):
            self._report.generation = before.generation
            self._published = before.state
            if self._choosing.has_noted or self._intake.has_noted:
                write_state(self._root, self._writer, before.state, self._state, self._modes.file)
            return
        write_state(self._root, self._writer, manifest.state, self._state, self._modes.file)
        manifests.publish(self._root, manifest, self._modes)
        self._report.generation = self._generation
        self._published = manifest.state

    def _clean(self, *, was_killed: bool) -> None:
        self._report.quarantined = settle(
            self._root, self._writer, self._modes, needed=self._held.paths
        )
        unused = manifests.thin(
            self._root, self._writer, utc_now(), drop=self._is_unfit, sparing=self._upkeep.paced
        )
        unused += self._held.leftovers
        has_left = self._search or self._redaction.has_masked
        if was_killed or has_left or self._upkeep.merge_all:
            unused += manifests.orphans(self._root, self._writer)
        self._report.freed = manifests.sweep(self._root, unused)
        drop_states(self._root, self._writer, keep=self._published)

    def _is_unfit(self, manifest: Manifest) -> bool:
        """Tell of an older generation whether it goes whatever its age."""
        holds_pruned = self._search is not None and self._search.is_in(manifest)
        unfit = self._upkeep.damaged | self._dated_vectors
        is_damaged = bool(unfit & named_files([manifest]).keys())
        is_unfit = holds_pruned or is_damaged or self._redaction.is_unfit(manifest)
        return self._upkeep.drop_history or is_unfit

    @contextmanager
    def _marked(self) -> Iterator[bool]:
        """Mark the run, so that the next one knows when this one was killed."""
        mark = self._folder / "running"
        was_killed = mark.exists()
        mark.touch(mode=self._modes.file)
        shutil.rmtree(self._scratch(), ignore_errors=True)
        make_folder(self._scratch(), self._root, self._modes)
        yield was_killed
        shutil.rmtree(self._scratch(), ignore_errors=True)
        mark.unlink(missing_ok=True)


def _seconds(step: Callable[[], None]) -> float:
    """Do a step; return how much of the processor's time it took: waiting costs nobody anything."""
    started = time.process_time()
    step()
    return time.process_time() - started


def _content(manifest: Manifest) -> tuple[object, ...]:
    files = manifest.segments, manifest.indexes, manifest.vectors
    return *files, manifest.gone, manifest.honoured


def _no_source(settings: Settings, away: dict[Path, str]) -> str:
    if settings.sources:
        paths = [source.path for source in settings.sources]
        places = ", ".join(f"{path} {away[path]}" if path in away else str(path) for path in paths)
        return f"no source can be read: {places}; check that it is mounted"
    return "no sessions found on this machine; name a source with --source KIND=PATH"
