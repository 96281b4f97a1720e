"""`sjduck sql`: statements from anywhere, every format, the schema, the shell."""

import csv
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from sjduck import freesql
from sjduck.archive import Archive
from sjduck.cli import main, sqlopen, sqlshell
from sjduck.cli.sqlformats import FORMATS
from sjduck.errors import SjduckError
from sjduck.freesql.setup import Limits
from sjduck.sqlfiles import functions, published
from tests.conftest import Fill
from tests.test_cli import CONTROLS, NASTY, Ran, Run, process
from tests.trees import write_session

ROWS = "select * from (values (1, 'a|b', [1, 2], null), (2, 'ü\nx', [], 1.5)) t(n, text, list, x)"


@pytest.fixture(autouse=True)
def environment(
    monkeypatch: pytest.MonkeyPatch, root: Path, home: Path, fill: Fill
) -> Iterator[None]:
    """Fill and name an archive, leave the width of the terminal out."""
    write_session(home / ".claude", 1, ["count the jars", NASTY])
    fill(f"claude={home}/.claude")
    monkeypatch.setenv("SJDUCK_ARCHIVE", str(root))
    monkeypatch.delenv("COLUMNS", raising=False)
    yield
    freesql.close()


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs `sjduck sql` in this process, at a terminal."""

    def ran(*arguments: str) -> Ran:
        capfd.readouterr()
        monkeypatch.setattr(sys, "argv", ["sjduck", "sql", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capfd.readouterr()
        return Ran(int(left.value.code or 0), out, err)

    return ran


# -- formats -------------------------------------------------------------------------------


def test_a_table_shows_every_column_and_says_how_many_rows(run: Run) -> None:
    ran = run(ROWS)

    assert ran.out.splitlines() == [
        "n  text  list      x",
        "1  a|b   [1,2]  NULL",
        "2  ü x   []      1.5",
    ]
    assert (ran.code, ran.err) == (0, "2 rows\n")


def test_a_table_fits_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")

    wide = run("select repeat('word ', 30) as a, 7 as b, repeat('other ', 9) as c")
    many = run("from sessions")

    assert max(map(len, wide.out.splitlines())) <= 40
    assert "…" in wide.out
    assert many.out.startswith("row 1\n")
    assert "\nsid" in many.out
    assert max(map(len, many.out.splitlines())) <= 40


def test_csv_is_csv(run: Run) -> None:
    ran = run(ROWS, "--format", "csv")

    assert list(csv.reader(io.StringIO(ran.out))) == [
        ["n", "text", "list", "x"], ["1", "a|b", "[1,2]", ""], ["2", "ü\nx", "[]", "1.5"],
    ]  # fmt: skip
    assert ran.err == ""


def test_json_and_ndjson_are_objects(run: Run) -> None:
    objects = [
        {"n": 1, "text": "a|b", "list": [1, 2], "x": None},
        {"n": 2, "text": "ü\nx", "list": [], "x": 1.5},
    ]

    assert json.loads(run(ROWS, "--format", "json").out) == objects
    lines = run(ROWS, "--format", "ndjson").out.splitlines()
    assert [json.loads(line) for line in lines] == objects
    assert json.loads(run("from range(0)", "--format", "json").out) == []
    assert json.loads(run("select 1 as a, 2 as a", "--format", "json").out) == [{"a": 1, "a_1": 2}]


def test_markdown_is_a_table(run: Run) -> None:
    assert run(ROWS, "--format", "markdown").out.splitlines() == [
        "| n | text | list | x |",
        "| --: | --- | --- | --: |",
        "| 1 | a\\|b | [1,2] |  |",
        "| 2 | ü x | [] | 1.5 |",
    ]


def test_parquet_keeps_the_types(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"

    ran = run("select document, sent_at, text, date from messages order by seq", "-o", str(file))
    table = pq.read_table(file)

    assert ran == Ran(0, "", "")
    assert [str(t) for t in table.schema.types] == [
        "int64", "timestamp[us]", "string", "date32[day]",
    ]  # fmt: skip
    assert table.column("text")[0].as_py() == "count the jars"


def test_parquet_has_texts_where_it_lacks_a_type(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    values = {
        "interval 1 month": "1 month",
        "{'a': [interval 1 day]}": '{"a":["1 day"]}',
        "union_value(a := 1)": '{"a":1}',
        "timetz '01:02:03+01'": "01:02:03+01",
        "'101'::bit": "101",
        "(2::uhugeint * 170141183460469231731687303715884105727)": str(2**128 - 2),
        "7": 7,
    }

    listed = ", ".join(f'{value} as "{n} ""x"' for n, value in enumerate(values))
    ran = run(f"select {listed}", "-o", str(file))

    assert ran == Ran(0, "", "")
    assert pq.read_table(file).to_pylist() == [
        {f'{n} "x': value for n, value in enumerate(values.values())}
    ]


@pytest.mark.parametrize("query", ["show tables", "describe sessions", "explain select 1"])
def test_parquet_also_has_what_is_said_of_views_and_plans(
    run: Run, tmp_path: Path, query: str
) -> None:
    ran = run(query, "-o", str(tmp_path / "said.parquet"))

    shown = json.loads(run(query, "--format", "json").out)
    assert ran == Ran(0, "", "")
    assert pq.read_table(tmp_path / "said.parquet").to_pylist() == shown


def test_what_fails_after_rows_came_is_said_and_leaves_no_file(run: Run, tmp_path: Path) -> None:
    late = "if(range < 1500000, '1', 'x')::int"
    ran = run(f"select {late} from range(2000000)", "-o", str(tmp_path / "rows.parquet"))

    assert ran == Ran(2, "", "sjduck: Could not convert string 'x' to INT32\n")
    assert not any(tmp_path.glob("*rows.parquet*"))


def test_parquet_has_as_many_rows_as_were_asked_for(run: Run, tmp_path: Path) -> None:
    run("from range(9)", "--limit", "3", "-o", str(tmp_path / "three.parquet"))

    assert pq.read_table(tmp_path / "three.parquet").num_rows == 3


def test_parquet_without_rows_has_its_columns(run: Run, tmp_path: Path) -> None:
    run("select sid, turns from sessions where false", "-o", str(tmp_path / "none.parquet"))

    assert pq.read_table(tmp_path / "none.parquet").schema.names == ["sid", "turns"]


def test_json_flag_prints_what_the_tool_answers(run: Run, root: Path) -> None:
    query = "select sid from sessions"

    assert run(query, "--json").json == freesql.sql(Archive(root, timezone="UTC"), query)


def test_files_and_pipes_get_all_rows_a_table_gets_100(run: Run, tmp_path: Path) -> None:
    query = "from range(1234)"

    table, csv_ = run(query), run(query, "--format", "csv")
    run(query, "-o", str(tmp_path / "rows.md"))

    assert len(table.out.splitlines()) == 101
    assert table.err == "100 rows; there are more: --limit 0\n"
    assert len(csv_.out.splitlines()) == 1_235
    assert len((tmp_path / "rows.md").read_text().splitlines()) == 1_236
    assert len(run(query, "--limit", "0").out.splitlines()) == 1_235
    assert len(run(query, "--limit", "3", "--format", "ndjson").out.splitlines()) == 3


@pytest.mark.parametrize("format_", [name for name in FORMATS if name != "parquet"])
def test_no_control_character_reaches_a_terminal(run: Run, format_: str) -> None:
    ran = run("select text from messages", "--format", format_)

    assert "red" in ran.out
    assert CONTROLS.search(ran.out) is None


def test_a_file_has_the_text_as_it_is(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "text.json"
    run("select text from messages where turn = 3", "-o", str(file))

    ((row,),) = [json.loads(file.read_text())]
    assert row["text"] == NASTY


# -- where a statement comes from ----------------------------------------------------------


def test_a_statement_comes_from_a_file_or_stdin(run: Run, tmp_path: Path, root: Path) -> None:
    file = tmp_path / "one.sql"
    file.write_text("\ufeff-- how many\nselect count(*) as n from sessions;\n", encoding="utf-8")

    from_file = run("-f", str(file), "--format", "csv")
    from_stdin = process("sql", input="select 'ü' as u", encoding="utf-8")
    from_dash = process("sql", "-", "--format", "csv", input="select 1 as a")

    assert from_file.out == "n\n1\n"
    assert from_stdin.stdout == "u\nü\n"
    assert from_dash.stdout == "a\n1\n"


def test_parameters_are_texts(run: Run) -> None:
    query = "select count(*) as n from sessions where host = $host and turns > $n limit $n"

    found = run(query, "-p", "host=testhost", "-p", "$n=1", "--format", "csv")
    injected = run("select $x as x", "-p", "x=1'; drop table y", "--format", "csv")

    assert found.out == "n\n1\n"
    assert injected.out == "x\n1'; drop table y\n"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["drop table sessions"], 2, "only a SELECT may run here"),
        (["select sidd from sessions"], 2, "no column `sidd` in sessions; nearest: sid"),
        (["select 1", "-p", "x"], 2, "can't take --param 'x'; write NAME=VALUE"),
        (["select $x"], 2, "no value was given for $x"),
        (["select 1", "-o", "rows.txt"], 2, "can't tell the format of rows.txt"),
        (["select 1", "-o", "/nowhere/rows.csv"], 1, "can't write /nowhere/rows.csv: No such file"),
        (["select 1", "--json", "-o", "x.csv"], 2, "give --json, or --format and -o, not both"),
        (["select 1", "-f", "/nowhere.sql"], 2, "'/nowhere.sql' does not exist"),
        (["--schema", "nothing"], 2, "no view 'nothing'; there are: documents"),
        (["from range(1000000000000) a, range(10) b where a.range < 0", "--seconds", "1"], 1,
         "no answer within 1 second;"),
        (["--open"], 1, "pip install harlequin"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_line(
    run: Run, arguments: list[str], code: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    ran = run(*arguments)

    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_file_is_there_when_it_is_whole(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("as before\n")

    ran = run("select 1 / (i - 5000) + ('a' || i)::int from range(9999) t(i)", "-o", str(file))

    assert ran.code == 2
    assert file.read_text() == "as before\n"
    assert list(tmp_path.glob(".rows*")) == []


# -- the schema ----------------------------------------------------------------------------


def test_the_schema_names_views_and_functions(run: Run) -> None:
    listed, columns = run("--schema"), run("--schema", "Sessions")

    names = [line.split()[0] for line in listed.out.splitlines()[1:]]
    assert names == [*published(), *functions()]
    assert [line.split()[0] for line in columns.out.splitlines()[1:]] == [
        column.name for column in published()["sessions"].columns
    ]
    assert run("--schema", "recall", "--json").json[0] == {
        "name": "rank", "type": "INTEGER", "about": "Place in the order, from 1.",
    }  # fmt: skip


# -- the shell -----------------------------------------------------------------------------


def typed(*lines: str) -> Callable[[str], str]:
    """Return what reads these lines, then the end."""
    left = iter(lines)

    def read(prompt: str) -> str:
        try:
            return next(left)
        except StopIteration:
            raise EOFError from None

    return read


def test_the_shell_takes_statements_over_lines_and_goes_on_after_mistakes(
    root: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    archive = Archive(root, timezone="UTC")
    read = typed(
        "", "select 1 as a,", "  2 as b;", "select nope from turns;", ".schema turns", ".oops",
        ".help", "select 3 as c", ";", ".quit", "select 4;",
    )  # fmt: skip

    code = sqlshell.run_shell(archive, Limits(), read)
    out, err = capfd.readouterr()

    assert code == 0
    assert "a  b\n1  2\n" in out
    assert "tool_calls    BIGINT" in out
    assert "c\n3\n" in out
    assert "4" not in out.splitlines()
    assert "sjduck: no column `nope` in turns" in err
    assert "sjduck: no command .oops; .help lists them" in err


def test_the_shell_remembers_what_was_typed(root: Path, home: Path) -> None:
    readline = pytest.importorskip("readline")
    readline.clear_history()
    readline.add_history("select 'remembered';")

    sqlshell.run_shell(Archive(root, timezone="UTC"), Limits(), typed())

    file = home / ".local" / "state" / "sjduck" / "sql_history"
    assert "remembered" in file.read_text()
    assert file.stat().st_mode & 0o077 == 0


def test_names_are_completed() -> None:
    assert sqlshell.completions("daily") == ["daily_usage"]
    assert "tool_calls" in sqlshell.completions("TOOL")
    assert sqlshell.completions("s.cost") == ["s.cost_usd"]
    assert sqlshell.completions("zzz") == []


# -- another program -----------------------------------------------------------------------

READS = """#!{python}
import sys, duckdb
option, file = sys.argv[1:]
with duckdb.connect(file, read_only=True) as connection:
    print(option, connection.sql("select count(*), max(topic) from sessions").fetchone())
    connection.sql("from turns join tool_calls using (document)").fetchall()
print(file)
"""


@pytest.mark.parametrize(("program", "option"), [("harlequin", "-r"), ("duckdb", "-readonly")])
def test_another_program_opens_the_views(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, option: str
) -> None:
    script = tmp_path / "bin" / program
    script.parent.mkdir()
    script.write_text(READS.format(python=sys.executable))
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(script.parent))

    ran = run("--open")
    printed, file = ran.out.splitlines()

    assert printed == f"{option} (1, 'count the jars')"
    assert not os.path.exists(file)


def test_another_program_gets_nothing_that_is_to_be_masked(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "duckdb"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(SjduckError, match="redact is on"):
        sqlopen.open_program(Archive(root, timezone="UTC", redact="secrets"))


@pytest.mark.parametrize("redact", [None, "secrets"])
def test_secrets_are_masked_where_rows_leave(
    root: Path, home: Path, tmp_path: Path, fill: Fill, redact: str | None
) -> None:
    key = "ghp_" + "a1B2c3D4e5F6a7B8c9D0e1F2a3B4c5D6e7F8"
    write_session(home / ".claude", 2, [f"my token is {key}"])
    fill(f"claude={home}/.claude")
    archive = Archive(root, timezone="UTC", redact=redact)
    query = (
        "select text, [text] as list, {'t': text} as s, map {'m': text} as m, sent_at, turn "
        "from messages where turn = 1"
    )

    rows = freesql.sql(archive, query)["rows"]
    with freesql.running(archive, query, as_arrow=True) as result:
        streams = b"".join(result.rows)

    assert (key in str(rows)) == (redact is None)
    assert (key.encode() in streams) == (redact is None)
    assert "my token is" in str(rows)


def test_answers_of_any_type_are_text_for_a_table(run: Run) -> None:
    values: dict[str, Any] = {
        "true": "true",
        "null": "NULL",
        "{'a': 1}": '{"a":1}',
        "1e300": "1e+300",
        "[null]": "[null]",
    }
    ran = run(f"select {', '.join(values)}")

    assert ran.out.splitlines()[1].split() == list(values.values())
