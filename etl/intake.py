"""Take files in: their rows into new segments, what is known of them into the state."""

import os
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

from etl.choosing import Work
from etl.files import Modes
from etl.flatten import Batch, Flattened, flatten_all, tasks
from etl.holdings import Holdings
from etl.purge import Sieve
from etl.report import Progress, Report
from etl.segments import SegmentWriter
from etl.state import Taken
from sjduck.pruned import Pruned


class Intake:
    """Flattens files and writes their rows; holds back those of what was pruned.

    `rules` are those that secrets are masked by, empty where they are not; `taken`: the source and
    path of each file that was taken in → the file; `has_noted`: the state says more now of files of
    which nothing was written.
    """

    def __init__(
        self,
        root: Path,
        modes: Modes,
        held: Holdings,
        pruned: Pruned,
        report: Report,
        *,
        rules: str,
    ) -> None:
        self._root = root
        self._modes = modes
        self._held = held
        self._state = held.state
        self._pruned = pruned
        self._report = report
        self._rules = rules
        self._writers: dict[int, SegmentWriter] = {}
        self._masked: dict[int, dict[int, int]] = defaultdict(dict)
        self._not_taken = 0
        self.taken: dict[tuple[str, str], str] = {}
        self.has_noted = False

    def take(self, work: Work, scratch: Path, progress: Progress) -> None:
        """Take in all of `work`, which is in the order of hosts and documents."""
        progress.begin(len(work), sum(source.size for _, source, _ in work))
        host: str | None = None
        workers, is_masking = os.cpu_count() or 1, bool(self._rules)
        for batch in flatten_all(
            list(tasks(work)), scratch, workers=workers, is_masking=is_masking
        ):
            if batch.files and batch.files[0].claim.host != host:
                self._close()
                host = batch.files[0].claim.host
            away = self._write(batch, host)
            self._report.masked += batch.kinds
            for file in batch.files:
                self._note(file, is_away=file.document in away)
                if (
                    file.year is not None
                    and (places := batch.masked.get(file.document)) is not None
                ):
                    self._masked[file.year][file.document] = places
            progress.advance(len(batch.files), sum(f.source.size for f in batch.files))
        self._close()
        taken = self._report.new + self._report.changed
        left = self._report.pruned + self._report.postponed
        self._report.unchanged = self._report.files - taken - left
        self._report.vanished = len(work) - taken - self._not_taken

    def _write(self, batch: Batch, host: str | None) -> frozenset[int]:
        """Write the rows of a batch; return the documents of it that were pruned, and are not."""
        sieve = self._sieve(batch)
        for part in batch.parts:
            for rows in part.batches():
                rows = sieve.passing(part.table, rows) if sieve else rows
                if rows.num_rows:
                    self._writer(host, part.year).add(part.table, rows)
            part.drop()
        return sieve.documents if sieve else frozenset()

    def _writer(self, host: str | None, year: int) -> SegmentWriter:
        if year not in self._writers:
            name = self._held.segment_name()
            self._writers[year] = SegmentWriter(self._root, self._modes, name, host, year)
        return self._writers[year]

    def _sieve(self, batch: Batch) -> Sieve | None:
        """Return what holds back the rows of what was pruned, which the file itself may tell."""
        if not self._pruned:
            return None
        parts = (part for part in batch.parts if part.table == "documents")
        rows = (row for part in parts for rows in part.batches() for row in rows.to_pylist())
        return Sieve.of(self._pruned, rows)

    def _note(self, file: Flattened, *, is_away: bool) -> None:
        """Remember a file that was taken in, or stays away, and bury its older copy."""
        key = file.claim.source, file.claim.path
        self._report.rejected += file.rejected
        self._report.unknown += file.unknown
        if file.failure:
            self._report.warnings.append(f"{file.claim.file}: {file.failure}")
        if file.year is None:
            self._not_taken += 1
            self._state.files[key] = replace(self._state.files[key], size=-1)
            self.has_noted = True
            return
        self.taken[key] = file.claim.file
        before = self._state.files.get(key)
        if before is not None:
            self._held.bury(before)
        if is_away:
            self._not_taken += 1
            self._report.pruned += 1
            self.has_noted = True
        else:
            self._report.new += before is None
            self._report.changed += before is not None
            self._report.bytes += max(file.source.size, 0)
        self._state.files[key] = Taken(
            source=file.claim.source,
            path=file.claim.path,
            document=file.document,
            segment="" if is_away else self._writers[file.year].name,
            index="",
            size=file.source.size,
            mtime_ns=file.source.mtime_ns,
            digest=file.digest,
            taken_ns=file.taken_ns,
            cost_s=round(file.cost_s, 4),
        )

    def _close(self) -> None:
        for year, writer in self._writers.items():
            self._held.add(
                replace(writer.close(), masked_by=self._rules, masked=self._masked[year])
            )
        self._writers.clear()
        self._masked.clear()
