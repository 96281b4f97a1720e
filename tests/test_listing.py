"""Listings: filters, sorts, pages, zones and what each row says."""

import json
import os
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from sjduck.archive import Archive
from sjduck.bounds import MAX_REPLY_BYTES, Answer, compact
from sjduck.errors import UsageError
from sjduck.listing import SORTS, human_size, list_documents
from sjduck.reading import get
from tests.conftest import SAMPLES, Fill
from tests.storage import Storage, log_row
from tests.trees import session_id

SAMPLE_SOURCES = (
    f"claude={SAMPLES}/claude",
    f"scrubjay={SAMPLES}/scrubjay/storage",
    f"scrubjay-logs={SAMPLES}/scrubjay/data",
)


@pytest.fixture
def samples(archive: Archive, fill: Fill) -> Archive:
    """Return the archive, filled from the bundled samples."""
    fill(*SAMPLE_SOURCES)
    return archive


@pytest.fixture
def storage(tmp_path: Any) -> Storage:
    """Return an empty storage tree."""
    return Storage(tmp_path)


def topics(answer: Answer) -> list[Any]:
    """Return the topics of a listing."""
    return [item["topic"] for item in answer["items"]]


def test_a_compact_row_says_what_it_is_and_where_to_read_it(samples: Archive) -> None:
    answer = list_documents(samples, project="INVOICE", since="2026-01-01")

    assert answer == {
        "total": 1,
        "offset": 0,
        "shown": 1,
        "items": [
            {
                "type": "transcript",
                "date": "2026-06-03",
                "host": "wren",
                "project": "invoice-pdf",
                "topic": "发票 PDF 中文显示成方框",
                "sid": "c93e07d5",
                "path": "sj://transcript/wren/invoice-pdf/c93e07d5-48ab-4f12-8d60-7be15a2c94f3",
            }
        ],
        "sort": "date desc",
        "tz": "UTC",
    }


def test_a_full_row_says_everything_known(samples: Archive) -> None:
    (item,) = list_documents(samples, project="dns", fields="full", tz="Asia/Tokyo")["items"]

    assert item == {
        "type": "transcript",
        "date": "2025-12-03",
        "host": "nuthatch",
        "project": "dns",
        "topic": "Renewal of the wildcard certificate for example.org fails",
        "sid": "0fd4e97b",
        "path": item["path"],
        "turns": 4,
        "size": "1.6 kB",
        "session_id": "0fd4e97b-52c8-4a61-9e3d-c8b7106fa25d",
        "parent_session_id": None,
        "agent_type": None,
        "harness": None,
        "topic_source": "catalogue",
        "cwd": "/home/tomas/infra/dns",
        "git_branch": None,
        "models": [],
        "cli_version": None,
        "first_prompt": item["first_prompt"],
        "started": None,
        "ended": None,
        "lines": 53,
        "source": item["path"],
        "source_gone_at": None,
    }
    assert item["path"].startswith(f"{SAMPLES}/scrubjay/storage/nuthatch/readable/dns/2025-12-03_")


def test_the_type_is_left_out_where_it_was_asked_for(samples: Archive) -> None:
    answer = list_documents(samples, type="plan")

    assert answer["total"] == 4
    assert all("type" not in item for item in answer["items"])


def test_subagents_are_listed_when_asked_for(samples: Archive) -> None:
    without = list_documents(samples, limit=100)
    among = list_documents(samples, limit=100, include_sidechains=True)
    alone = list_documents(samples, type="subagent")

    assert (without["total"], among["total"], alone["total"]) == (26, 28, 2)


def test_logs_and_files_are_listed_only_by_their_type(samples: Archive) -> None:
    types = {item["type"] for item in list_documents(samples, limit=100)["items"]}

    assert types == {"transcript", "plan", "memory", "note"}


def test_hosts_match_whole_and_projects_in_part(samples: Archive) -> None:
    assert list_documents(samples, host="wren", type="transcript")["total"] == 2
    assert list_documents(samples, host="WREN")["total"] == 0
    assert list_documents(samples, project="ORDER")["total"] == 6
    assert list_documents(samples, project="_")["total"] == 0
    assert list_documents(samples, project="MÉTÉO")["total"] == 1
    assert list_documents(samples, harness="claude", type="transcript")["total"] == 9


def test_periods_are_local_days_and_leave_undated_rows_out(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    # 10:00 UTC on 2026-03-05.
    storage.session("atlas", session_id(1), ["one"], day=5)
    storage.plan("atlas", "2026-03-05_planned.md", "# Planned\n")
    storage.plan("atlas", "undated.md", "# Undated\n")
    fill(*storage.sources)

    def listed(**period: str) -> list[Any]:
        return topics(list_documents(archive, order="asc", **period))  # type: ignore[arg-type]

    assert listed() == ["Planned", "one", "Undated"]
    assert listed(since="2026-03-05", until="2026-03-05") == ["Planned", "one"]
    assert listed(since="2026-03-06", tz="Pacific/Auckland") == []
    assert listed(until="2026-03-04") == []
    assert listed(since="2026-03-05T10:00", until="2026-03-05T10:00") == ["one"]
    assert listed(since="2026-03-05", until="2026-03-05", tz="Pacific/Kiritimati") == ["Planned"]
    assert listed(since="2026-03-06", until="2026-03-06", tz="Pacific/Kiritimati") == ["one"]


def test_dates_are_of_the_zone_asked_for_and_named(samples: Archive) -> None:
    days = {
        zone: list_documents(samples, project="dedupe", type="transcript", tz=zone)["items"][0]
        for zone in ("UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago")
    }

    assert [day["date"] for day in days.values()] == ["2026-02-14", "2026-02-14", "2026-02-13"]
    assert list_documents(samples, tz="Asia/Tokyo")["tz"] == "Asia/Tokyo"


def test_an_unknown_sort_falls_back_to_date(samples: Archive) -> None:
    answer = list_documents(samples, sort="beauty")

    assert answer["sort"] == "date desc"
    assert answer["items"] == list_documents(samples)["items"]


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("type_", [None, "log"])
def test_every_sort_is_in_order_and_pages_of_any_size_are_the_whole(
    samples: Archive, type_: str | None, sort: str, order: str
) -> None:
    options: dict[str, Any] = {"type": type_, "sort": sort, "order": order, "fields": "full"}
    at_once = list_documents(samples, limit=100, max_chars=0, **options)["items"]
    paged: list[Any] = []
    offset: int | None = 0
    while offset is not None:
        answer = list_documents(samples, limit=7, offset=offset, **options)
        paged += answer["items"]
        offset = answer.get("next_offset")

    key = {"cost": "date" if type_ == "log" else "cost_usd"}.get(sort, sort)
    keys = [item[key] for item in at_once if item[key] is not None]
    if sort == "size":
        units = {"B": 1, "kB": 1_000}
        keys = [float(key.split()[0]) * units[key.split()[1]] for key in keys]
    keys = [key.lower() if isinstance(key, str) else key for key in keys]

    assert paged == at_once
    assert keys == sorted(keys, reverse=order == "desc")
    empty = [item[key] is None for item in at_once]
    assert empty == sorted(empty)  # what has no value comes last either way


def test_what_was_sorted_on_is_shown(samples: Archive) -> None:
    by_size = list_documents(samples, sort="size", limit=1)["items"][0]
    by_turns = list_documents(samples, sort="turns", limit=1)["items"][0]

    assert (by_size["size"], "turns" in by_size) == ("6.2 kB", False)
    assert (by_turns["turns"], "size" in by_turns) == (8, False)


def test_the_catalogue_lists_each_session_once_with_its_newest_row(samples: Archive) -> None:
    answer = list_documents(samples, type="log", host="nuthatch")

    assert [list(item.values()) for item in answer["items"]] == [
        [
            "2026-02-14", "11:58", "nuthatch", "photo-dedupe",
            "Near-duplicate photos: dHash, byte buckets, trash | distance 5", "6ab2c5f8", True,
        ],
        ["2026-01-22", "18:03", "nuthatch", "photo-dedupe", None, "b7e15c42", False],
        [
            "2025-12-03", "21:40", "nuthatch", "dns",
            "Renewal of the wildcard certificate for example.org fails", "0fd4e97b", True,
        ],
    ]  # fmt: skip


def test_a_logs_own_clock_is_shifted_by_nothing_and_an_instant_is(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    storage.log("atlas", log_row(session_id(1), "Logged", at="2026-03-05 23:30"))
    typed = {"display": "Typed", "timestamp": 1772753400000, "sessionId": session_id(2)}
    (storage.tree / "atlas").mkdir()
    (storage.tree / "atlas" / "history.jsonl").write_text(json.dumps(typed))
    fill(*storage.sources)

    def clock(tz: str) -> list[tuple[str, str]]:
        items = list_documents(archive, type="log", tz=tz, sort="topic", order="asc")["items"]
        return [(item["date"], item["time"]) for item in items]

    assert clock("UTC") == [("2026-03-05", "23:30"), ("2026-03-05", "23:30")]
    assert clock("Asia/Tokyo") == [("2026-03-05", "23:30"), ("2026-03-06", "08:30")]
    day = {"since": "2026-03-05", "until": "2026-03-05", "tz": "Asia/Tokyo"}
    assert topics(list_documents(archive, type="log", **day)) == ["Logged"]  # type: ignore[arg-type]


def test_the_same_session_of_several_hosts_is_one_row_that_names_them(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    storage.session("atlas", session_id(1), ["one"])
    storage.session("borealis", session_id(1), ["one", "two"])
    storage.session("cirrus", session_id(1), ["one"])
    fill(*storage.sources)

    (item,) = list_documents(archive)["items"]
    (of_host,) = list_documents(archive, host="cirrus")["items"]

    assert (item["host"], item["also_on"]) == ("borealis", ["atlas", "cirrus"])
    assert (of_host["host"], of_host["also_on"]) == ("cirrus", ["atlas", "borealis"])


def test_every_path_and_sid_of_a_listing_can_be_read(samples: Archive) -> None:
    items = list_documents(samples, limit=100, include_sidechains=True, max_chars=0)["items"]

    assert len(items) == 28
    for item in items:
        assert get(samples, item["path"])["path"] == item["path"]
        if item["type"] in ("transcript", "subagent"):
            assert get(samples, item["sid"])["path"] == item["path"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"type": "session"}, "unknown type 'session'; one of: transcript, subagent"),
        ({"order": "down"}, "unknown order 'down'; one of: asc, desc"),
        ({"fields": "some"}, "unknown fields 'some'; one of: compact, full"),
        ({"tz": "Mars/Olympus"}, "unknown time zone 'Mars/Olympus'; use an IANA name"),
        ({"since": "soon"}, "can't read since='soon'"),
        ({"max_chars": -1}, "can't take max_chars=-1"),
    ],
)
def test_a_bad_argument_is_named(archive: Archive, options: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        list_documents(archive, **options)


@pytest.mark.parametrize("limit", [0, -5])
def test_a_page_has_one_row_at_least_so_that_paging_goes_on(samples: Archive, limit: int) -> None:
    answer = list_documents(samples, limit=limit, offset=-3)

    assert (answer["shown"], answer["offset"], answer["next_offset"]) == (1, 0, 1)


def test_past_the_end_there_is_nothing_but_the_total(samples: Archive) -> None:
    answer = list_documents(samples, offset=10**30, limit=10**30)

    assert (answer["total"], answer["shown"], answer["items"]) == (26, 0, [])
    assert "next_offset" not in answer


def test_an_archive_that_was_never_filled_lists_nothing(archive: Archive) -> None:
    for type_ in (None, "log", "transcript"):
        assert list_documents(archive, type=type_)["total"] == 0


def test_the_bound_comes_from_the_environment(
    samples: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SJMCP_LIST_MAX_CHARS", "1500")

    answer = list_documents(samples)

    assert answer["capped"] is True
    assert len(compact(answer)) <= 1_500


def test_a_reply_stays_bounded_whatever_a_row_holds(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    long = "漢" * 50_000
    for number in range(20):
        title = {"type": "custom-title", "customTitle": f"{number} {long}"}
        storage.session("atlas", session_id(number), [long], cwd="/" + long, more=[title])
    rest = f" | a={long[:2_000]} | b={long[:2_000]}"
    rows = [log_row(session_id(number), long[:4_000], rest=rest) for number in range(99)]
    storage.log("atlas", *rows)
    fill(*storage.sources)

    for type_ in (None, "log"):
        answer = list_documents(archive, type=type_, fields="full", max_chars=10**6)

        assert len(compact(answer).encode()) <= MAX_REPLY_BYTES
        assert answer["shown"] >= 1


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
@pytest.mark.parametrize("tz", ["America/New_York", "Asia/Tokyo"])
def test_a_session_dated_at_the_calendars_edge_is_listed(
    storage: Storage, archive: Archive, fill: Fill, at: str, tz: str
) -> None:
    storage.session("atlas", session_id(1), [], more=[{"type": "system", "timestamp": at}])
    fill(*storage.sources)

    (item,) = list_documents(archive, fields="full", tz=tz)["items"]

    assert item["started"] is not None


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(
    host=st.none() | st.text(max_size=5),
    project=st.none() | st.text(max_size=5),
    harness=st.none() | st.text(max_size=5),
    limit=st.integers(-2, 30),
    offset=st.integers(-2, 30),
    max_chars=st.integers(0, 5_000),
)
def test_any_text_is_a_filter_and_no_sql(samples: Archive, **options: Any) -> None:
    answer = list_documents(samples, **options)

    assert answer["shown"] == len(answer["items"])
    assert answer["total"] >= answer["shown"]


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (None, None), (0, "0 B"), (999, "999 B"), (1_000, "1.0 kB"), (9_949, "9.9 kB"),
        (9_950, "10 kB"), (34_400, "34 kB"), (999_499, "999 kB"), (999_500, "1.0 MB"),
        (2_300_000, "2.3 MB"), (5 * 10**12, "5000 GB"),
    ],
)  # fmt: skip
def test_sizes_are_written_for_people(size: int | None, text: str | None) -> None:
    assert human_size(size) == text


def test_a_source_that_is_gone_is_dated(storage: Storage, archive: Archive, fill: Fill) -> None:
    file = storage.plan("atlas", "gone.md", "# Gone\n")
    storage.plan("atlas", "here.md", "# Here\n")
    fill(*storage.sources)
    os.unlink(file)
    fill(*storage.sources)

    items = list_documents(archive, fields="full", sort="topic", order="asc")["items"]

    assert [item["topic"] for item in items] == ["Gone", "Here"]
    assert datetime.fromisoformat(items[0]["source_gone_at"]) > datetime(2020, 1, 1, tzinfo=UTC)
    assert items[1]["source_gone_at"] is None
