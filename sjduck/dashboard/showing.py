"""Which archive the app shows: it runs inside the process that serves it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import sjduck
from sjduck.dashboard.figures import Filters

if TYPE_CHECKING:
    from sjduck.archive import Archive


@dataclass(frozen=True, slots=True)
class Shown:
    """An open archive, and what everything shown of it is narrowed to."""

    archive: Archive
    filters: Filters


_given: list[Shown] = []


def show(shown: Shown) -> None:
    """Let the app show this from now on."""
    _given[:] = [shown]


def shown() -> Shown:
    """Return what is to be shown: as given, else the configured archive, whole."""
    return _given[0] if _given else Shown(sjduck.open(), Filters())
