"""What there is to do: which of the files that are there are new or changed, and what is gone."""

import time
from dataclasses import replace

from etl.discover import Found, top_folder
from etl.document import Claim, SourceFile
from etl.files import digest_of
from etl.purge import is_away
from etl.report import Report
from etl.state import State, Taken
from sjduck.errors import SjduckError
from sjduck.pruned import Pruned
from sjduck.snapshots import utc_now

# A file, what is known of it before it is opened, and whether it was taken in before.
Work = list[tuple[Claim, SourceFile, bool]]


class Choosing:
    """Compares what the sources hold with what was taken in; counts in the report.

    `paced`: what was taken in a short while ago rests. `has_noted`: the state says more now.
    """

    def __init__(self, state: State, pruned: Pruned, report: Report, *, paced: bool) -> None:
        self._state = state
        self._pruned = pruned
        self._report = report
        self._paced = paced
        self.has_noted = False

    def work(self, found: list[Found]) -> Work:
        """Return the files to take in, in the order of hosts and documents."""
        work: Work = []
        documents: dict[int, Claim] = {}
        for tree in found:
            for claim, source in tree.files:
                _check_collision(documents, claim)
                if self._pruned and is_away(claim, self._pruned):
                    self._report.pruned += 1
                elif self._is_wanted(claim, source):
                    key = claim.source, claim.path
                    work.append((claim, source, key in self._state.files))
                elif not self._state.files[claim.source, claim.path].segment:
                    self._report.pruned += 1
            self._report.files += len(tree.files)
            self._report.unclaimed += tree.unclaimed
            self._report.skipped += tree.skipped
            self._report.warnings += tree.failures
        return sorted(work, key=lambda file: (file[0].host or "", file[0].document))

    def note_gone(self, found: list[Found], gone: dict[int, str]) -> None:
        """Date the documents whose source went, undate those whose source is back."""
        now = utc_now().isoformat(timespec="seconds")
        seen = {(claim.source, claim.path) for tree in found for claim, _ in tree.files}
        complete = set().union(*(tree.complete_folders() for tree in found))
        for key, taken in self._state.files.items():
            if key in seen:
                self._report.returned += gone.pop(taken.document, None) is not None
            elif (
                (taken.source, top_folder(taken.path)) in complete
                and taken.segment
                and taken.document not in gone
            ):
                gone[taken.document] = now
                self._report.gone += 1

    def _is_wanted(self, claim: Claim, source: SourceFile) -> bool:
        taken = self._state.files.get((claim.source, claim.path))
        if taken is None or taken.document != claim.document:
            return True
        if taken.looks_unchanged(source.size, source.mtime_ns):
            return False
        if taken.size == source.size and taken.digest and digest_of(claim.file) == taken.digest:
            key = claim.source, claim.path
            now = time.time_ns()
            self._state.files[key] = replace(taken, mtime_ns=source.mtime_ns, taken_ns=now)
            self.has_noted = True
            return False
        return not (self._paced and self._rests(claim.file, taken))

    def _rests(self, file: str, taken: Taken) -> bool:
        """Tell whether a file that has changed was taken in too short a while ago."""
        rest_s = taken.rest_s(time.time_ns())
        if rest_s > 0:
            self._report.postpone(file, rest_s)
        return rest_s > 0


def _check_collision(documents: dict[int, Claim], claim: Claim) -> None:
    other = documents.setdefault(claim.document, claim)
    if other is not claim:
        raise SjduckError(
            f"{other.file} and {claim.file} have the same document number; rename one of them"
        )
