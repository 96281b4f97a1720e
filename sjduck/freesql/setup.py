"""What a process that runs statements is given, and what it may take."""

from __future__ import annotations

from dataclasses import dataclass

from sjduck.settings import Prices, Semantic
from sjduck.snapshots import Snapshot

SECONDS = 30.0
MEMORY_MB = 1_024


@dataclass(frozen=True, slots=True)
class Limits:
    """What one statement may take: seconds (0: any), and memory beside the archive's tables."""

    seconds: float = SECONDS
    memory_mb: int = MEMORY_MB


@dataclass(frozen=True, slots=True)
class Setup:
    """A snapshot to open, and the costly views and macros to make there at once."""

    snapshot: Snapshot
    timezone: str
    prices: Prices
    semantic: Semantic
    redact: str | None
    limits: Limits
    needs: frozenset[str] = frozenset()
