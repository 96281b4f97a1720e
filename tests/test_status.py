"""Status: what is here, from where, as of when, and what is lacking."""

import os
from datetime import datetime
from pathlib import Path

import pytest

from sjduck.archive import Archive
from sjduck.bounds import compact
from sjduck.errors import UsageError
from sjduck.settings import Source
from sjduck.sqlfiles import functions, published
from sjduck.status import DETAILS, MAX_LISTED, snapshots, status
from tests.conftest import SAMPLES, Fill
from tests.storage import Storage, log_row
from tests.test_listing import SAMPLE_SOURCES
from tests.trees import session_id


@pytest.fixture
def samples(archive: Archive, fill: Fill) -> Archive:
    """Return the archive, filled from the bundled samples."""
    fill(*SAMPLE_SOURCES)
    return archive


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    """Return an empty storage tree."""
    return Storage(tmp_path)


def test_the_summary_counts_what_is_here(samples: Archive, root: Path) -> None:
    answer = status(samples, sources=())

    assert answer["archive"] == str(root)
    assert answer["documents"] == {
        "log": 4, "memory": 10, "note": 2, "plan": 4, "subagent": 2, "transcript": 10,
    }  # fmt: skip
    assert (answer["source_gone"], answer["lacking"], answer["rejects"]) == (0, 5, {})
    files = [*root.rglob("*.parquet"), *root.rglob("*.duckdb")]
    assert answer["bytes"] == sum(file.stat().st_size for file in files)
    assert "left_out" not in answer


def test_the_summary_tells_an_index_file_that_is_missing_or_damaged(
    storage: Storage, archive: Archive, root: Path, fill: Fill
) -> None:
    for number in range(2):
        storage.session("atlas", session_id(number), ["one"])
        fill(*storage.sources, writer=f"w{number}")
    before = status(archive, sources=())["index"]
    first, second = sorted((root / "index").rglob("*.duckdb"))
    first.unlink()
    second.write_bytes(b"")

    after = status(archive, sources=())["index"]

    assert (before["files"], before["damaged"]) == (2, 0)
    assert before["bytes"] > 0
    assert (after["files"], after["damaged"]) == (2, 2)


def test_the_summary_says_who_filled_it_from_where_and_when(samples: Archive) -> None:
    (writer,) = status(samples, sources=())["writers"]

    assert (writer["writer"], writer["host"], writer["generation"]) == ("tester", "testhost", 1)
    assert writer["filled_from"] == [
        f"claude {SAMPLES}/claude",
        f"scrubjay {SAMPLES}/scrubjay/storage",
        f"scrubjay-logs {SAMPLES}/scrubjay/data",
    ]
    assert datetime.fromisoformat(writer["last_run"]) > datetime(2020, 1, 1)
    assert datetime.fromisoformat(writer["published"]) > datetime(2020, 1, 1)


def test_the_summary_tells_sources_that_are_not_there_or_not_taken_in(
    tmp_path: Path, samples: Archive
) -> None:
    (tmp_path / "new").mkdir()
    places = [SAMPLES / "claude", tmp_path / "new", tmp_path / "unmounted"]
    sources = tuple(Source("claude", path, "testhost") for path in places)

    answer = status(samples, sources=sources)

    assert [(s["is_reachable"], s["is_taken_in"]) for s in answer["sources"]] == [
        (True, True),
        (True, False),
        (False, False),
    ]


def test_what_is_gone_and_what_was_rejected_is_counted(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    storage.session("atlas", session_id(1), ["one"])
    gone = storage.session("atlas", session_id(2), ["two"])
    storage.log("atlas", "not a row", "nor this", log_row(session_id(1), "A"))
    fill(*storage.sources)
    os.unlink(gone)
    fill(*storage.sources)

    answer = status(archive, sources=())

    assert answer["source_gone"] == 1
    assert answer["rejects"] == {"not a catalogue row": 2}


def test_coverage_lists_what_a_catalogue_knows_and_the_archive_lacks(samples: Archive) -> None:
    answer = status(samples, sources=(), detail="coverage")

    assert (answer["total"], answer["shown"]) == (5, 5)
    assert [(row["date"], row["host"], row["sid"]) for row in answer["rows"]] == [
        ("2026-05-11", "wren", "2d60a8f3"),
        ("2026-04-18", "siskin", "f41c7d96"),
        ("2026-01-22", "nuthatch", "b7e15c42"),
        ("2026-01-10", "testhost", "a9035fd2"),
        ("2025-12-12", "testhost", "44d1b7e0"),
    ]


def test_a_session_that_another_host_has_is_not_lacking(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    storage.session("borealis", session_id(1), ["one"])
    storage.log("atlas", log_row(session_id(1), "Moved"), log_row(session_id(2), "Lost"))
    fill(*storage.sources)

    rows = status(archive, sources=(), detail="coverage")["rows"]

    assert [row["topic"] for row in rows] == ["Lost"]


def test_hosts_have_their_newest_session_and_what_they_lack(samples: Archive) -> None:
    answer = status(samples, sources=(), detail="hosts", tz="Asia/Tokyo")

    rows = {row["host"]: row for row in answer["rows"]}
    assert list(rows) == ["nuthatch", "siskin", "testhost", "wren", None]
    assert rows["wren"]["documents"] == {"log": 1, "plan": 1, "transcript": 2}
    assert rows["wren"]["newest"] == "2026-06-03 11:18"
    assert [row["lacking"] for row in rows.values()] == [1, 1, 2, 1, 0]
    assert all(datetime.fromisoformat(row["published"]) for row in rows.values())


def test_a_host_that_only_a_catalogue_names_is_a_host_too(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    storage.log("atlas", log_row(session_id(1), "Elsewhere", host="frost"))
    fill(*storage.sources)

    rows = status(archive, sources=(), detail="hosts")["rows"]

    frost = next(row for row in rows if row["host"] == "frost")
    assert frost == {
        "host": "frost", "documents": {}, "bytes": 0, "newest": None, "published": None,
        "lacking": 1,
    }  # fmt: skip


def test_the_schema_describes_every_published_column(archive: Archive) -> None:
    answer = status(archive, sources=(), detail="schema", max_chars=0)

    described = {**published(), **functions()}
    assert answer["total"] == sum(len(table.columns) for table in described.values())
    assert {row["table"] for row in answer["rows"]} == set(described)
    assert all(row["about"] for row in answer["rows"])


def test_a_detail_is_paged(archive: Archive) -> None:
    whole = status(archive, sources=(), detail="schema", max_chars=0)["rows"]
    paged: list[object] = []
    offset: int | None = 0
    while offset is not None:
        answer = status(archive, sources=(), detail="schema", offset=offset)
        assert len(compact(answer)) <= 12_000
        paged += answer["rows"]
        offset = answer.get("next_offset")

    assert paged == whole


def test_an_archive_that_was_never_filled_has_nothing(archive: Archive) -> None:
    answer = status(archive, sources=())

    assert (answer["documents"], answer["writers"], answer["bytes"]) == ({}, [], 0)
    for detail in ("hosts", "coverage"):
        assert status(archive, sources=(), detail=detail)["rows"] == []


def test_the_summary_stays_bounded_whatever_is_configured(samples: Archive) -> None:
    sources = tuple(Source("claude", Path("/" + "x" * 200 + str(n)), "h") for n in range(500))

    answer = status(samples, sources=sources)

    assert len(answer["sources"]) == MAX_LISTED
    assert answer["left_out"] == {"sources": 480}


@pytest.mark.parametrize("detail", DETAILS)
def test_every_detail_names_its_zone(samples: Archive, detail: str) -> None:
    assert status(samples, sources=(), detail=detail, tz="Asia/Tokyo")["tz"] == "Asia/Tokyo"


def test_a_bad_argument_is_named(archive: Archive) -> None:
    with pytest.raises(UsageError, match="unknown detail 'all'; one of: summary, hosts"):
        status(archive, sources=(), detail="all")
    with pytest.raises(UsageError, match="unknown time zone"):
        status(archive, sources=(), tz="Mars")


def test_snapshots_are_listed_newest_first(
    storage: Storage, archive: Archive, root: Path, fill: Fill
) -> None:
    for number in range(3):
        storage.session("atlas", session_id(number), ["one"])
        fill(*storage.sources)

    rows = snapshots(root, "UTC")

    assert [row["generation"] for row in rows] == [3, 2, 1]
    assert [row["documents"] for row in rows] == [3, 2, 1]
    assert rows[0]["bytes"] > rows[1]["bytes"] > rows[2]["bytes"]
    assert snapshots(root / "none", "UTC") == []
