"""The periods that the dashboard offers, counted back from today."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from sjduck.periods import local
from sjduck.snapshots import utc_now

if TYPE_CHECKING:
    from datetime import datetime

ALL = "all time"
CHOSEN = "from … to …"
_DAYS = {"7 days": 7, "30 days": 30, "90 days": 90, "12 months": 365}
SPANS = (*_DAYS, ALL, CHOSEN)
_USUAL = "90 days"


def since_of(span: str, tz: str) -> str | None:
    """Return the first local day of a span that ends today; None where it has no beginning."""
    if span not in _DAYS:
        return None
    today = local(utc_now().replace(tzinfo=None), tz)
    assert today is not None
    return f"{today - timedelta(days=_DAYS[span] - 1):%Y-%m-%d}"


def usual(newest: datetime | None, tz: str) -> str:
    """Return the span to begin with: a short one where there are calls in it."""
    since = since_of(_USUAL, tz)
    return _USUAL if newest and since and f"{newest:%Y-%m-%d}" >= since else ALL
