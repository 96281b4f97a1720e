"""What a run tells while it is on, and what it leaves word of."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import orjson

from etl.files import Modes, write_whole
from sjduck.snapshots import manifest_folder


class Progress(Protocol):
    """Is told how far a run is."""

    def waiting(self, message: str) -> None:
        """Say what the run is doing, where it can't be counted."""

    def begin(self, files: int, size: int) -> None:
        """Say how much there is to take in."""

    def advance(self, files: int, size: int) -> None:
        """Say that a part of it is done."""


@dataclass(slots=True)
class Report:
    """What a run did."""

    writer: str
    host: str
    archive: str
    started_at: str
    generation: int = 0
    files: int = 0
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    gone: int = 0
    returned: int = 0
    vanished: int = 0
    pruned: int = 0
    postponed: int = 0
    bytes: int = 0
    archive_bytes: int = 0
    seconds: float = 0.0
    rejected: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    unclaimed: int = 0
    merged: int = 0
    indexed: int = 0
    freed: int = 0
    retaken: int = 0
    kept: int = 0
    masked: Counter[str] = field(default_factory=Counter)
    masked_documents: int = 0
    lost: list[dict[str, Any]] = field(default_factory=list)
    quarantined: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    # What was embedded after all else, where it was asked for.
    embedded: dict[str, Any] | None = None
    # For a watcher alone: in how many seconds to take in what was left for then, and how long it
    # is too early for which file.
    rest_s: float | None = None
    resting: dict[str, float] = field(default_factory=dict)

    @property
    def has_taken(self) -> bool:
        """Whether anything is other than before."""
        return bool(self.new or self.changed or self.gone or self.returned)

    def dumps(self) -> str:
        """Return the report as JSON."""
        body: dict[str, Any] = {name: getattr(self, name) for name in Report.__slots__}
        for name in ("rejected", "unknown", "skipped", "masked"):
            body[name] = dict(sorted(body[name].items()))
        del body["rest_s"], body["resting"]
        return orjson.dumps(body).decode()

    def postpone(self, file: str, rest_s: float) -> None:
        """Count a file that has changed and is left for a run in `rest_s` seconds."""
        self.postponed += 1
        self.resting[file] = rest_s
        self.rest_s = rest_s if self.rest_s is None else min(self.rest_s, rest_s)


def write_last_run(root: Path, report: Report, modes: Modes) -> None:
    """Leave word of the run for `status`, also where nothing was published."""
    path = manifest_folder(root, report.writer) / "last-run"
    write_whole(path, report.dumps().encode(), modes.file)
