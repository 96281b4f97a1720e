"""What the dashboard shows: the sums of `sjduck usage`, bounded, each name in its colour."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sjduck.archive import Archive
from sjduck.dashboard import finding, pane, panels, spans
from sjduck.dashboard.figures import (
    GRAINS,
    MAX_POINTS,
    MAX_SERIES,
    SPLITS,
    Figures,
    Filters,
    choices,
    figures,
)
from sjduck.dashboard.numbers import count, dollars, percent
from sjduck.dashboard.series import series_of
from sjduck.errors import UsageError
from sjduck.reading import get
from sjduck.usage import usage
from tests import bakery, ledger
from tests.conftest import Fill
from tests.trees import session_id, write_session

Row = dict[str, Any]
BERLIN = "Europe/Berlin"
MEASURES = ("calls", "total_tokens", "cost_usd", "unpriced_calls")
WRITTEN = {
    "hour": "%Y-%m-%d %H:00",
    "day": "%Y-%m-%d",
    "week": "%Y-%m-%d",
    "month": "%Y-%m",
    "block": "%Y-%m-%d %H:%M",
}
NARROWED: list[Row] = [
    {},
    {"host": "wren"},
    {"project": "LAB"},
    {"model": "claude"},
    {"harness": "codex"},
    {"since": "2026-02-10", "until": "2026-03-01"},
    # Instants between the quarters of an hour.
    {"since": "2026-02-10T11:49:00Z", "until": "2026-02-20T12:01:00Z"},
]


@pytest.fixture
def filled(tmp_path: Path, fill: Fill, archive: Archive) -> Archive:
    """Return an archive of the bakery."""
    bakery.write(tmp_path / "storage")
    fill(f"scrubjay={tmp_path / 'storage'}")
    return archive


def used(archive: Archive, by: str, **options: Any) -> list[Row]:
    rows: list[Row] = usage(archive, by=by, limit=100_000, max_chars=0, tz=BERLIN, **options)[
        "rows"
    ]
    return rows


def measured(rows: list[Row], *names: str) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """Return what was used by the names that rows have, the cost to the microdollar."""
    return {
        tuple(row[name] or "" for name in names): tuple(
            None if row[measure] is None else round(row[measure], 6) for measure in MEASURES
        )
        for row in rows
    }


def dated(rows: list[Row], group: str) -> list[Row]:
    """Return rows with their local time written as `sjduck usage` writes it."""
    return [
        {**row, group: f"{datetime.fromtimestamp(row['local_ms'] / 1000, UTC):{WRITTEN[group]}}"}
        for row in rows
    ]


# -- the sums ------------------------------------------------------------------------------


@pytest.mark.parametrize("narrowed", NARROWED, ids=str)
@pytest.mark.parametrize("by", SPLITS)
def test_each_split_over_time_is_what_usage_says(filled: Archive, by: str, narrowed: Row) -> None:
    for grain in GRAINS:
        found = figures(filled, Filters(tz=BERLIN, **narrowed), grain=grain)
        rows = dated(found.over_time[by], grain)

        assert found.grain == grain
        assert measured([{**row, by: row["series"]} for row in rows], grain, by) == measured(
            used(filled, f"{grain},{by}", **narrowed), grain, by
        )


@pytest.mark.parametrize("narrowed", NARROWED, ids=str)
def test_totals_rankings_sessions_and_blocks_are_what_usage_says(
    filled: Archive, narrowed: Row
) -> None:
    found = figures(filled, Filters(tz=BERLIN, **narrowed))
    totals = usage(filled, by="day", tz=BERLIN, **narrowed)["totals"]

    assert measured([found.totals]) == measured([totals])
    for by in SPLITS:
        ranking = [{**row, by: row["series"]} for row in found.rankings[by]]
        assert measured(ranking, by) == measured(used(filled, by, **narrowed), by)
    assert measured(found.sessions, "sid") == measured(used(filled, "session", **narrowed), "sid")
    assert measured(dated(found.blocks, "block"), "block", "harness") == measured(
        used(filled, "block", **narrowed), "block", "harness"
    )


@pytest.mark.parametrize("grain", GRAINS)
def test_calls_of_every_rule_are_counted_as_usage_does(
    grain: str, tmp_path: Path, fill: Fill, archive: Archive
) -> None:
    ledger.write(tmp_path / "storage")
    fill(f"scrubjay={tmp_path / 'storage'}")

    found = figures(archive, Filters(tz=BERLIN), grain=grain)

    rows = [{**row, "model": row["series"]} for row in dated(found.over_time["model"], grain)]
    assert measured(rows, grain, "model") == measured(
        used(archive, f"{grain},model"), grain, "model"
    )


def test_lists_of_names_let_only_those_pass(filled: Archive) -> None:
    lists = Filters(tz=BERLIN, hosts=("wren",), models=(bakery.MODELS[0], bakery.UNPRICED))

    found = figures(filled, lists)

    passing = [
        row
        for row in used(filled, "host,model")
        if row["host"] == "wren" and row["model"] in lists.models
    ]
    ranking = [{**row, "host": "wren", "model": row["series"]} for row in found.rankings["model"]]
    assert measured(ranking, "host", "model") == measured(passing, "host", "model")


def test_what_has_no_name_can_be_chosen(tmp_path: Path, fill: Fill, archive: Archive) -> None:
    calls = [
        ledger.answer(f"msg_{n}", 10, 20, at="09:00:00", model=model)
        for n, model in enumerate(("", ledger.SONNET))
    ]
    del calls[0]["message"]["model"]
    ledger.write_file(tmp_path / f"storage/atlas/-home-ann-shop/{ledger.ONE}.jsonl", calls)
    fill(f"scrubjay={tmp_path / 'storage'}")

    assert choices(archive)["model"] == [ledger.SONNET, ""]
    assert figures(archive, Filters(models=("",))).totals["calls"] == 1


def test_what_has_no_price_is_named_and_never_free(filled: Archive) -> None:
    found = figures(filled, Filters())
    nothing_priced = figures(filled, Filters(model=bakery.UNPRICED))

    (ranked,) = [row for row in found.rankings["model"] if row["series"] == bakery.UNPRICED]
    assert found.unpriced == [{"model": bakery.UNPRICED, "calls": 30}]
    assert found.totals["unpriced_calls"] == 30
    assert ranked["cost_usd"] is None
    assert nothing_priced.totals["cost_usd"] is None
    assert dollars(None) == "unpriced"


def test_models_without_a_price_that_are_not_named_are_counted(filled: Archive) -> None:
    found = figures(filled, Filters())
    many = [{"model": f"oven-{number}", "calls": 1} for number in range(8)]

    assert ", 1 more model</p>" in panels.tiles(replace(found, unpriced=many[:7]))
    assert ", 2 more models</p>" in panels.tiles(replace(found, unpriced=many))


def test_hours_and_weekdays_are_local_and_add_up(filled: Archive) -> None:
    found = figures(filled, Filters(tz="Asia/Tokyo"))
    first = datetime(2026, 2, 2, 14, 41)

    assert sum(row["calls"] for row in found.activity) == found.totals["calls"]
    assert {(row["weekday"], row["hour"]) for row in found.activity} >= {
        (first.isoweekday(), first.hour)
    }


def test_what_the_cache_saved_and_cost_is_by_the_price_list(
    tmp_path: Path, fill: Fill, archive: Archive
) -> None:
    calls = [
        ledger.answer("msg_1", 1_000, 1, at="09:00:00", read=1_000_000, write_5m=100_000),
        ledger.answer("msg_2", 0, 1, at="09:01:00", model=ledger.HAIKU, write_1h=10_000),
        ledger.answer("msg_3", 0, 1, at="09:02:00", model="mimo-v9", read=5_000),
    ]
    ledger.write_file(tmp_path / f"storage/atlas/-home-ann-shop/{ledger.ONE}.jsonl", calls)
    fill(f"scrubjay={tmp_path / 'storage'}")

    found = figures(archive, Filters())

    # Over 200,000 tokens of input Sonnet 4.5 costs 6, 7.5 and 0.6 dollars a million.
    (shown,) = found.cache
    assert shown["saved_usd"] == pytest.approx(6 - 0.6)
    assert shown["written_usd"] == pytest.approx(0.1 * 7.5 + 0.01 * 2)
    assert found.totals["cache_premium_usd"] == pytest.approx(0.1 * 1.5 + 0.01 * 1)
    assert shown["hit_rate"] == pytest.approx(1_005_000 / 1_116_000)


def test_tools_show_their_errors_and_are_filtered_like_all_else(filled: Archive) -> None:
    tools = {row["tool"]: row for row in figures(filled, Filters()).tools}
    of_wren = {row["tool"]: row for row in figures(filled, Filters(hosts=("wren",))).tools}

    assert {tool: row["uses"] for tool, row in tools.items()} == dict.fromkeys(bakery.TOOLS, 40)
    assert (tools["Bash"]["errors"], tools["Read"]["errors"]) == (10, 0)
    assert (tools["Read"]["all_errors"], tools["Read"]["all_uses"]) == (10, 120)
    assert tools["Bash"]["error_rate"] == pytest.approx(10 / 40)
    assert sum(row["errors"] for row in of_wren.values()) == 0


def test_a_tool_use_that_another_session_repeats_counts_once(
    tmp_path: Path, fill: Fill, archive: Archive
) -> None:
    home = tmp_path / "claude"
    file = write_session(home, 1, ["weigh the flour"])
    resumed = file.read_text().replace(session_id(1), session_id(2))
    kept_ids = resumed.replace(f"msg_{session_id(2)}", f"msg_{session_id(1)}")
    file.with_name(f"{session_id(2)}.jsonl").write_text(kept_ids)
    fill(f"claude={home}")

    found = figures(archive, Filters())

    assert [(row["tool"], row["uses"]) for row in found.tools] == [("Bash", 1)]
    assert found.totals["calls"] == 1


# -- bounds --------------------------------------------------------------------------------


def points(found: Figures) -> int:
    return max(len(rows) for rows in found.over_time.values())


def test_charts_stay_within_their_points_however_much_there_is(
    tmp_path: Path, fill: Fill, archive: Archive
) -> None:
    models = tuple(f"oven-{number}" for number in range(40))
    bakery.write(tmp_path / "storage", days=1_300, models=models)
    fill(f"scrubjay={tmp_path / 'storage'}")

    found = figures(archive, Filters())
    by_hour = figures(archive, Filters(), grain="hour")

    assert found.grain == "week"
    assert by_hour.grain == "week"
    assert points(by_hour) <= MAX_POINTS
    assert len({row["series"] for row in found.over_time["model"]}) == MAX_SERIES + 1
    assert sum(row["calls"] for row in found.over_time["model"]) == found.totals["calls"] == 3_900
    assert len(found.blocks) < found.blocks[0]["total"] == 1_300


@pytest.mark.parametrize(
    ("days", "grain"), [(1, "hour"), (3, "hour"), (4, "day"), (190, "day"), (200, "week")]
)
def test_a_period_has_a_grain_that_is_easy_to_read(
    days: int, grain: str, tmp_path: Path, fill: Fill, archive: Archive
) -> None:
    bakery.write(tmp_path / "storage", days=days)
    fill(f"scrubjay={tmp_path / 'storage'}")

    assert figures(archive, Filters()).grain == grain


def test_an_archive_without_calls_has_empty_figures(archive: Archive) -> None:
    found = figures(archive, Filters())

    assert found.totals["calls"] == 0
    assert found.over_time == {by: [] for by in SPLITS}
    assert choices(archive) == {by: [] for by in SPLITS}


@pytest.mark.parametrize("wrong", [{"since": "soon"}, {"tz": "Bakery/Oven"}])
def test_a_period_or_zone_that_cannot_be_taken_is_said(archive: Archive, wrong: Row) -> None:
    with pytest.raises(UsageError):
        figures(archive, Filters(**wrong))


# -- names, colours, numbers ---------------------------------------------------------------


def test_a_model_has_one_colour_whatever_is_filtered(filled: Archive) -> None:
    known = choices(filled)["model"]
    everything = series_of(figures(filled, Filters()), "model", known)

    for narrowed in NARROWED:
        series = series_of(figures(filled, Filters(**narrowed)), "model", known)
        assert [series.colour(n) for n in series.names] == [
            everything.colour(n) for n in series.names
        ]
    assert len(set(everything.colours)) == len(everything.colours)


def test_names_beyond_the_known_ones_take_colours_that_are_free(
    tmp_path: Path, fill: Fill, archive: Archive
) -> None:
    bakery.write(tmp_path / "storage", projects=tuple(f"loaf-{n}" for n in range(12)))
    fill(f"scrubjay={tmp_path / 'storage'}")
    known = choices(archive)["project"]

    last = figures(archive, Filters(projects=tuple(known[5:12])))
    series = series_of(last, "project", known)

    assert len(series.names) == 7
    assert len(set(series.own_colours)) == 7
    assert series.label("loaf that nobody knows") == series.labels[-1] == "0 others"


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        (0, "$0.00"), (0.00004, "<$0.0001"), (0.0042, "$0.0042"), (0.5, "$0.50"),
        (999.99, "$999.99"), (999.999, "$1.0k"), (1_234, "$1.2k"), (45_400, "$45.4k"),
        (3.4e6, "$3.4M"), (2e9, "$2.0B"), (-3, "−$3.00"),
    ],
)  # fmt: skip
def test_dollars_are_short(amount: float, shown: str) -> None:
    assert dollars(amount) == shown


@pytest.mark.parametrize(
    ("amount", "shown"),
    [(0, "0"), (812, "812"), (999.6, "1.0 k"), (34_100, "34.1 k"), (3.4e6, "3.4 M")],
)
def test_counts_are_short(amount: float, shown: str) -> None:
    assert count(amount).replace("\u00a0", " ") == shown


@pytest.mark.parametrize(
    ("share", "shown"),
    [(None, "–"), (0, "0 %"), (0.004, "0.4 %"), (0.123, "12 %"), (0.957, "95.7 %"), (1, "100 %")],
)
def test_shares_are_short(share: float | None, shown: str) -> None:
    assert percent(share).replace("\u00a0", " ") == shown


def test_the_usual_period_has_calls_in_it() -> None:
    today = datetime.now(UTC).replace(tzinfo=None)

    assert spans.usual(today, "UTC") == "90 days"
    assert spans.usual(datetime(2020, 1, 1), "UTC") == spans.ALL
    assert spans.usual(None, "UTC") == spans.ALL
    assert spans.since_of(spans.ALL, "UTC") is None


# -- finding and reading -------------------------------------------------------------------


def test_a_topic_is_found_within_what_is_chosen(filled: Archive) -> None:
    rows, said = finding.hits(filled, "rye loaf collapse", Filters(hosts=("heron",)))
    table = finding.table(rows, ["<b>read</b>"] * len(rows), "collapse")

    assert {row["host"] for row in rows} == {"heron"}
    assert "best first" in said
    assert "<mark>collapse</mark>" in table


def test_a_topic_is_found_where_what_has_no_name_is_chosen(filled: Archive) -> None:
    anywhere, _ = finding.hits(filled, "rye loaf collapse", Filters())

    assert anywhere
    for nameless in (Filters(hosts=("",)), Filters(projects=("",)), Filters(harnesses=("",))):
        assert finding.hits(filled, "rye loaf collapse", nameless)[0] == anywhere


def test_what_cannot_be_recalled_is_said_in_place_of_hits(filled: Archive) -> None:
    assert finding.hits(filled, "quicksilver", Filters())[0] == []
    assert "nothing matches" in finding.hits(filled, "quicksilver", Filters())[1]
    assert "can't read since" in finding.hits(filled, "rye", Filters(since="soon"))[1]


def test_pages_of_the_pane_give_every_line_once_and_lead_back(
    tmp_path: Path, fill: Fill, archive: Archive
) -> None:
    write_session(tmp_path / "claude", 1, [f"loaf {n}: " + "crumb " * 60 for n in range(120)])
    fill(f"claude={tmp_path / 'claude'}")
    whole = get(archive, session_id(1), max_chars=0)["content"]

    place, shown = pane.Place(session_id(1)), [pane.page(archive, pane.Place(session_id(1)))]
    while following := shown[-1].following:
        place = place.later(following)
        shown.append(pane.page(archive, place))
    back = [place := before for _ in shown if (before := place.earlier())]

    assert len(shown) > 3
    assert max(len(page.html) for page in shown) < 2 * pane.MAX_CHARS
    assert sum(page.html.count("crumb") for page in shown) == whole.count("crumb")
    assert len(back) == len(shown) - 1
    assert back[-1].start == "1"


def test_a_page_inside_a_document_leads_back_to_its_beginning() -> None:
    place: pane.Place | None = pane.Place("x", ("300:24001",))
    starts = []
    while place:
        starts.append(place.start)
        place = place.earlier()

    assert starts == ["300:24001", "180", "60", "1"]


def test_text_of_a_session_is_no_html(tmp_path: Path, fill: Fill, archive: Archive) -> None:
    nasty = "<img src=x onerror=alert(1)> <b>&amp;</b>"
    write_session(tmp_path / "claude", 1, [f"look: {nasty}"])
    fill(f"claude={tmp_path / 'claude'}")

    shown = pane.page(archive, pane.Place(session_id(1)), query="img onerror=alert <b>")
    rows, _ = finding.hits(archive, "onerror look", Filters())

    for html in (shown.html, finding.table(rows, ["read"] * len(rows), "img")):
        assert "<img" not in html
        assert "<b>&amp;amp;" not in html
        assert "&lt;" in html


def test_a_topic_of_any_length_is_cut_in_the_list(
    tmp_path: Path, fill: Fill, archive: Archive
) -> None:
    titled = {"type": "custom-title", "customTitle": 1_000 * "e", "sessionId": session_id(1)}
    with write_session(tmp_path / "claude", 1, ["marmalade"]).open("a") as file:
        file.write(json.dumps(titled) + "\n")
    fill(f"claude={tmp_path / 'claude'}")

    rows, _ = finding.hits(archive, "marmalade", Filters())

    assert rows[0]["topic"] == 1_000 * "e"
    assert 170 * "e" not in finding.table(rows, ["read"], "")


def test_what_is_not_here_is_said_in_the_pane(archive: Archive) -> None:
    shown = pane.page(archive, pane.Place("nowhere1"))

    assert "not found" in shown.html
    assert shown.following is None
