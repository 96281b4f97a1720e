"""The public names of the package."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import polars as pl
import pytest

import sjduck
from sjduck.archive import Archive
from sjduck.errors import SjduckError, UsageError
from sjduck.listing import list_documents
from sjduck.recall import recall
from tests.conftest import SAMPLES, Fill
from tests.trees import write_session


@pytest.fixture
def opened(fill: Fill, root: Path) -> sjduck.Archive:
    """Return the samples as a user of the package opens them."""
    fill(f"claude={SAMPLES}/claude", f"scrubjay={SAMPLES}/scrubjay/storage")
    return sjduck.open(str(root))


def test_an_archive_is_opened_by_path_or_by_configuration(
    tmp_path: Path, root: Path, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_session(tmp_path / "claude", 1, ["one"])
    fill(f"claude={tmp_path}/claude")
    monkeypatch.setenv("SJDUCK_ARCHIVE", str(root))

    for opened in (sjduck.open(str(root)), sjduck.open()):
        assert isinstance(opened, sjduck.Archive)
        assert list_documents(opened)["total"] == 1
    assert sjduck.open(as_of="2001-01-01").is_empty


def test_opening_fills_nothing(root: Path) -> None:
    assert sjduck.open(str(root)).is_empty
    assert not root.exists()


def test_a_bad_zone_is_one_of_our_errors() -> None:
    assert issubclass(UsageError, sjduck.SjduckError)
    with pytest.raises(sjduck.SjduckError, match="unknown time zone"):
        sjduck.open(timezone="Mars/Base")


def test_every_question_is_a_method_with_the_tools_fields(
    opened: sjduck.Archive, archive: Archive
) -> None:
    asked = opened.recall("near-duplicate photos hash", k=2)

    assert asked == recall(archive, "near-duplicate photos hash", k=2)
    assert asked.rows == asked["results"]
    assert [row["sid"] for row in opened.list(type="transcript", limit=2).rows] == [
        "b25d8e61", "d70f2b94",
    ]  # fmt: skip
    assert opened.search("half up tie").rows[0]["sid"] == "b25d8e61"
    assert opened.within("6ab2c5f8", "pigeonhole")["matches"] == 1
    assert opened.context("6ab2c5f8", line=12).rows
    assert opened.usage(by="month").rows[0]["calls"] > 0
    assert "error" in opened.get("ffffffff")


def test_an_answer_has_no_bound_unless_asked(opened: sjduck.Archive) -> None:
    whole = opened.get("6ab2c5f8")

    assert "truncated" not in whole
    assert len(opened.get("6ab2c5f8", max_chars=100)["content"]) <= 100 < len(whole["content"])


def test_rows_turn_into_tables(opened: sjduck.Archive) -> None:
    listed = opened.list(limit=5)

    frame = listed.pl()
    assert frame.height == 5
    assert frame["sid"].to_list() == listed.arrow().column("sid").to_pylist()
    # A field that some rows leave out is a column all the same.
    assert set(frame.columns) == {name for row in listed.rows for name in row}
    assert opened.list(project="no such").pl().height == 0
    assert opened.usage(by="model").pl().schema["cost_usd"] == pl.Float64


def test_in_a_notebook_an_answer_is_a_table_and_text_is_never_markup(
    tmp_path: Path, root: Path, fill: Fill
) -> None:
    write_session(tmp_path / "claude", 1, ["why <script>alert(1)</script> & why"])
    fill(f"claude={tmp_path}/claude")
    opened = sjduck.open(str(root))

    for answer in (
        opened.recall("why script"),
        opened.list(),
        opened.get(opened.list().rows[0]["sid"]),
    ):
        shown = answer._repr_html_()
        assert "<script>" not in shown
        assert "&lt;script&gt;" in shown
    assert "<table>" in opened.list()._repr_html_()


def test_sql_gives_a_relation(opened: sjduck.Archive) -> None:
    hosts = opened.sql("select host, count(*) as n from documents group by host order by n desc")
    assert hosts.pl().columns == ["host", "n"]

    dear = opened.sql(
        "select sid, cost_usd from sessions order by cost_usd desc limit $many", many=2
    )
    assert dear.limit(1).fetchall() == [("b25d8e61", pytest.approx(0.400125))]
    assert opened.sql("select sid from recall('near-duplicate photos', k := 1)").fetchall() == [
        ("6ab2c5f8",)
    ]
    with pytest.raises(UsageError, match="one SELECT"):
        opened.sql("create table mine as select 1")
    with pytest.raises(UsageError, match="one SELECT"):
        opened.sql("select 1; select 2")
    with pytest.raises(duckdb.Error, match="session_id"):
        opened.sql("select sessionid from sessions")


def test_threads_ask_sql_of_one_archive_at_once(opened: sjduck.Archive) -> None:
    views = ("sessions", "tool_calls", "search('photos', k := 3)")
    counts = [opened.sql(f"select count(*) from {view}").fetchall()[0][0] for view in views]

    def asked(number: int) -> list[tuple[int, int]]:
        view = views[number % len(views)]
        query = f"select $number::int, count(*) from {view}"
        return opened.sql(query, number=number).fetchall()

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(asked, range(48)))

    assert answers == [[(number, counts[number % len(views)])] for number in range(48)]


def test_recall_in_sql_goes_by_the_numbers_of_its_own_database(opened: sjduck.Archive) -> None:
    query = "select sid from recall('photos', k := 3) order by rank"
    found = [(row["sid"],) for row in opened.recall("photos", k=3).rows]

    # What questions keep is of use on no other database.
    opened.ask(lambda view: view.kept.update(dict.fromkeys(view.kept, object())))

    assert opened.sql(query).fetchall() == found
    assert opened.connection().sql(query).fetchall() == found


def test_sql_sees_what_a_later_run_took_in(tmp_path: Path, root: Path, fill: Fill) -> None:
    home = tmp_path / "claude"
    write_session(home, 1, ["one"])
    fill(f"claude={home}")
    opened = sjduck.open(str(root))
    count = "select count(*) from sessions"
    assert opened.sql(count).fetchall() == [(1,)]

    write_session(home, 2, ["two"])
    fill(f"claude={home}")

    assert opened.sql(count).fetchall() == [(2,)]


def test_a_connection_is_ones_own_and_shows_every_view(opened: sjduck.Archive, root: Path) -> None:
    before = sorted((file, file.stat().st_mtime_ns) for file in root.rglob("*"))
    connection = opened.connection()

    connection.execute("create table mine as select 'b25d8e61' as sid")
    joined = connection.sql("select topic from sessions join mine using (sid)").fetchall()
    assert joined == [("Fee totals a few cents too low: rounding of partial fills",)]
    for view in ("turns", "messages", "tool_calls", "files_touched", "daily_usage", "prices"):
        assert connection.sql(f"select count(*) from {view}").fetchall()[0][0] > 0, view
    with pytest.raises(duckdb.Error, match="mine"):
        opened.sql("select * from mine")
    assert sorted((file, file.stat().st_mtime_ns) for file in root.rglob("*")) == before


def test_what_is_to_be_masked_is_not_given_raw(tmp_path: Path, root: Path, fill: Fill) -> None:
    write_session(tmp_path / "claude", 1, ["one"])
    fill(f"claude={tmp_path}/claude")
    opened = sjduck.Archive(root, timezone="UTC", redact="secrets")

    for ask in (opened.connection, lambda: opened.sql("select text from blocks")):
        with pytest.raises(SjduckError, match="not masked"):
            ask()
