"""Free SQL, run in a process of its own: answers, values of all types, limits, what is held."""

import os
import re
import select
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from etl.pipeline import run
from sjduck import freesql
from sjduck.archive import STOP, Archive, Stop, View
from sjduck.bounds import MAX_REPLY_BYTES, compact
from sjduck.errors import SjduckError, Stopped, UsageError
from sjduck.freesql import _Reading, close, running, sql
from sjduck.freesql.setup import Limits
from sjduck.recall import recall
from sjduck.settings import load
from sjduck.sqlfiles import functions, published
from tests.conftest import SAMPLES, Fill, Quiet
from tests.trees import session_id, write_session

CHECKOUT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Archive]:
    """Return an archive of the samples, made once."""
    root = tmp_path_factory.mktemp("asked") / "archive"
    sources = (f"claude={SAMPLES}/claude", f"scrubjay={SAMPLES}/scrubjay/storage")
    environment = {"SJDUCK_CONFIG": "/nowhere", "CLAUDE_HOST": "testhost"}
    settings = load(archive=str(root), timezone="UTC", sources=sources, environment=environment)
    run(settings, "tester", Quiet())
    yield Archive(root, timezone="Europe/Berlin")
    close()


def value(archive: Archive, expression: str, **options: Any) -> Any:
    """Return the one value of a SELECT."""
    answer = sql(archive, f"select {expression}", **options)
    ((found,),) = answer["rows"]
    return found


# -- answers -------------------------------------------------------------------------------


def test_an_answer_has_columns_types_and_rows(samples: Archive) -> None:
    query = "select sid, turns, cost_usd is null as free from sessions order by turns desc, sid"

    answer = sql(samples, query, limit=2)

    assert answer["columns"] == ["sid", "turns", "free"]
    assert answer["types"] == ["VARCHAR", "INTEGER", "BOOLEAN"]
    assert [len(row) for row in answer["rows"]] == [3, 3]
    assert answer["truncated"]
    assert "limit=4" in answer["more"]


def test_an_answer_that_is_whole_says_so(samples: Archive) -> None:
    assert sql(samples, "from range(3)") == {
        "columns": ["range"], "types": ["BIGINT"], "rows": [[0], [1], [2]], "truncated": False,
    }  # fmt: skip


def test_no_rows_are_an_answer(samples: Archive) -> None:
    answer = sql(samples, "select sid from sessions where false")

    assert (answer["rows"], answer["truncated"]) == ([], False)


def test_values_fill_the_parameters(samples: Archive) -> None:
    query = "select $a || '!', $n + 1, $list, $none, '$a'"

    answer = sql(samples, query, values={"a": "o'b", "n": 2, "list": [1, 2], "none": None})

    assert answer["rows"] == [["o'b!", 3, [1, 2], None, "$a"]]


def test_a_value_is_never_sql(samples: Archive) -> None:
    injected = "x' union select sid from sessions --"

    answer = sql(samples, "select sid from sessions where sid = $sid", values={"sid": injected})

    assert answer["rows"] == []


def test_a_date_is_a_day_of_the_archives_zone(root: Path, home: Path, fill: Fill) -> None:
    write_session(home / ".claude", 1, ["late"], day=1)
    fill(f"claude={home}/.claude")
    query = "select date from sessions union all select date from messages"

    days = {
        tz: sql(Archive(root, timezone=tz), query)["rows"] for tz in ("UTC", "Pacific/Kiritimati")
    }
    close()

    assert set(map(tuple, days["UTC"])) == {("2026-03-01",)}
    assert set(map(tuple, days["Pacific/Kiritimati"])) == {("2026-03-02",)}


def test_macros_answer_as_their_questions_do(samples: Archive) -> None:
    query = "select count(*) > 0, min(rank) from recall('rounding of fees', k := 3)"
    joined = """
        select count(*) from search('half up tie') as hit
        join blocks on blocks.seq = hit.seq join documents using (document)
        where documents.sid = hit.sid and contains(lower(blocks.text), 'half')
    """
    lines = "select text from readable((select min(sid) from sessions)) where line = 1"

    assert sql(samples, query)["rows"] == [[True, 1]]
    assert value(samples, f"({joined})") > 0
    assert value(samples, f"({lines})").startswith("# ")


def test_a_macro_looks_up_more_words_than_are_few_where_nothing_can_be_set(
    samples: Archive,
) -> None:
    def words(view: View) -> int:
        return len(view.rows("select unnest(string_split(words, chr(10))) as w from lexicon"))

    recall(samples, "e")

    assert samples.ask(words) > 50
    assert value(samples, "count(*) from recall('e')") > 0


def test_what_a_macro_refuses_is_said(samples: Archive) -> None:
    with pytest.raises(UsageError, match=r"^nothing to recall; give a few words of the topic$"):
        sql(samples, "from recall('')")
    with pytest.raises(UsageError, match=r"^not found or outside the archive: nobody$"):
        sql(samples, "from readable('nobody')")


def test_the_schema_is_described(samples: Archive) -> None:
    tables = sql(samples, "show tables")
    columns = sql(samples, "describe sessions", max_chars=0)

    assert ["blocks", "One row a content block of a document, in the document's order."] in (
        tables["rows"]
    )
    assert "stored_blocks" not in str(tables)
    assert ["turns", "INTEGER", "Turns of the readable."] in columns["rows"]


def test_a_plan_is_explained(samples: Archive) -> None:
    ((key, plan),) = sql(samples, "explain select count(*) from blocks")["rows"]

    assert key == "physical_plan"
    assert "AGGREGATE" in plan


def test_a_newer_snapshot_answers(root: Path, home: Path, fill: Fill) -> None:
    archive = Archive(root, timezone="UTC")
    write_session(home / ".claude", 1, ["one"])
    fill(f"claude={home}/.claude")
    before = value(archive, "count(*) from sessions")
    write_session(home / ".claude", 2, ["two"])
    fill(f"claude={home}/.claude")

    assert (before, value(archive, "count(*) from sessions")) == (1, 2)
    close()


def test_an_archive_that_was_never_filled_has_no_rows(root: Path) -> None:
    archive = Archive(root, timezone="UTC")

    assert sql(archive, "from sessions")["rows"] == []
    assert sql(archive, "from recall('anything')")["rows"] == []
    close()


def test_no_cte_has_the_name_of_what_is_made_for_a_statement(samples: Archive) -> None:
    query = "from sessions, (with priced as (select 1) from priced), (select sum(cost) from priced)"

    for _ in range(2):
        with pytest.raises(UsageError, match="a CTE can't be called `priced`"):
            sql(samples, query)


# -- bounds --------------------------------------------------------------------------------


def test_a_text_is_cut_and_the_answer_fits(samples: Archive) -> None:
    answer = sql(samples, "select repeat('é', 5000) as text from range(100)")

    assert answer["truncated"]
    assert {len(row[0]) for row in answer["rows"]} == {2_000}
    assert len(compact(answer)) <= 12_000
    assert "max_chars" in answer["more"]


def test_a_row_that_is_more_than_a_message_is_refused(samples: Archive) -> None:
    texts = ", ".join(f"repeat('x', 2000) as c{n}" for n in range(50))

    with pytest.raises(UsageError, match=r"^one row of these 50 columns takes 10\d,\d+ bytes;"):
        sql(samples, f"select {texts}")
    assert len(sql(samples, f"select {texts}", max_chars=0)["rows"][0]) == 50


def test_without_a_bound_nothing_is_cut(samples: Archive) -> None:
    answer = sql(samples, "select repeat('x', 50000) from range(200)", limit=0, max_chars=0)

    assert [len(row[0]) for row in answer["rows"]] == [50_000] * 200
    assert not answer["truncated"]


def test_a_large_bound_is_lowered_to_a_message(samples: Archive) -> None:
    answer = sql(samples, "from range(1000000)", limit=0, max_chars=10_000_000)

    assert len(compact(answer).encode()) <= MAX_REPLY_BYTES
    assert answer["truncated"]
    assert "lowered" in answer["note"]


@pytest.mark.parametrize("cut", [None, 2_000])
def test_a_nested_value_that_is_cut_is_a_text(samples: Archive, cut: int | None) -> None:
    query = "select range(10000) as numbers"

    with running(samples, query, cut=cut) as result:
        ((found,),) = result.rows

    assert isinstance(found, str if cut else list)
    assert len(found) == (cut or 10_000)


# -- values --------------------------------------------------------------------------------

VALUES = {
    "null": None,
    "true": True,
    "(-1)::tinyint": -1,
    "sum(2::bigint)": 2,
    "18446744073709551615::ubigint": 18_446_744_073_709_551_615,
    "170141183460469231731687303715884105727::hugeint": "170141183460469231731687303715884105727",
    "1.50::decimal(9, 2)": 1.5,
    "0.1234567890123456789::decimal(19, 19)": "0.1234567890123456789",
    "1e308": 1e308,
    "'nan'::double": "nan",
    "'-inf'::float": "-inf",
    "'a\nb\t\"'": 'a\nb\t"',
    "'Ünï 漢字 🦆'": "Ünï 漢字 🦆",
    "date '2026-02-10'": "2026-02-10",
    "'infinity'::date": "infinity",
    "timestamp '2026-02-10 10:00:00.5'": "2026-02-10 10:00:00.5",
    "'290000-01-01 00:00:00'::timestamp": "290000-01-01 00:00:00",
    "timestamptz '2026-02-10 10:00:00+00'": "2026-02-10 11:00:00+01",
    "timestamp_ns '2026-02-10 10:00:00.123456789'": "2026-02-10 10:00:00.123456789",
    "time '10:00'": "10:00:00",
    "'10:00:00+02'::timetz": "10:00:00+02",
    "interval '1 month 2 days 03:00:00'": "1 month 2 days 03:00:00",
    "'\\xAA\\x00'::blob": "\\xAA\\x00",
    "'0101'::bit": "0101",
    "'6ab2c5f8-1d94-4e03-b7a6-f05c92d83e17'::uuid": "6ab2c5f8-1d94-4e03-b7a6-f05c92d83e17",
    "'b'::enum('a', 'b')": "b",
    "[1, null, 3]": [1, None, 3],
    "[1, 2]::integer[2]": [1, 2],
    "[]": [],
    "['nan'::double, 'inf'::double]": ["nan", "inf"],
    "{'a': 1, 'b': [{'c': date '2026-01-01'}]}": {"a": 1, "b": [{"c": "2026-01-01"}]},
    "row(1, 'x')": [1, "x"],
    "map {'k': 1}": {"k": 1},
    "map {1: [2]}": {"1": [2]},
    "union_value(num := 2)": {"num": 2},
    "json(repeat('[', 900) || repeat(']', 900))": "[" * 900 + "]" * 900,
    "json('[1e999, 123456789012345678901234567890]')": ["inf", "123456789012345678901234567890"],
    "json('\"é\\u00e9\"')": "éé",
    "json('{\"a\": [1, 2.5, null]}')": {"a": [1, 2.5, None]},
    "[170141183460469231731687303715884105727::hugeint]": [
        "170141183460469231731687303715884105727"
    ],
    "{'blob': '\\xAA'::blob, 'for': interval '2 days'}": {"blob": "\\xAA", "for": "2 days"},
}


@pytest.mark.parametrize("expression", VALUES, ids=lambda text: text.encode("ascii", "replace"))
def test_a_value_of_any_type_is_json(samples: Archive, expression: str) -> None:
    assert value(samples, expression) == VALUES[expression]


def test_columns_of_one_name_are_all_there(samples: Archive) -> None:
    answer = sql(samples, "select 1 as a, 2 as a, 3 as A")

    assert answer["rows"] == [[1, 2, 3]]
    assert len(answer["columns"]) == 3


# -- what is said of a statement that fails ------------------------------------------------


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (
            "select sessionid from sessions",
            "no column `sessionid` in sessions; nearest: session_id",
        ),
        ("select s.hots from sessions s", "no column `hots` in sessions; nearest: host"),
        ("select zzzzz from turns", "no column `zzzzz` in turns; DESCRIBE turns lists its columns"),
        ("select $x", "no value was given for $x"),
        ("select 'a'::int", "Could not convert string 'a' to INT32"),
        ("select sum(host) from sessions", "No function matches"),
        ("from t", "no view `t`"),
        (f"select {'1 + ' * 2_000} 1", "nested too deeply"),
        ("select max(turns), sid from sessions", 'column "sid" must appear in the GROUP BY'),
        ("select 1 from sessions order by 9", "ORDER term out of range"),
    ],
)
def test_a_mistake_is_said_in_one_line(samples: Archive, query: str, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        sql(samples, query)

    assert said in str(raised.value)
    assert "\n" not in str(raised.value)
    assert str(samples.root) not in str(raised.value)


def test_a_value_that_no_parameter_takes_is_said(samples: Archive) -> None:
    with pytest.raises(UsageError, match="excess parameters: y"):
        sql(samples, "select 1", values={"y": 1})


def test_a_file_that_is_gone_is_the_archives_fault(root: Path, home: Path, fill: Fill) -> None:
    write_session(home / ".claude", 1, ["one"])
    fill(f"claude={home}/.claude")
    for file in root.glob("blocks/**/*.parquet"):
        file.unlink()

    with pytest.raises(SjduckError, match="run 'sjduck doctor'") as raised:
        sql(Archive(root, timezone="UTC"), "select text from blocks")
    close()

    assert ".parquet" not in str(raised.value)


def test_a_folder_that_is_gone_is_the_archives_fault_too(
    root: Path, home: Path, fill: Fill
) -> None:
    write_session(home / ".claude", 1, ["one"])
    fill(f"claude={home}/.claude")
    archive = Archive(root, timezone="UTC")
    query = "select max(length(text)) from blocks"
    sql(archive, query)
    shutil.rmtree(root / "blocks")

    with pytest.raises(SjduckError, match=r"^a file of the archive can't be read; run 'sjduck d"):
        sql(archive, query)
    close()


def test_rows_that_end_since_a_file_is_gone_are_no_answer() -> None:
    reading = _Reading(iter([{"rows": [[1]]}, {"gone": True}]))
    rows = reading.rows()

    assert next(rows) == [1]
    with pytest.raises(SjduckError, match="run 'sjduck doctor'"):
        next(rows)
    assert not reading.has_ended


# -- limits --------------------------------------------------------------------------------

ENDLESS = {
    "a cross join": "select count(*) from range(1e12::bigint) a, range(1e12::bigint) b",
    "a recursion": "with recursive t(n) as (select 1 union all select n + 1 from t) "
    "select max(n) from t",
    "a pattern": "select count(*) from range(1000000) t(i) "
    "where regexp_matches(repeat('a', 1000000 + i::int), '(a|aa)+(a?){20}b')",
    "a list": "select sum(len(list_sort(range(1000000 + i)))) from range(1000000) t(i)",
    "words": "select sum(levenshtein(repeat('a', 20000 + i::int), repeat('b', 20000))) "
    "from range(1000000) t(i)",
}


@pytest.mark.parametrize("query", ENDLESS.values(), ids=ENDLESS)
def test_a_statement_that_does_not_end_is_killed(samples: Archive, query: str) -> None:
    with pytest.raises(SjduckError, match=r"no answer within 1 second;|MB of memory"):
        sql(samples, query, limits=Limits(seconds=1))


def test_the_next_statement_after_a_killed_one_is_answered(samples: Archive) -> None:
    with pytest.raises(SjduckError):
        sql(samples, ENDLESS["a cross join"], limits=Limits(seconds=1))

    assert value(samples, "1") == 1


HUNGRY = {
    "a long text": "select length(repeat('x', 3000000000))",
    "long texts": "select max(length(repeat('x', 900000000 + i::int))) from range(9) t(i)",
    "a format": "select format('{:2000000000}', 1)",
    "a list": "select len(list(i)) from range(1000000000) t(i)",
    "a sort": "select max(n) from (select row_number() over (order by hash(i)) as n "
    "from range(1000000000) t(i))",
    "a join": "select count(*) from range(300000000) a join range(300000000) b using (range)",
    "groups": "select count(*) from (select distinct hash(i) from range(1000000000) t(i))",
    "a concatenation": "select length(string_agg(repeat('x', 1000000), '')) from range(9999)",
    "a list of texts": "select [repeat('x', 100000) || i for i in range(100000)]",
}


@pytest.mark.skipif(sys.platform != "linux", reason="Linux bounds a process's memory")
@pytest.mark.parametrize("query", HUNGRY.values(), ids=HUNGRY)
def test_a_statement_that_takes_too_much_memory_fails_alone(samples: Archive, query: str) -> None:
    with pytest.raises(SjduckError, match=r"more than 256 MB of memory|ended its process"):
        sql(samples, query, limits=Limits(memory_mb=256))


def test_a_question_that_nobody_waits_for_is_ended(samples: Archive) -> None:
    stop = Stop()
    token = STOP.set(stop)
    timer = threading.Timer(0.5, stop.now)
    timer.start()
    try:
        with pytest.raises(Stopped):
            sql(samples, ENDLESS["a cross join"])
    finally:
        STOP.reset(token)
        timer.join()


def test_a_statement_that_waits_for_others_is_ended_with_its_question(
    samples: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = Stop()
    token = STOP.set(stop)
    full = threading.BoundedSemaphore(1)
    monkeypatch.setattr(freesql, "_slots", full)
    timer = threading.Timer(0.1, stop.now)
    timer.start()
    try:
        with full, pytest.raises(Stopped):
            sql(samples, "select 1", limits=Limits(seconds=0))
        STOP.reset(token)
        token = STOP.set(None)
        with full, pytest.raises(SjduckError, match="other statements are running"):
            sql(samples, "select 1", limits=Limits(seconds=0.01))
        assert value(samples, "1") == 1
    finally:
        STOP.reset(token)
        timer.join()


def test_many_statements_at_once_are_all_answered(samples: Archive) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda number: value(samples, f"{number}"), range(24)))

    assert found == list(range(24))


ASKS_FOR_EVER = """
import sys
from pathlib import Path
from sjduck import freesql
from sjduck.archive import Archive
archive = Archive(Path(sys.argv[1]), timezone="UTC")
rows = "from range(1000000000000)"
with freesql.running(archive, rows) as result:
    print("asked", flush=True)
    sum(1 for _ in result.rows)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="finds and awaits a grandchild by /proc")
def test_the_process_ends_with_the_one_that_asked(samples: Archive) -> None:
    asking = subprocess.Popen(
        [sys.executable, "-c", ASKS_FOR_EVER, str(samples.root)],
        cwd=CHECKOUT, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert asking.stdout is not None
    assert asking.stdout.readline() == "asked\n"
    (number,) = Path(f"/proc/{asking.pid}/task/{asking.pid}/children").read_text().split()
    child = os.pidfd_open(int(number))

    asking.send_signal(signal.SIGKILL)
    asking.wait()
    asking.stdout.close()
    ended, _, _ = select.select([child], [], [], 60)
    os.close(child)

    assert ended


# -- what the page on SQL shows -----------------------------------------------------------

PAGE = (CHECKOUT / "docs" / "sql.md").read_text(encoding="utf-8")
SHOWN = [
    statement
    for block in re.findall(r"^```sql\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    for statement in block.split(";\n")
    if statement.strip()
]


@pytest.mark.parametrize("statement", SHOWN)
def test_a_statement_of_the_page_on_sql_runs(samples: Archive, statement: str) -> None:
    assert sql(samples, statement)["columns"]


def test_the_page_on_sql_names_every_view_and_function() -> None:
    assert len(SHOWN) > 5
    for name in (*published(), *functions()):
        assert f"`{name}`" in PAGE or f"{name}('" in PAGE, name


# -- behind the gate -----------------------------------------------------------------------

# Were the gate to let something pass: this is what the process itself holds back. (Of the list
# in the gate's tests it lets enable_logging() run, which then has no place to write to.)
BEHIND = """
import sys
from pathlib import Path
from sjduck.freesql.child import Desk
from sjduck.freesql.setup import Limits, Setup
from sjduck.settings import STANDARD_MODEL, TABLE_PRICES
from sjduck.snapshots import read_snapshot
snapshot = read_snapshot(Path(sys.argv[1]))
desk = Desk(Setup(snapshot, "UTC", TABLE_PRICES, STANDARD_MODEL, None, Limits()))
request = {"query": "select 1", "values": {}, "limit": 1, "cut": None, "as_arrow": False}
assert list(desk.answer(request))[-1] == {"end": True}
for statement in sys.stdin.read().split(";"):
    try:
        desk._connection.execute(statement).fetchall()
        print("RAN", statement)
    except Exception as error:
        print(type(error).__name__)
"""
HELD_BACK = (
    "from read_text('/etc/passwd')", "from read_csv('/etc/hosts')", "from glob('/etc/*')",
    "from '/etc/hosts.csv'", "copy (select 1) to '/tmp/sjduck-escaped.csv'",
    "attach '/tmp/sjduck-escaped.duckdb'", "export database '/tmp/sjduck-escaped'",
    "set enable_external_access = true", "set memory_limit = '100GB'", "set threads = 64",
    "set temp_directory = '/tmp'", "reset lock_configuration", "install httpfs",
    "load '/tmp/x.duckdb_extension'", "create secret (type s3)",
    "from STATEMENT_OF_A_PYTHON_VARIABLE",
)  # fmt: skip


def test_the_process_itself_opens_nothing_else(samples: Archive) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", BEHIND, str(samples.root)],
        cwd=CHECKOUT, input=";".join(HELD_BACK), capture_output=True, text=True, check=False,
    )  # fmt: skip

    printed = ran.stdout.splitlines()
    assert len(printed) == len(HELD_BACK), ran.stderr
    assert [line for line in printed if line.startswith("RAN")] == []
    assert not list(Path("/tmp").glob("sjduck-escaped*"))


def test_nothing_is_written_into_the_archive(root: Path, home: Path, fill: Fill) -> None:
    write_session(home / ".claude", 1, ["one"])
    fill(f"claude={home}/.claude")
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}

    sql(Archive(root, timezone="UTC"), "select count(*) from blocks join sessions using (document)")
    close()

    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before
    assert session_id(1) not in str(home / ".cache")
