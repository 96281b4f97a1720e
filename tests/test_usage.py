"""What was used and what it cost: against a truth worked out by hand, in any order of arrival."""

import csv
import json
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from sjduck.archive import Archive
from sjduck.bounds import compact
from sjduck.cli import main
from sjduck.errors import UsageError
from sjduck.listing import list_documents
from sjduck.settings import OwnPrice, Prices
from sjduck.spending import windows
from sjduck.usage import GROUPS, MAX_CHARS, SORTS, usage
from tests import ledger
from tests.conftest import Fill
from tests.ledger import HAIKU, ONE, SONNET, TRUTH

Row = dict[str, Any]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a storage tree with nothing in it yet."""
    folder = tmp_path / "storage"
    folder.mkdir()
    return folder


@pytest.fixture
def filled(tree: Path, fill: Fill, archive: Archive) -> Archive:
    """Return an archive of the whole ledger."""
    ledger.write(tree)
    fill(f"scrubjay={tree}")
    return archive


def rows_of(archive: Archive, by: str, **options: Any) -> list[Row]:
    rows: list[Row] = usage(archive, by=by, limit=1_000, max_chars=0, **options)["rows"]
    return rows


def truth() -> set[tuple[Any, ...]]:
    """Return what is right, a session with its subagents: Haiku was the subagent's model too."""
    added: dict[tuple[str, str, str], list[Any]] = {}
    for spent in TRUTH:
        model = HAIKU if spent.model == "sub" else spent.model
        *counts, microdollars, unpriced = spent[3:]
        sums = added.setdefault((spent.host, spent.sid, model), [0] * 6 + [None, 0])
        for place, count in enumerate(counts):
            sums[place] += count
        if microdollars is not None:
            sums[6] = (sums[6] or 0) + microdollars
        sums[7] += unpriced
    return {(*key, *sums[:6], as_dollars(sums[6]), sums[7]) for key, sums in added.items()}


def as_dollars(microdollars: float | None) -> float | None:
    return None if microdollars is None else round(microdollars / 1e6, 6)


def counted(archive: Archive) -> set[tuple[Any, ...]]:
    return {
        (
            row["host"], row["sid"], row["model"], row["calls"], row["input_tokens"],
            row["cache_write_5m_tokens"], row["cache_write_1h_tokens"], row["cache_read_tokens"],
            row["output_tokens"], row["cost_usd"], row["unpriced_calls"],
        )
        for row in rows_of(archive, "session,host,model")
    }  # fmt: skip


def test_the_ledger_adds_up_to_the_token_and_the_microdollar(filled: Archive) -> None:
    answer = usage(filled, by="model")

    assert counted(filled) == truth()
    assert answer["totals"]["calls"] == sum(spent.calls for spent in TRUTH)
    assert answer["totals"]["cost_usd"] == as_dollars(sum(s.microdollars or 0 for s in TRUTH))
    assert answer["unpriced"] == [
        {"model": ledger.OPUS, "provider": "anthropic", "service_tier": "batch", "calls": 1},
        {"model": "mimo-v9", "calls": 1},
    ]


def _among(paths: list[str]) -> Callable[[str], bool]:
    return lambda path: path in paths


ORDERS: dict[str, list[Callable[[str], bool]]] = {
    "the copies first": [lambda path: path.startswith("borealis"), lambda _: True],
    "the subagent first": [lambda path: "subagents" in path, lambda _: True],
    "the fork first": [lambda path: ledger.FOUR in path, lambda _: True],
    "the resumed file first": [lambda path: ledger.TWO in path, lambda _: True],
    "one file a run": [_among(sorted(ledger.files())[:n]) for n in range(1, 7)],
    "one file a run, backwards": [_among(sorted(ledger.files())[-n:]) for n in range(1, 7)],
}  # fmt: skip


@pytest.mark.parametrize("order", ORDERS)
def test_the_order_of_arrival_changes_no_sum(
    order: str, tree: Path, fill: Fill, archive: Archive
) -> None:
    for keep in ORDERS[order]:
        ledger.write(tree, keep)
        fill(f"scrubjay={tree}")

    assert counted(archive) == truth()


def test_two_writers_with_overlapping_trees_count_each_call_once(
    tmp_path: Path, fill: Fill, archive: Archive
) -> None:
    for writer, part in (("atlas", "atlas"), ("nas", ""), ("borealis", "borealis")):
        folder = tmp_path / writer
        ledger.write(folder, lambda path, part=part: path.startswith(part))  # type: ignore[misc]
        fill(f"scrubjay={folder}", writer=writer)

    assert counted(archive) == truth()


def test_calls_of_a_copy_that_is_not_read_count_for_the_one_that_is(
    tmp_path: Path, fill: Fill, archive: Archive
) -> None:
    """A longer copy without the last response: its text is read, the response still counts."""
    long, short = tmp_path / "long" / "atlas", tmp_path / "short" / "atlas"
    for folder, records in (
        (long / "moved", [ledger.prompt(f"Jar {n}", ONE) for n in range(9)]),
        (
            short / "-home-ann-shop",
            [ledger.prompt("Jar", ONE), ledger.answer("msg_1", 10, 20, at="09:00:00")],
        ),
    ):
        ledger.write_file(folder / f"{ONE}.jsonl", records)
    fill(f"scrubjay={long.parent}")
    fill(f"scrubjay={short.parent}", writer="other")

    (row,) = rows_of(archive, "session")

    assert (row["sid"], row["calls"], row["output_tokens"]) == ("0a000000", 1, 20)


# -- groups --------------------------------------------------------------------------------


@pytest.mark.parametrize("group", [group for group in GROUPS if group != "tool"])
def test_every_group_adds_up_to_the_totals(filled: Archive, group: str) -> None:
    answer = usage(filled, by=group, limit=1_000)

    for name in ("calls", "input_tokens", "output_tokens", "total_tokens", "unpriced_calls"):
        assert sum(row[name] for row in answer["rows"]) == answer["totals"][name]
    costs = [row["cost_usd"] for row in answer["rows"] if row["cost_usd"] is not None]
    assert sum(costs) == pytest.approx(answer["totals"]["cost_usd"])


def test_days_are_the_readers_and_go_newest_first(filled: Archive) -> None:
    utc = [(row["day"], row["calls"]) for row in rows_of(filled, "day")]
    there = [(row["day"], row["calls"]) for row in rows_of(filled, "day", tz="Asia/Tokyo")]

    assert utc == [("2026-02-10", 17)]
    assert there == [("2026-02-11", 1), ("2026-02-10", 16)]


def test_time_is_cut_into_hours_weeks_and_months(filled: Archive) -> None:
    assert rows_of(filled, "hour", tz="Asia/Kolkata")[0]["hour"] == "2026-02-11 05:00"
    assert [row["week"] for row in rows_of(filled, "week")] == ["2026-02-09"]
    assert [row["month"] for row in rows_of(filled, "month")] == ["2026-02"]


def test_a_projects_calls_are_those_asked_for_in_its_folder(filled: Archive) -> None:
    rows = {row["project"]: row["calls"] for row in rows_of(filled, "project")}

    assert rows == {"shop": 15, "barn": 2}


def test_a_call_without_a_folder_is_of_its_sessions_project(
    tree: Path, fill: Fill, archive: Archive
) -> None:
    folders: tuple[Row, ...] = ({}, {"cwd": None}, {"cwd": "/"}, {"cwd": "C:\\barn\\"})
    calls = [
        ledger.answer(f"msg_{n}", 10, 20, at="09:00:00") | folder
        for n, folder in enumerate(folders)
    ]
    ledger.write_file(tree / f"atlas/-home-ann-shop/{ONE}.jsonl", calls)
    fill(f"scrubjay={tree}")

    rows = {row["project"]: row["calls"] for row in rows_of(archive, "project")}

    assert rows == {"shop": 3, "barn": 1}


def test_a_tool_counts_for_the_calls_that_used_it(filled: Archive) -> None:
    answer = usage(filled, by="tool")
    rows = {row["tool"]: (row["calls"], row["output_tokens"]) for row in answer["rows"]}

    assert rows == {"Read": (2, 20), "Bash": (2, 52)}
    assert "overlap" in answer["note"]
    assert answer["totals"]["calls"] == 17


def test_groups_can_be_combined_and_are_shown_as_asked(filled: Archive) -> None:
    rows = rows_of(filled, " host , month,host")

    assert [list(row)[:2] for row in rows] == [["host", "month"]] * 2
    assert {(row["host"], row["calls"]) for row in rows} == {("atlas", 16), ("borealis", 1)}


# -- filters -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("filters", "calls"),
    [
        ({"host": "atlas"}, 16),
        ({"host": "ATLAS"}, 0),
        ({"project": "BAR"}, 2),
        ({"harness": "claude"}, 17),
        ({"harness": "codex"}, 0),
        ({"model": "Haiku"}, 3),
        ({"model": "haiku", "host": "borealis"}, 1),
        ({"since": "2026-02-10", "until": "2026-02-10"}, 17),
        ({"since": "2026-02-11"}, 0),
        ({"since": "2026-02-11", "tz": "Asia/Tokyo"}, 1),
        # Instants between the quarters of an hour.
        ({"since": "2026-02-10T09:05:00Z", "until": "2026-02-10T09:07:00Z"}, 3),
        ({"since": "2026-02-10T09:05:00.000001Z", "until": "2026-02-10T09:06:59Z"}, 1),
        ({"since": "2026-02-10T12:00:00Z"}, 2),
    ],
)
def test_filters_say_what_is_summed_up(filled: Archive, filters: Row, calls: int) -> None:
    answer = usage(filled, by="host", **filters)

    assert answer["totals"]["calls"] == calls
    assert sum(row["calls"] for row in answer["rows"]) == calls


def test_tools_are_filtered_by_instants_too(filled: Archive) -> None:
    rows = rows_of(filled, "tool", since="2026-02-10T09:04:00Z", until="2026-02-10T09:30:00Z")

    assert {row["tool"]: row["calls"] for row in rows} == {"Read": 1, "Bash": 1}


@pytest.mark.parametrize("by", ["model", "tool"])
def test_a_call_at_midnight_is_the_new_days(
    by: str, tree: Path, fill: Fill, archive: Archive
) -> None:
    instants = ("2026-02-10T23:59:59.999999Z", "2026-02-11T00:00:00Z")
    calls = [
        ledger.answer(f"msg_{n}", 10, 20, at="09:00:00", tool="Read") | {"timestamp": instant}
        for n, instant in enumerate(instants)
    ]
    ledger.write_file(tree / f"atlas/-home-ann-shop/{ONE}.jsonl", calls)
    fill(f"scrubjay={tree}")

    periods: tuple[Row, Row] = ({"until": "2026-02-10"}, {"since": "2026-02-11"})
    for period in periods:
        answer = usage(archive, by=by, **period)

        assert [row["calls"] for row in answer["rows"]] == [1]
        assert answer["totals"]["calls"] == 1


# -- cost ----------------------------------------------------------------------------------


def test_an_own_price_goes_before_the_tables_from_its_day_on(filled: Archive, root: Path) -> None:
    own = Prices(
        (
            OwnPrice("mimo-v9", input=2, output=4),
            OwnPrice(SONNET, since=datetime(2026, 2, 11).date(), input=999, output=999),
        ),
        note="before tax",
    )
    repriced = Archive(root, timezone="UTC", prices=own)
    answer = usage(repriced, by="model")
    costs = {row["model"]: row["cost_usd"] for row in answer["rows"]}
    before = {row["model"]: row["cost_usd"] for row in rows_of(filled, "model")}

    assert costs.pop("mimo-v9") == (9 * 2 + 9 * 4) / 1e6
    assert before.pop("mimo-v9") is None
    assert costs == before
    assert answer["prices"]["note"] == "before tax"
    assert answer["prices"]["own"] == 2
    repriced.close()


def test_a_unit_without_an_own_amount_is_unpriced(filled: Archive, root: Path) -> None:
    own = Prices((OwnPrice(SONNET, input=3, output=15),))
    repriced = Archive(root, timezone="UTC", prices=own)
    (row,) = [row for row in rows_of(repriced, "model") if row["model"] == SONNET]

    # Three calls read the cache, two wrote to it (one did both), one searched the web.
    assert row["unpriced_calls"] == 5
    repriced.close()


def test_a_call_without_tokens_is_free_only_where_its_price_is_known(
    tree: Path, fill: Fill, archive: Archive
) -> None:
    calls = [
        ledger.answer(f"msg_{n}", 0, 0, at="09:00:00", model=model)
        for n, model in enumerate((SONNET, "mimo-v9"))
    ]
    ledger.write_file(tree / f"atlas/-home-ann-shop/{ONE}.jsonl", calls)
    fill(f"scrubjay={tree}")

    rows = {row["model"]: row for row in rows_of(archive, "model")}

    assert (rows[SONNET]["cost_usd"], rows[SONNET]["unpriced_calls"]) == (0, 0)
    assert (rows["mimo-v9"]["cost_usd"], rows["mimo-v9"]["unpriced_calls"]) == (None, 1)


def test_recorded_costs_are_the_harnesss_own(tree: Path, fill: Fill, archive: Archive) -> None:
    calls = [
        ledger.answer("msg_1", 10, 20, at="09:00:00", costUSD=0.25),
        ledger.answer("msg_2", 10, 20, at="09:01:00"),
    ]
    ledger.write_file(tree / f"atlas/-home-ann-shop/{ONE}.jsonl", calls)
    fill(f"scrubjay={tree}")

    answer = usage(archive, by="model", cost="recorded")

    assert answer["totals"]["cost_usd"] == 0.25
    assert answer["totals"]["unpriced_calls"] == 1


def test_numbers_beyond_all_measure_break_no_sum(tree: Path, fill: Fill, archive: Archive) -> None:
    calls = [
        ledger.answer(f"msg_{n}", 2**31 - 1, 2**31 - 1, at=f"09:00:0{n}", searches=2**31 - 1,
                      read=2**31 - 1, costUSD=1e300)
        for n in range(3)
    ]  # fmt: skip
    ledger.write_file(tree / f"atlas/-home-ann-shop/{ONE}.jsonl", calls)
    fill(f"scrubjay={tree}")

    totals = usage(archive)["totals"]

    assert totals["output_tokens"] == 3 * (2**31 - 1)
    assert totals["cost_usd"] > 0


# -- 5-hour windows --------------------------------------------------------------------------


def test_a_window_begins_with_the_hour_of_its_first_call_and_ends_5_hours_later() -> None:
    def hour(number: int) -> datetime:
        return datetime(2026, 2, 10 + number // 24, number % 24)

    hours = [("claude", hour(n)) for n in (9, 13, 14, 20, 24)] + [("codex", hour(13))]

    assert [(harness, at.hour, start.hour) for harness, at, start in windows(hours)] == [
        ("claude", 9, 9), ("claude", 13, 9), ("claude", 14, 14), ("claude", 20, 20),
        ("claude", 0, 20), ("codex", 13, 13),
    ]  # fmt: skip


def test_a_window_tells_its_pace_and_where_that_leads(
    filled: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sjduck.usage._now", lambda: datetime(2026, 2, 11, 0, 30))

    newest, *older = rows_of(filled, "block", tz="Europe/Berlin")

    assert (newest["block"], newest["ends"]) == ("2026-02-11 00:00", "2026-02-11 05:00")
    assert newest["is_active"]
    assert newest["minutes_left"] == 210
    # One call of 17 tokens, as if it had taken one minute.
    assert newest["tokens_per_minute"] == 17
    assert newest["projected_tokens"] == 17 + 17 * 210
    assert newest["projected_cost_usd"] == round(53e-6 * 211, 6)
    assert [row["block"] for row in older] == ["2026-02-10 10:00"]
    assert not older[0]["is_active"]
    assert "minutes_left" not in older[0]


@pytest.mark.parametrize("tz", ["UTC", "Asia/Kolkata", "America/New_York"])
def test_clocks_at_the_ends_of_the_calendar_leave_no_question_without_an_answer(
    tz: str, tree: Path, fill: Fill, archive: Archive
) -> None:
    instants = ("0001-01-01T00:00:00Z", "9999-12-31T18:30:00Z", "9999-12-31T23:59:59.999999Z")
    calls = [
        ledger.answer(f"msg_{n}", 10, 20, at="09:00:00") | {"timestamp": instant}
        for n, instant in enumerate(instants)
    ]
    ledger.write_file(tree / f"atlas/-home-ann-shop/{ONE}.jsonl", calls)
    fill(f"scrubjay={tree}")

    for group in GROUPS:
        assert usage(archive, by=group, tz=tz)["totals"]["calls"] == 3
    assert len(rows_of(archive, "block")) == 3


# -- paging and what can't be taken --------------------------------------------------------


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("sort", SORTS)
def test_pages_of_any_size_are_the_whole(filled: Archive, sort: str, order: str) -> None:
    options: Row = {"by": "session,model,hour", "sort": sort, "order": order}
    at_once = usage(filled, limit=100, max_chars=0, **options)
    paged: list[Any] = []
    offset: int | None = 0
    while offset is not None:
        answer = usage(filled, limit=3, offset=offset, **options)
        paged += answer["rows"]
        offset = answer.get("next_offset")

    assert paged == at_once["rows"]
    assert answer["totals"] == at_once["totals"]
    assert at_once["total"] == len(paged)


def test_what_cost_most_comes_first_unless_it_is_about_time(filled: Archive) -> None:
    by_model = usage(filled, by="model")
    by_name = usage(filled, by="model", sort="model")
    costs = [row["cost_usd"] for row in by_model["rows"] if row["cost_usd"] is not None]

    assert costs == sorted(costs, reverse=True)
    assert by_model["sort"] == "cost desc"
    assert usage(filled, sort="no such")["sort"] == "day desc"
    assert by_name["sort"] == "model asc"
    assert [row["model"] for row in by_name["rows"]] == sorted(r["model"] for r in by_name["rows"])


def test_an_answer_stays_within_its_bound_and_goes_on(filled: Archive) -> None:
    answer = usage(filled, by="session,model", max_chars=2_000)

    assert answer["capped"]
    assert answer["next_offset"] == answer["shown"]
    assert usage(filled, by="session,model", offset=100)["rows"] == []
    assert usage(filled, by="session,model", offset=100)["total"] == answer["total"]


def test_names_of_any_length_leave_an_answer_within_its_bound(
    tree: Path, fill: Fill, archive: Archive
) -> None:
    calls = [
        ledger.answer(f"msg_{n}", 10, 20, at="09:00:00", model=f"mimo-{n}-" + 9_000 * "x",
                      service_tier=9_000 * "y")
        for n in range(12)
    ]  # fmt: skip
    ledger.write_file(tree / f"atlas/-home-ann-shop/{ONE}.jsonl", calls)
    fill(f"scrubjay={tree}")

    answer = usage(archive)

    assert len(compact(answer)) < MAX_CHARS
    assert [len(row["model"]) for row in answer["unpriced"]] == [120] * 10
    assert answer["more_unpriced_models"] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"by": "moon"}, "unknown group 'moon'; a comma list of: hour, day"),
        ({"by": " , "}, "by names no group"),
        ({"cost": "free"}, "unknown cost 'free'; one of: computed, recorded"),
        ({"order": "up"}, "unknown order 'up'"),
        ({"since": "soon"}, "can't read since='soon'"),
        ({"tz": "Mars"}, "unknown time zone 'Mars'"),
    ],
)
def test_what_cannot_be_taken_is_said(archive: Archive, arguments: Row, message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("'", ".")):
        usage(archive, **arguments)


def test_an_archive_without_calls_has_no_usage(archive: Archive) -> None:
    answer = usage(archive)

    assert answer["rows"] == []
    assert answer["total"] == 0
    assert answer["totals"]["calls"] == 0
    assert answer["totals"]["cost_usd"] is None


def test_undated_calls_have_no_day_and_drop_out_of_periods(
    tree: Path, fill: Fill, archive: Archive
) -> None:
    undated = ledger.answer("msg_1", 10, 20, at="09:00:00") | {"timestamp": None}
    ledger.write_file(tree / f"atlas/-home-ann-shop/{ONE}.jsonl", [undated])
    fill(f"scrubjay={tree}")

    assert [(row["day"], row["calls"]) for row in rows_of(archive, "day")] == [(None, 1)]
    assert [row["block"] for row in rows_of(archive, "block")] == [None]
    assert usage(archive, since="2000-01-01")["totals"]["calls"] == 0


# -- sessions ------------------------------------------------------------------------------


def test_sessions_are_listed_by_what_they_cost_with_their_subagents(filled: Archive) -> None:
    first, *others = list_documents(filled, sort="cost")["items"]
    with_subagents = list_documents(filled, sort="cost", include_sidechains=True)["items"]
    own = {row["sid"]: row["cost_usd"] for row in with_subagents}

    assert first["sid"] == "0a000000"
    assert first["cost_usd"] == pytest.approx(own["0a000000"] + own["5f00"])
    assert own["5f00"] == pytest.approx(71e-6)
    costs = [row["cost_usd"] for row in others]
    assert costs.pop() is None  # every call of that copy counts elsewhere
    assert costs == sorted(costs, reverse=True)


def test_subagents_at_any_depth_count_for_the_session_and_none_goes_in_circles(
    tree: Path, fill: Fill, archive: Archive
) -> None:
    parents = {
        "agent-a1": ONE, "agent-a2": "agent-a1", "agent-a3": "agent-a2",
        "agent-b1": "agent-b1", "agent-c1": "agent-c2", "agent-c2": "agent-c1",
    }  # fmt: skip
    folder = tree / "atlas/-home-ann-shop"
    for stem, parent in {ONE: ONE, **parents}.items():
        call = ledger.answer(f"msg_{stem}", 10, 20, at="09:00:00", session=parent)
        ledger.write_file(folder / f"{stem}.jsonl", [call])
    # Its session is on another machine.
    call = ledger.answer("msg_d1", 10, 20, at="09:00:00")
    ledger.write_file(tree / "borealis/-home-ann-shop/agent-d1.jsonl", [call])
    fill(f"scrubjay={tree}")

    rows = {row["sid"]: row["calls"] for row in rows_of(archive, "session")}

    assert (rows.pop("0a000000"), rows.pop("b1"), rows.pop("d1")) == (4, 1, 1)
    assert sum(rows.values()) == 2


def test_the_costs_view_has_each_call_once(filled: Archive) -> None:
    from sjduck.spending import prepare

    filled.ask(prepare)
    query = (
        "select count(*) as n, count(distinct call_key) as keys, sum(cost_usd) as usd from costs"
    )
    (row,) = filled.ask(lambda view: view.rows(query))

    assert (row["n"], row["keys"]) == (17, 17)
    assert row["usd"] == pytest.approx(usage(filled)["totals"]["cost_usd"], abs=1e-6)


def test_the_prices_view_has_the_list_prices(filled: Archive) -> None:
    from sjduck.spending import prepare

    filled.ask(prepare)
    query = f"select * from prices where model = '{SONNET}' and speed is null order by over_tokens"
    rows = filled.ask(lambda view: view.rows(query))
    units = ("input", "cache_write_5m", "cache_write_1h", "cache_read", "output", "web_search")

    assert {row["over_tokens"]: tuple(row[f"{unit}_usd"] for unit in units) for row in rows} == {
        200_000: (6, 7.5, 12, 0.6, 22.5, 10),
        None: (3, 3.75, 6, 0.3, 15, 10),
    }


# -- the command ---------------------------------------------------------------------------

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(
    filled: Archive, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Return a function that runs `sjduck usage` on the ledger."""
    monkeypatch.delenv("COLUMNS", raising=False)

    def ran(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["sjduck", "usage", "--archive", str(root), *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        return int(left.value.code or 0), *capsys.readouterr()

    return ran


def test_the_table_has_bars_a_total_and_names_what_has_no_price(command: Command) -> None:
    code, out, err = command("--by", "model")
    heading, first, *_, total = out.splitlines()

    assert code == 0
    assert heading.split()[:2] == ["model", "calls"]
    assert first.startswith(SONNET)
    assert first.endswith("█" * 24)
    assert total.split()[:2] == ["total", "17"]
    assert "US dollars by genai-prices" in err
    assert f"{ledger.OPUS} batch by anthropic: 1, mimo-v9: 1\n" in err


def test_bars_are_as_long_as_there_is_room(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, wide, _ = command("--by", "model")
    monkeypatch.setenv("COLUMNS", "80")
    _, narrow, _ = command("--by", "model")
    bars = [line.count("█") for line in narrow.splitlines()]

    assert max(map(len, narrow.splitlines())) <= 80 < max(map(len, wide.splitlines()))
    assert "…" not in narrow
    assert 4 < max(bars) < 24


def test_without_any_price_the_bars_show_tokens(command: Command) -> None:
    _, out, _ = command("--by", "host", "--model", "mimo")

    assert out.splitlines()[1].endswith("█" * 24)


def test_csv_has_every_row_exact(command: Command, filled: Archive) -> None:
    code, out, err = command("--by", "session,model", "--csv")
    rows = list(csv.DictReader(out.splitlines()))

    assert (code, err) == (0, "")
    assert len(rows) == len(rows_of(filled, "session,model"))
    assert sum(int(row["input_tokens"]) for row in rows) == sum(s.input for s in TRUTH)
    assert [row["cost_usd"] for row in rows if row["model"] == "mimo-v9"] == [""]


def test_json_is_the_tools_answer(command: Command, filled: Archive) -> None:
    code, out, _ = command("--by", "model", "--json", "--limit", "2", "--sort", "calls")

    assert code == 0
    assert json.loads(out) == usage(filled, by="model", limit=2, sort="calls")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--by", "moon"], 2, "sjduck: unknown group 'moon'; a comma list of: hour, day"),
        (["--json", "--csv"], 2, "give --json or --csv, not both"),
        (["--since", "2030-01-01"], 0, "nothing was used"),
        (["--by", "host", "--offset", "2"], 0, "nothing more: there are 2, from --offset 0 on"),
    ],
)
def test_what_is_not_to_be_shown_is_one_line(
    command: Command, arguments: list[str], code: int, message: str
) -> None:
    left, out, err = command(*arguments)

    assert (left, out, err.count("\n")) == (code, "", 1)
    assert message in err


# -- real files ----------------------------------------------------------------------------


def test_on_real_files_the_order_and_the_number_of_runs_change_no_sum(
    corpus: Path, tmp_path: Path, fill: Fill
) -> None:
    storage, home = f"scrubjay={corpus / 'storage'}", f"claude={corpus / 'home' / '.claude'}"
    at_once, in_turn = tmp_path / "at-once", tmp_path / "in-turn"
    fill(storage, home, archive=at_once)
    fill(home, archive=in_turn, writer="laptop")
    fill(storage, archive=in_turn, writer="nas")
    answers = []
    for place in (at_once, in_turn):
        archive = Archive(place, timezone="UTC")
        answers.append(usage(archive, by="host,harness,model", limit=1_000, max_chars=0))
        archive.close()

    assert answers[0] == answers[1]
    assert answers[0]["totals"]["calls"] > 1_500
