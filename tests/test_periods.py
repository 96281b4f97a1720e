"""Periods: local days and instants of any zone, and what --as-of names."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sjduck.errors import UsageError
from sjduck.periods import as_of_moment, local, period


def at(text: str) -> datetime:
    """Return an instant without zone."""
    return datetime.fromisoformat(text)


def test_a_day_is_the_local_day_of_the_zone() -> None:
    assert period("2026-03-31", "2026-03-31", "Asia/Tokyo") == (
        at("2026-03-30T15:00"),
        at("2026-03-31T15:00"),
    )


@pytest.mark.parametrize(
    ("day", "zone", "hours"),
    [
        ("2026-03-29", "Europe/Berlin", 23),
        ("2026-10-25", "Europe/Berlin", 25),
        ("2018-11-04", "America/Sao_Paulo", 23),  # its midnight does not exist
        ("2026-06-15", "Asia/Kathmandu", 24),
    ],
)
def test_a_day_is_as_long_as_its_clocks_make_it(day: str, zone: str, hours: int) -> None:
    since_at, until_at = period(day, day, zone)

    assert since_at is not None
    assert until_at is not None
    assert until_at - since_at == timedelta(hours=hours)


@pytest.mark.parametrize("day", ["2026-03-31", "20260331", "2026-W14-2"])
def test_a_day_may_be_written_in_any_iso_form(day: str) -> None:
    assert period(day, day, "UTC") == (at("2026-03-31"), at("2026-04-01"))


def test_an_instant_is_of_the_zone_unless_it_says_its_own() -> None:
    assert period("2026-03-31T08:00", None, "Asia/Tokyo").since_at == at("2026-03-30T23:00")
    assert period("2026-03-31T08:00Z", None, "Asia/Tokyo").since_at == at("2026-03-31T08:00")
    assert period("2026-03-31 08:00+05:30", None, "UTC").since_at == at("2026-03-31T02:30")


def test_an_instant_is_inclusive_at_both_ends() -> None:
    since_at, until_at = period("2026-03-31T08:00", "2026-03-31T08:00", "UTC")

    assert since_at == at("2026-03-31T08:00")
    assert until_at == at("2026-03-31T08:00:00.000001")


def test_no_edge_is_no_bound() -> None:
    assert period(None, "", "UTC") == (None, None)


@pytest.mark.parametrize(
    "text",
    ["yesterday", "2026-13-01", "2026-02-30", "31.03.2026", "0001-01-01", "9999-12-31", "7d", "\0"],
)
def test_what_is_no_moment_is_named_with_its_argument(text: str) -> None:
    with pytest.raises(UsageError, match=r"can't read (since|until)="):
        period(text, text, "Asia/Tokyo")


@given(
    moment=st.datetimes(min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 29)),
    zone=st.sampled_from(["UTC", "Asia/Tokyo", "America/New_York", "Europe/Berlin"]),
)
def test_every_moment_lies_in_its_own_local_day(moment: datetime, zone: str) -> None:
    there = local(moment, zone)
    assert there is not None

    since_at, until_at = period(f"{there:%Y-%m-%d}".zfill(10), f"{there.date()}", zone)

    assert since_at is not None
    assert until_at is not None
    assert since_at <= moment < until_at


@pytest.mark.parametrize("moment", [datetime.min, datetime.max])
def test_a_moment_at_the_calendars_edge_stays_as_it_is(moment: datetime) -> None:
    assert moment in (local(moment, "America/New_York"), local(moment, "Asia/Tokyo"))
    assert local(None, "UTC") is None


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("2026-03-31", "2026-03-31T21:59:59.999999"),
        ("2026-03-31 10:00", "2026-03-31T08:00:59.999999"),
        ("2026-03-31T10:00:07", "2026-03-31T08:00:07.999999"),
        ("2026-03-31T10:00:07.5", "2026-03-31T08:00:07.500000"),
        ("2026-03-31T10:00Z", "2026-03-31T10:00:59.999999"),
        ("2026-03-31T10:00:07+00:00", "2026-03-31T10:00:07.999999"),
    ],
)
def test_as_of_is_the_end_of_what_it_names(text: str, last: str) -> None:
    assert as_of_moment(text, "Europe/Berlin") == at(last).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "ago"),
    [
        ("90m", timedelta(minutes=90)),
        ("2h", timedelta(hours=2)),
        ("3d", timedelta(days=3)),
        ("1w", timedelta(weeks=1)),
    ],
)
def test_as_of_may_be_some_time_ago(text: str, ago: timedelta) -> None:
    before = datetime.now(UTC)

    moment = as_of_moment(text, "UTC")

    assert before <= moment + ago <= datetime.now(UTC)


@pytest.mark.parametrize("text", ["", "soon", "2x", "999999w", "9" * 40 + "d"])
def test_what_is_no_as_of_is_named(text: str) -> None:
    with pytest.raises(UsageError, match="can't read as-of="):
        as_of_moment(text, "UTC")
