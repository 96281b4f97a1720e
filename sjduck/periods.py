"""Periods and local time: what `since`, `until` and `tz` mean in a question."""

import re
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from sjduck.errors import UsageError

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_SPAN = re.compile(r"(\d+)([dhw])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


class Period(NamedTuple):
    """A range of instants (UTC, without zone), from `since_at` on and before `until_at`."""

    since_at: datetime | None
    until_at: datetime | None


def period(since: str | None, until: str | None, tz: str) -> Period:
    """Return the range of instants that two inclusive local days or ISO instants enclose."""
    return Period(
        _edge("since", since, tz, whole_day=timedelta(0), whole_instant=timedelta(0)),
        _edge(
            "until", until, tz, whole_day=timedelta(days=1), whole_instant=timedelta(microseconds=1)
        ),
    )


def local(moment: datetime | None, tz: str) -> datetime | None:
    """Return a UTC instant without zone as the local time of `tz`."""
    if moment is None:
        return None
    return moment.replace(tzinfo=UTC).astimezone(ZoneInfo(tz)).replace(tzinfo=None)


def as_of_moment(text: str, tz: str) -> datetime:
    """Return the instant that `--as-of` names: an ISO instant, the end of a day, or `2h` ago."""
    if span := _SPAN.fullmatch(text):
        return datetime.now(UTC) - int(span[1]) * _UNITS[span[2]]
    edge = _edge(
        "as-of", text, tz, whole_day=timedelta(days=1), whole_instant=timedelta(microseconds=1)
    )
    assert edge is not None
    return edge.replace(tzinfo=UTC)


def _edge(
    name: str, text: str | None, tz: str, *, whole_day: timedelta, whole_instant: timedelta
) -> datetime | None:
    if not text:
        return None
    try:
        if _DAY.fullmatch(text):
            day = date.fromisoformat(text) + whole_day
            moment = datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(tz))
        else:
            moment = datetime.fromisoformat(text)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(tz))
            moment += whole_instant
        return moment.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError) as error:
        message = f"can't read {name}={text!r}; write a day such as 2026-03-31 or an ISO instant"
        raise UsageError(message) from error
