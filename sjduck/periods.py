"""Periods and local time: what `since`, `until` and `tz` mean in a question."""

import re
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from sjduck.errors import UsageError

_SPAN = re.compile(r"(\d{1,6})([mhdw])")
_UNITS = {
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
_MICROSECOND = timedelta(microseconds=1)
_WRITTEN = "write a day such as 2026-03-31 or an ISO instant"


class Period(NamedTuple):
    """A range of instants (UTC, without zone), from `since_at` on and before `until_at`."""

    since_at: datetime | None
    until_at: datetime | None


def period(since: str | None, until: str | None, tz: str) -> Period:
    """Return the range of instants that two inclusive local days or ISO instants enclose.

    Raises UsageError for what is neither.
    """
    return Period(_first("since", since, tz), _after("until", until, tz))


def local(moment: datetime | None, tz: str) -> datetime | None:
    """Return a UTC instant without zone as the local time of `tz`."""
    if moment is None:
        return None
    with suppress(OverflowError):  # the first and last day of the calendar stay as they are
        moment = moment.replace(tzinfo=UTC).astimezone(ZoneInfo(tz)).replace(tzinfo=None)
    return moment


def as_of_moment(text: str, tz: str) -> datetime:
    """Return the last instant that `--as-of` names: `2h` ago, or the end of a day or instant.

    An instant written to the minute is that whole minute: listings show no seconds.
    """
    try:
        if span := _SPAN.fullmatch(text):
            return datetime.now(UTC) - int(span[1]) * _UNITS[span[2]]
        return _instant(text, tz, add=_length(text)).astimezone(UTC) - _MICROSECOND
    except (ValueError, OverflowError) as error:
        raise UsageError(f"can't read as-of={text!r}; {_WRITTEN}, or 2h for 2 hours ago") from error


def _length(text: str) -> timedelta:
    """Return how long the day, minute, second or instant is that a text names."""
    if _day(text):
        return timedelta(days=1)
    clock = re.sub(r"(?:Z|[+-]\d{2}:?\d{2})$", "", text[10:])
    if "." in clock or "," in clock:
        return _MICROSECOND
    return timedelta(seconds=1) if clock.count(":") == 2 else timedelta(minutes=1)


def _first(name: str, text: str | None, tz: str) -> datetime | None:
    return _edge(name, text, tz, add=timedelta(0))


def _after(name: str, text: str | None, tz: str) -> datetime | None:
    is_day = text is not None and _day(text) is not None
    return _edge(name, text, tz, add=timedelta(days=1) if is_day else _MICROSECOND)


def _edge(name: str, text: str | None, tz: str, *, add: timedelta) -> datetime | None:
    if not text:
        return None
    try:
        return _instant(text, tz, add=add).astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"can't read {name}={text!r}; {_WRITTEN}") from error


def _instant(text: str, tz: str, *, add: timedelta) -> datetime:
    """Return the instant that a text names, moved by `add`: days on the calendar of `tz`."""
    if day := _day(text):
        day += add
        return datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(tz))
    moment = datetime.fromisoformat(text)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(tz))
    return moment.astimezone(UTC) + add


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
