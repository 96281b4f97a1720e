"""One run: look at the sources, flatten what is new, publish the next snapshot."""

import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import duckdb
import pyarrow as pa

from etl import indexing, manifests
from etl.discover import Found, discover, top_folder
from etl.document import Claim, SourceFile
from etl.files import Modes, make_folder, open_root
from etl.flatten import Batch, Flattened, flatten_all, tasks
from etl.index import build_index
from etl.lock import writer_lock
from etl.manifests import LostRace
from etl.merge import drop_dead, merge, merges
from etl.naming import named, place_of
from etl.report import Progress, Report, write_last_run
from etl.segments import SegmentWriter
from etl.state import State, Taken, drop_states, read_state, recover_state, write_state
from sjduck import __version__
from sjduck.errors import NothingToRead, SjduckError
from sjduck.settings import Settings, Source
from sjduck.snapshots import (
    IndexFile,
    Manifest,
    Segment,
    manifest_folder,
    newest_manifest,
    read_snapshot,
    utc_now,
)

LOCK_WAIT_S = 600.0
_ATTEMPTS = 3


Work = list[tuple[Claim, SourceFile, bool]]


def run(settings: Settings, writer: str, progress: Progress, *, reindex: bool = False) -> Report:
    """Take in what is new in all sources and publish it; return what was done.

    `reindex` makes the whole search index anew from the archive.

    Raises NothingToRead where no source can be read, ArchiveUnusable where the archive can't
    be written or is of a newer format, LockHeld where another run does not end.
    """
    started = time.perf_counter()
    if not settings.sources or not any(source.path.is_dir() for source in settings.sources):
        raise NothingToRead(_no_source(settings))
    read_snapshot(settings.archive)
    modes = open_root(settings.archive)
    make_folder(manifest_folder(settings.archive, writer), settings.archive, modes)
    os.umask(0o777 & ~modes.folder)
    progress.waiting("waiting for another run of this writer")
    with writer_lock(settings.archive, writer, modes, wait_s=LOCK_WAIT_S):
        report = _report(settings, writer, modes, progress, reindex=reindex)
        report.seconds = round(time.perf_counter() - started, 3)
        write_last_run(settings.archive, report, modes)
    return report


def _report(
    settings: Settings, writer: str, modes: Modes, progress: Progress, *, reindex: bool
) -> Report:
    """Do the run; where the lock did not hold and another published first, start over."""
    for attempt in range(_ATTEMPTS):
        try:
            return _Run(settings, writer, modes, progress, reindex=reindex).report()
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
        *,
        reindex: bool,
    ) -> None:
        self._root = settings.archive
        self._settings = settings
        self._writer = writer
        self._modes = modes
        self._progress = progress
        self._reindex = reindex
        self._folder = manifest_folder(self._root, writer)
        self._manifest = newest_manifest(self._root, writer)
        self._generation = manifests.next_generation(self._root, writer)
        self._state = self._read_state()
        known = self._manifest.sources if self._manifest else {}
        self._sources = named(settings.sources, known)
        self._gone = dict(self._manifest.gone) if self._manifest else {}
        self._segments: dict[str, Segment] = {
            segment.name: segment for segment in (self._manifest.segments if self._manifest else ())
        }
        self._indexes: dict[str, IndexFile] = {
            index.path: index for index in (self._manifest.indexes if self._manifest else ())
        }
        self._published = ""
        self._touched = False
        self._token = secrets.token_hex(3)
        self._written = 0
        self._failed = 0
        self._report = Report(
            writer, settings.host, str(self._root), utc_now().isoformat(timespec="seconds")
        )

    def report(self) -> Report:
        """Do the run."""
        self._progress.waiting("looking at the sources")
        found = [discover(source) for source in self._sources.values() if self._is_there(source)]
        with self._marked() as was_killed:
            work = self._choose(found)
            self._note_gone(found)
            self._take_in(work)
            self._merge()
            self._index()
            self._publish()
            self._clean(was_killed=was_killed)
        self._report.archive_bytes = sum(s.bytes for s in self._segments.values()) + sum(
            index.bytes for index in self._indexes.values()
        )
        return self._report

    # -- what there is to do --------------------------------------------------------------

    def _is_there(self, source: Source) -> bool:
        if source.path.is_dir():
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
        return state

    def _choose(self, found: list[Found]) -> Work:
        """Return the files to take in, in the order of hosts and documents."""
        work: Work = []
        documents: dict[int, Claim] = {}
        for tree in found:
            for claim, source in tree.files:
                _check_collision(documents, claim)
                if self._is_wanted(claim, source):
                    key = claim.source, claim.path
                    work.append((claim, source, key in self._state.files))
            self._report.files += len(tree.files)
            self._report.unclaimed += tree.unclaimed
            self._report.skipped += tree.skipped
            self._report.warnings += tree.failures
        return sorted(work, key=lambda file: (file[0].host or "", file[0].document))

    def _is_wanted(self, claim: Claim, source: SourceFile) -> bool:
        taken = self._state.files.get((claim.source, claim.path))
        if taken is None or taken.document != claim.document:
            return True
        if taken.looks_unchanged(source.size, source.mtime_ns):
            return False
        if taken.size == source.size and taken.digest and _digest(claim.file) == taken.digest:
            key = claim.source, claim.path
            now = time.time_ns()
            self._state.files[key] = replace(taken, mtime_ns=source.mtime_ns, taken_ns=now)
            self._touched = True
            return False
        return True

    def _note_gone(self, found: list[Found]) -> None:
        """Date the documents whose source went, undate those whose source is back."""
        now = utc_now().isoformat(timespec="seconds")
        seen = {(claim.source, claim.path) for tree in found for claim, _ in tree.files}
        complete = set().union(*(tree.complete_folders() for tree in found))
        for key, taken in self._state.files.items():
            if key in seen:
                self._report.returned += self._gone.pop(taken.document, None) is not None
            elif (taken.source, top_folder(taken.path)) in complete and (
                taken.document not in self._gone
            ):
                self._gone[taken.document] = now
                self._report.gone += 1

    # -- taking in ------------------------------------------------------------------------

    def _take_in(self, work: Work) -> None:
        size = sum(source.size for _, source, _ in work)
        self._progress.begin(len(work), size)
        writers: dict[int, SegmentWriter] = {}
        host: str | None = None
        batches = flatten_all(list(tasks(work)), self._scratch(), workers=os.cpu_count() or 1)
        for batch in batches:
            if batch.files and batch.files[0].claim.host != host:
                self._close(writers)
                host = batch.files[0].claim.host
            self._write(batch, host, writers)
            for file in batch.files:
                self._note(file, writers)
            self._progress.advance(len(batch.files), sum(f.source.size for f in batch.files))
        self._close(writers)
        taken = self._report.new + self._report.changed
        self._report.unchanged = self._report.files - taken
        self._report.vanished = len(work) - taken - self._failed

    def _write(self, batch: Batch, host: str | None, writers: dict[int, SegmentWriter]) -> None:
        for part in batch.parts:
            if part.year not in writers:
                name = self._segment_name()
                writers[part.year] = SegmentWriter(self._root, self._modes, name, host, part.year)
            for rows in _batches(part.stream):
                writers[part.year].add(part.table, rows)
            if isinstance(part.stream, str):
                os.unlink(part.stream)

    def _note(self, file: Flattened, writers: dict[int, SegmentWriter]) -> None:
        """Remember a file that was taken in, and bury its older copy."""
        key = file.claim.source, file.claim.path
        self._report.rejected += file.rejected
        self._report.unknown += file.unknown
        if file.failure:
            self._report.warnings.append(f"{file.claim.file}: {file.failure}")
        if file.year is None:
            self._failed += 1
            self._state.files[key] = replace(self._state.files[key], size=-1)
            self._touched = True
            return
        before = self._state.files.get(key)
        if before is None:
            self._report.new += 1
        else:
            self._report.changed += 1
            self._bury(before)
        self._report.bytes += max(file.source.size, 0)
        self._state.files[key] = Taken(
            source=file.claim.source,
            path=file.claim.path,
            document=file.document,
            segment=writers[file.year].name,
            index="",
            size=file.source.size,
            mtime_ns=file.source.mtime_ns,
            digest=file.digest,
            taken_ns=file.taken_ns,
            cost_s=round(file.cost_s, 4),
        )

    def _bury(self, before: Taken) -> None:
        segment = self._segments.get(before.segment)
        if segment is not None:
            dead = segment.dead | {before.document}
            self._segments[segment.name] = replace(segment, dead=dead)
        index = self._indexes.get(before.index)
        if index is not None:
            dead = index.dead | {before.document}
            self._indexes[index.path] = replace(index, dead=dead)

    def _close(self, writers: dict[int, SegmentWriter]) -> None:
        for writer in writers.values():
            segment = writer.close()
            self._segments[segment.name] = segment
        writers.clear()

    def _segment_name(self) -> str:
        self._written += 1
        return f"{self._run_name()}-{self._written}"

    def _run_name(self) -> str:
        """Return a name that no other run has, also where the lock did not hold."""
        return f"{self._writer}-{self._generation:08d}-{self._token}"

    def _scratch(self) -> Path:
        return self._folder / "scratch"

    # -- publishing -----------------------------------------------------------------------

    def _merge(self) -> None:
        live = drop_dead(list(self._segments.values()))
        self._segments = {segment.name: segment for segment in live}
        for chosen in merges(live):
            self._progress.waiting("merging segments")
            merged = merge(self._root, self._modes, self._segment_name(), chosen)
            for segment in chosen:
                del self._segments[segment.name]
            self._segments[merged.name] = merged
            self._state.moved({segment.name: merged.name for segment in chosen})
            self._report.merged += len(chosen)

    def _index(self) -> None:
        """Index what no index file holds, together with what small files hold."""
        before = [] if self._reindex else self._indexes.values()
        keep, documents = indexing.plan(self._root, self._state, before)
        parts = indexing.parts(self._state, self._segments.values(), documents)
        path = f"index/{self._writer}/{self._run_name()}.duckdb"
        built = None
        if parts:
            self._progress.waiting(f"indexing {len(documents):,} documents")
            try:
                built = build_index(self._root, self._modes, path, parts, self._scratch())
            except (SjduckError, OSError, duckdb.Error) as error:
                (self._root / path).unlink(missing_ok=True)
                reason = str(error).split("\n", 1)[0]
                self._report.warnings.append(f"not indexed, the next run tries again: {reason}")
                return
        self._indexes = {index.path: index for index in keep}
        if built is not None:
            self._indexes[path] = built
            self._state.indexed(documents, path)
            self._report.indexed = built.documents

    def _publish(self) -> None:
        before = self._manifest
        manifest = Manifest(
            writer=self._writer,
            host=self._settings.host,
            generation=self._generation,
            created_at=utc_now(),
            sjduck=__version__,
            state=f"state-{self._generation:08d}-{self._token}",
            segments=tuple(sorted(self._segments.values(), key=lambda segment: segment.name)),
            indexes=tuple(sorted(self._indexes.values(), key=lambda index: index.path)),
            gone=self._gone,
            sources={
                **(before.sources if before else {}),
                **{name: place_of(source) for name, source in self._sources.items()},
            },
        )
        if before and _content(before) == _content(manifest):
            self._report.generation = before.generation
            self._published = before.state
            if self._touched:
                write_state(self._root, self._writer, before.state, self._state, self._modes.file)
            return
        write_state(self._root, self._writer, manifest.state, self._state, self._modes.file)
        manifests.publish(self._root, manifest, self._modes)
        self._report.generation = self._generation
        self._published = manifest.state

    def _clean(self, *, was_killed: bool) -> None:
        unused = manifests.thin(self._root, self._writer, utc_now())
        if was_killed:
            unused += manifests.orphans(self._root, self._writer)
        manifests.sweep(self._root, unused)
        drop_states(self._root, self._writer, keep=self._published)

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


def _content(manifest: Manifest) -> tuple[object, ...]:
    return manifest.segments, manifest.indexes, manifest.gone


def _batches(stream: bytes | str) -> Iterator[pa.RecordBatch]:
    if isinstance(stream, bytes):
        yield from pa.ipc.open_stream(stream)
    else:
        with pa.memory_map(stream) as file:
            yield from pa.ipc.open_stream(file)


def _check_collision(documents: dict[int, Claim], claim: Claim) -> None:
    other = documents.setdefault(claim.document, claim)
    if other is not claim:
        raise SjduckError(
            f"{other.file} and {claim.file} have the same document number; rename one of them"
        )


def _digest(path: str) -> str:
    digest = sha256()
    try:
        with open(path, "rb") as file:
            while chunk := file.read(1024 * 1024):
                digest.update(chunk)
    except OSError:
        return ""
    return digest.hexdigest()


def _no_source(settings: Settings) -> str:
    if settings.sources:
        places = ", ".join(str(source.path) for source in settings.sources)
        return f"no source can be read: {places}; check that it is mounted"
    return "no sessions found on this machine; name a source with --source KIND=PATH"
