"""What a run does about secrets: masks them, goes on masking, or takes their documents in again.

Whether it masks is what the configuration says. Where that says nothing, an archive that is
masked stays so: a timer that lacks an environment variable must not store what was masked.
"""

from dataclasses import replace

from etl.discover import Found
from etl.holdings import Holdings
from etl.masking import Masking
from etl.report import Report
from sjduck.settings import AS_IT_IS, REDACT, Settings
from sjduck.snapshots import Manifest


class Redaction:
    """Sees to the secrets in what a writer holds; `masking` is None where they are left as is."""

    def __init__(
        self, settings: Settings, manifest: Manifest | None, held: Holdings, report: Report
    ) -> None:
        segments = manifest.segments if manifest else ()
        is_masked = any(segment.masked_by for segment in segments)
        is_on = settings.redact == REDACT or (settings.redact is None and is_masked)
        self.masking = Masking() if is_on else None
        self.has_masked = False
        self._archive = settings.archive
        self._is_off = settings.redact == AS_IT_IS
        self._held = held
        self._report = report

    @property
    def rules(self) -> str:
        """The rules that mask what is taken in, empty where none do."""
        return self.masking.rules if self.masking else ""

    def take_again(self, found: list[Found]) -> None:
        """Where masking was turned off, let what is masked be taken in again from its sources."""
        if not self._is_off:
            return
        segments = self._held.segments.values()
        masked = {document for segment in segments for document in segment.live_masked}
        there = {(claim.source, claim.path) for tree in found for claim, _ in tree.files}
        files = self._held.state.files
        for key in there & files.keys():
            if files[key].document in masked:
                files[key] = replace(files[key], size=-1)
        for segment in list(segments):
            self._held.add(replace(segment, masked_by=""))

    def mask_older(self) -> None:
        """Mask what was stored before, and leave out the index files that may know it."""
        if self.masking is not None:
            self.has_masked = self._held.mask(self.masking)
            self._report.masked += self.masking.kinds
            if self.has_masked and (self._archive / "quarantine").is_dir():
                self._report.warnings.append(
                    "damaged files lie aside in quarantine, where secrets may stand unmasked; "
                    "delete them once you miss nothing"
                )
        live = [segment.live_masked for segment in self._held.segments.values()]
        self._report.masked_documents = sum(map(len, live))

    def is_unfit(self, manifest: Manifest) -> bool:
        """Tell of an older generation whether a secret may stand in what it names."""
        if self.masking is None:
            return False
        clean = {s.name for s in self._held.segments.values() if s.masked_by == self.rules}
        older = [s for s in manifest.segments if s.masked_by != self.rules]
        if any(segment.name not in clean for segment in older):
            return True
        # Index and vectors that are no more may hold what its segments hold no more.
        derived = {i.path for i in manifest.indexes} | {v.path for v in manifest.vectors}
        return bool(older) and not derived <= self._held.indexes.keys() | self._held.vectors.keys()
