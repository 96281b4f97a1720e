"""The command line: stdout is data, stderr is narration, exit codes are an API."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from sjduck.cli import main
from sjduck.cli.terminal import clean
from sjduck.listing import list_documents
from sjduck.reading import get
from sjduck.status import status
from sjduck.within import search_within
from tests.conftest import SAMPLES, Fill
from tests.storage import Storage, log_row
from tests.test_listing import SAMPLE_SOURCES
from tests.test_reading import said, tool_results
from tests.trees import session_id, write_session

CHECKOUT = Path(__file__).parent.parent
COMMANDS = (
    "etl",
    "recall",
    "search",
    "list",
    "get",
    "within",
    "context",
    "usage",
    "status",
    "snapshots",
)
NOT_THERE = "2d60a8f3"
NASTY = "\x1b[31mred\x07\x00\x9b2J\u202egnol\r\nnext\rover\x7f"
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command gave."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Return stdout as the one line of JSON that it is."""
        (line,) = self.out.splitlines()
        return json.loads(line)


Run = Callable[..., Ran]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    """Name the archive, leave the width of the terminal out."""
    monkeypatch.setenv("SJDUCK_ARCHIVE", str(root))
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs a command in this process."""

    def ran(*arguments: str) -> Ran:
        capfd.readouterr()
        monkeypatch.setattr(sys, "argv", ["sjduck", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capfd.readouterr()
        return Ran(int(left.value.code or 0), out, err)

    return ran


@pytest.fixture
def samples(fill: Fill) -> None:
    """Fill the archive from the bundled samples."""
    fill(*SAMPLE_SOURCES)


def command(*arguments: str) -> list[str]:
    """Return the command as a process of its own."""
    return [sys.executable, "-c", "from sjduck.cli import main; main()", *arguments]


def process(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command as a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), "PYTHONUTF8": "1"}
    return subprocess.run(
        command(*arguments), env=environment, text=True, capture_output=True, check=False, **options
    )


# -- answers -------------------------------------------------------------------------------


@pytest.mark.usefixtures("samples")
@pytest.mark.parametrize(
    ("arguments", "answered"),
    [
        (["list"], lambda archive: list_documents(archive)),
        (
            ["list", "--type", "log", "--sort", "topic", "--limit", "3", "--offset", "2"],
            lambda archive: list_documents(archive, type="log", sort="topic", limit=3, offset=2),
        ),
        (
            ["list", "--fields", "full", "--host", "wren", "--until", "2026-12-31"],
            lambda archive: list_documents(archive, fields="full", host="wren", until="2026-12-31"),
        ),
        (
            ["get", "c93e07d5", "--turns", "2"],
            lambda archive: get(archive, "c93e07d5", turns="2"),
        ),
        (
            ["get", "c93e07d5", "--format", "condensed", "--lines", "9-", "--max-chars", "90"],
            lambda archive: get(archive, "c93e07d5", format="condensed", lines="9-", max_chars=90),
        ),
        (
            ["within", "c93e07d5", "pdf", "--context", "1", "--max-chars", "900"],
            lambda archive: search_within(archive, "c93e07d5", "pdf", context=1, max_chars=900),
        ),
        (["get", NOT_THERE], lambda archive: get(archive, NOT_THERE)),
        (["status", "--detail", "hosts"], lambda a: status(a, sources=(), detail="hosts")),
        (["status"], lambda archive: status(archive, sources=())),
    ],
)
def test_under_json_a_command_prints_the_answer_itself(
    run: Run, archive: Any, arguments: list[str], answered: Any
) -> None:
    ran = run(*arguments, "--json")

    assert ran.json == json.loads(json.dumps(answered(archive)))
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.usefixtures("samples")
def test_snapshots_under_json(run: Run) -> None:
    answer = run("snapshots", "--json").json

    assert answer["total"] == 1
    assert answer["snapshots"][0]["generation"] == 1


@pytest.mark.usefixtures("samples")
def test_a_list_is_a_table_with_its_count_on_stderr(run: Run) -> None:
    fees = "Fee totals a few cents too low: rounding of partial fills"

    ran = run("list", "--type", "transcript", "--limit", "3")

    assert ran.out.splitlines() == [
        "sid       date        host      project      topic",
        f"b25d8e61  2026-08-18  testhost  orderbook    {fees}",
        "d70f2b94  2026-08-11  testhost  nas-backup   복원 훈련: restic restore drill, August",
        "c93e07d5  2026-06-03  wren      invoice-pdf  发票 PDF 中文显示成方框",
    ]
    assert ran.err == "3 of 10, by date desc; more: --offset 3\n"
    assert ran.code == 0


@pytest.mark.usefixtures("samples")
def test_a_list_names_what_has_no_handle(run: Run) -> None:
    mixed = run("list", "--limit", "4")
    notes = run("list", "--type", "note")

    assert mixed.out.splitlines()[3].startswith("          2026-06-04  plan")
    assert "read by its name: sjduck list --type plan" in mixed.err
    assert notes.out.splitlines()[1] == (
        "2026-02-14_bk-tree-or-buckets__6ab2c5f8.md  2026-02-14  photo-dedupe  BK-tree or buckets"
    )
    assert run("get", "2026-02-14_bk-tree-or-buckets__6ab2c5f8.md").code == 0


@pytest.mark.usefixtures("samples")
def test_the_catalogue_says_what_is_here(run: Run) -> None:
    lines = run("list", "--type", "log", "--limit", "4").out.splitlines()

    assert lines[0].split() == ["sid", "date", "time", "is", "here", "host", "project", "topic"]
    assert [line.split()[3] for line in lines[1:]] == ["yes", "yes", "yes", "no"]


@pytest.mark.usefixtures("samples")
def test_nothing_found_is_an_answer(run: Run) -> None:
    listed = run("list", "--project", "none such")
    found = run("within", "c93e07d5", "none such")

    assert (listed.code, listed.out) == (0, "")
    assert listed.err == "nothing matches; 'sjduck status' says what is here\n"
    assert (found.code, found.out, found.err) == (0, "", "nothing matches\n")


@pytest.mark.usefixtures("samples")
def test_get_prints_the_document_and_nothing_else(run: Run, archive: Any) -> None:
    ran = run("get", "c93e07d5")

    assert ran.out == get(archive, "c93e07d5")["content"]
    assert ran.err == ""


@pytest.mark.usefixtures("samples")
def test_a_cut_document_names_the_command_that_goes_on(run: Run) -> None:
    ran = run("get", "c93e07d5", "--format", "condensed", "--max-chars", "200")
    assert ran.err.startswith("… cut; 87 lines in all. Go on: sjduck get c93e07d5 --format cond")
    following = run(*re.findall(r"sjduck (get .*?)  \(", ran.err)[0].split())

    assert following.out.startswith("[lines ")
    assert following.code == 0


def test_get_says_which_copy_it_is(run: Run, tmp_path: Path, fill: Fill) -> None:
    storage = Storage(tmp_path)
    storage.session("atlas", session_id(1), ["one"])
    storage.session("borealis", session_id(1), ["one", "two"])
    fill(*storage.sources)

    ran = run("get", session_id(1))

    assert ran.err == f"sj://transcript/borealis/shop/{session_id(1)} (also on atlas)\n"


@pytest.mark.usefixtures("samples")
def test_within_shows_where_and_what(run: Run) -> None:
    ran = run("within", "c93e07d5", "reportlab", "--context", "0")

    assert ran.out.startswith("── line 1\n# 发票 PDF 里的中文公司名显示成方框")
    assert "\n\n── line 7, turn 1\n发票 PDF 里的中文公司名显示成方框" in ran.out
    assert ran.err == "4 lines match\n"


def test_recall_of_a_thought_names_its_turn_and_how_to_read_it(
    run: Run, tmp_path: Path, fill: Fill
) -> None:
    file = write_session(tmp_path / "claude", 1, ["hello"])
    thought = '[{"type": "thinking", "thinking": "closed bakery"}, {"type": "text"'
    file.write_text(file.read_text().replace('[{"type": "text"', thought, 1))
    fill(f"claude={tmp_path}/claude")

    ran = run("recall", "closed")

    assert ran.code == 0
    assert "0/1 terms · not in the readable\n" in ran.out
    assert "  turn 2  closed bakery\n" in ran.out
    assert f"sjduck context {session_id(1)[:8]} --turn 2" in ran.out


@pytest.mark.usefixtures("samples")
def test_status_is_a_summary(run: Run, root: Path) -> None:
    lines = run("status").out.splitlines()

    assert lines[0].startswith(f"archive   {root}, ")
    assert lines[1] == (
        "holds     4 logs, 10 memories, 2 notes, 4 plans, 2 subagents, 10 transcripts"
    )
    assert lines[2].startswith("index     1 file, ")
    assert lines[3].startswith("lacking   5 sessions that a catalogue knows")
    assert lines[4].startswith("writer    tester on testhost: generation 1 of ")


@pytest.mark.usefixtures("samples")
def test_every_detail_is_a_table(run: Run) -> None:
    hosts = run("status", "--detail", "hosts").out
    coverage = run("status", "--detail", "coverage").out
    schema = run("status", "--detail", "schema").out
    kept = run("snapshots").out

    assert "wren       2026-06-03 02:18" in hosts
    assert "1 log, 1 plan, 2 transcripts" in hosts
    assert "2d60a8f3  2026-05-11  wren" in coverage
    assert re.search(r"^documents +project +VARCHAR +Last component of cwd", schema, re.MULTILINE)
    assert kept.splitlines()[1].split()[2:4] == ["1", "testhost"]


# -- exit codes ----------------------------------------------------------------------------


@pytest.mark.usefixtures("samples")
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_pointer_is_an_answer(run: Run, options: list[str]) -> None:
    ran = run("get", NOT_THERE, *options)

    assert ran.code == 0
    assert "wren" in ran.out
    if not options:
        assert ran.err == (
            "no transcript in this archive: look on wren, or run 'sjduck etl' there\n"
        )


@pytest.mark.usefixtures("samples")
@pytest.mark.parametrize("options", [[], ["--json"]])
@pytest.mark.parametrize("asked", [["get", "nope"], ["within", "nope", "x"], ["get", "MEMORY.md"]])
def test_what_is_not_found_or_ambiguous_fails(
    run: Run, asked: list[str], options: list[str]
) -> None:
    ran = run(*asked, *options)

    assert ran.code == 1
    if options:
        assert ran.json["error"].startswith(("not found", "ambiguous: 4"))
    else:
        assert ran.err.startswith(("sjduck: not found", "sjduck: ambiguous: 4"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lst"], "sjduck: no such command 'lst'; see 'sjduck --help'"),
        (["--nope"], "sjduck: no such option '--nope'"),
        (["list", "--hots", "x"], "sjduck list: no such option '--hots'"),
        (["list", "--limit", "0"], "sjduck list: invalid value for '--limit'"),
        (["list", "--limit", "many"], "sjduck list: invalid value for '--limit'"),
        (["list", "--type", "talk"], "sjduck list: invalid value for '--type'"),
        (["list", "extra"], "sjduck list: got unexpected extra argument (extra)"),
        (["list", "--since", "soon"], "sjduck: can't read since='soon'; write a day such as"),
        (["list", "--tz", "Mars"], "sjduck: unknown time zone 'Mars'; use an IANA name"),
        (["list", "--as-of", "soon"], "sjduck: can't read as-of='soon'; write a day such as"),
        (["recall", "x", "-k", "101"], "sjduck recall: invalid value for '-k'"),
        (["get"], "sjduck get: missing argument 'REF'; see 'sjduck get --help'"),
        (["get", "x", "--lines", "9-2"], "sjduck: can't take lines='9-2'; it ends before it"),
        (["get", "x", "--turns", "1", "--lines", "1"], "sjduck: give turns or lines, not both"),
        (["get", "x", "--max-chars", "-1"], "sjduck get: invalid value for '--max-chars'"),
        (["within", "x", ""], "sjduck: nothing to look for; give a text"),
        (["status", "--detail", "all"], "sjduck status: invalid value for '--detail'"),
    ],
)
@pytest.mark.usefixtures("samples")
def test_bad_usage_is_one_line(run: Run, arguments: list[str], message: str) -> None:
    ran = run(*arguments)

    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith(message)
    assert ran.err.count("\n") == 1


def test_a_group_without_a_command_shows_its_help(run: Run) -> None:
    ran = run("semantic")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("Usage: sjduck semantic [OPTIONS] COMMAND")
    assert "\n  fetch  Fetch the model into your cache folder (23 MB).\n" in ran.err


def test_bad_settings_are_one_line(run: Run, home: Path) -> None:
    config = home / ".config" / "sjduck" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("archiv = '/x'\n")

    ran = run("list")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"sjduck: {config}: unknown key 'archiv'; did you mean 'archive'?\n"


def test_a_file_as_archive_is_one_line(run: Run, root: Path) -> None:
    root.write_text("x")

    for arguments in (["list"], ["get", "x"], ["status"], ["snapshots"]):
        ran = run(*arguments)

        assert (ran.code, ran.out) == (1, "")
        assert ran.err == f"sjduck: {root} is not a folder; name a folder as archive\n"


@pytest.mark.usefixtures("samples")
def test_a_past_that_is_not_kept_is_one_line(run: Run) -> None:
    ran = run("list", "--as-of", "2020-01-01")

    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "sjduck: no snapshot is that old; 'sjduck snapshots' lists those kept\n"


def test_a_past_snapshot_is_read(run: Run, tmp_path: Path, fill: Fill) -> None:
    for number in (1, 2):
        write_session(tmp_path / "claude", number, ["one"])
        fill(f"claude={tmp_path}/claude")
    oldest = run("snapshots", "--json").json["snapshots"][-1]["created_at"]

    assert run("list", "--json").json["total"] == 2
    assert run("list", "--json", "--as-of", oldest).json["total"] == 1
    assert run("list", "--json", "--as-of", "1w").code == 1


# -- the first fill ------------------------------------------------------------------------


def test_without_filling_an_archive_that_never_was_is_nothing_to_read(run: Run, root: Path) -> None:
    for arguments in (["list"], ["get", "x"], ["within", "x", "y"], ["status"], ["snapshots"]):
        ran = run(*arguments, "--no-fill")

        assert (ran.code, ran.out) == (3, "")
        assert ran.err == f"sjduck: no snapshot in {root}; run 'sjduck etl' to make one\n"
    assert not root.exists()


def test_without_a_source_there_is_nothing_to_fill_from(root: Path) -> None:
    ran = process("list")

    assert (ran.returncode, ran.stdout) == (3, "")
    assert "sjduck: no sessions found on this machine; name a source" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_the_first_question_fills_the_archive_and_its_stdout_is_only_the_answer(
    home: Path, root: Path
) -> None:
    write_session(home / ".claude", 1, ["one"])

    first = process("list", "--json")
    second = process("list", "--json")

    assert json.loads(first.stdout)["items"][0]["topic"] == "one"
    assert f"sjduck: no snapshot in {root} yet; taking in the sessions first\n" in first.stderr
    assert "1 new" in first.stderr
    assert (second.stdout, second.stderr) == (first.stdout, "")


def test_a_module_named_etl_where_the_command_runs_is_not_ours(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_session(home / ".claude", 1, ["one"])
    (tmp_path / "etl.py").write_text("raise SystemExit('not ours')")

    ran = process("list", "--json", cwd=tmp_path)

    assert "not ours" not in ran.stderr
    assert json.loads(ran.stdout)["total"] == 1


def test_etl_hands_its_options_and_its_exit_code_over(root: Path) -> None:
    helped = process("etl", "--help")
    filled = process("etl", "--source", f"claude={SAMPLES}/claude", "--json")
    refused = process("etl", "--source", "nonsense")

    assert (helped.returncode, "--source KIND=PATH" in helped.stdout) == (0, True)
    assert json.loads(filled.stdout)["archive"] == str(root)
    assert refused.returncode == 2
    assert refused.stderr == "sjduck: can't take source 'nonsense'; write KIND=PATH\n"


# -- terminals and pipes -------------------------------------------------------------------


@pytest.mark.usefixtures("samples")
@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize(
    "arguments",
    [
        ["list"],
        ["list", "--type", "log"],
        ["list", "--sort", "size", "--include-sidechains"],
        ["status", "--detail", "hosts"],
        ["status", "--detail", "coverage"],
        ["snapshots"],
    ],
)
def test_a_table_fits_the_terminal_and_its_first_columns_are_whole(
    run: Run, monkeypatch: pytest.MonkeyPatch, arguments: list[str], columns: int
) -> None:
    whole = run(*arguments).out.splitlines()
    monkeypatch.setenv("COLUMNS", str(columns))

    lines = run(*arguments).out.splitlines()

    least = cell_len("  ".join(whole[0].split("  ")[:2]))
    assert len(lines) == len(whole)
    assert all(cell_len(line) <= columns for line in lines)
    assert [line[:least] for line in lines] == [line[:least] for line in whole]


@pytest.mark.usefixtures("samples")
@pytest.mark.parametrize("columns", [60, 80, 120])
def test_handles_and_dates_are_never_cut(
    run: Run, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))

    ran = run("list", "--type", "transcript")

    for line in ran.out.splitlines()[1:]:
        assert re.match(r"[0-9a-f]{8}  \d{4}-\d{2}-\d{2}  \S", line)


def test_a_long_project_leaves_room_for_the_topic(
    run: Run, tmp_path: Path, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = Storage(tmp_path)
    storage.memory("-home-somebody-with-a-long-name-in-a-deep-folder", "a.md", "# What we learnt\n")
    fill(*storage.sources)
    monkeypatch.setenv("COLUMNS", "60")

    lines = run("list", "--type", "memory").out.splitlines()

    assert lines[1] == "a.md  -home-somebody-with-a-l…  What we learnt"


def test_a_pipe_gets_whole_cells(run: Run, tmp_path: Path, fill: Fill) -> None:
    storage = Storage(tmp_path)
    storage.session("a-host-with-quite-a-long-name-indeed", session_id(1), ["word " * 24])
    fill(*storage.sources)

    line = run("list").out.splitlines()[1]

    assert "…" not in line
    assert "a-host-with-quite-a-long-name-indeed" in line
    assert line.endswith(("word " * 24).strip())


@pytest.mark.usefixtures("samples")
def test_a_terminal_gets_what_a_pipe_gets_and_bold(root: Path) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 70, 0, 0))
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), "TERM": "xterm"}
    subprocess.run(
        command("list", "--limit", "5"), env=environment, stdout=theirs, check=True,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(theirs)
    printed = os.read(ours, 65_536).decode().replace("\r\n", "\n")
    os.close(ours)

    head, *lines = printed.splitlines()
    assert head.startswith("\x1b[1msid ")
    assert [line.split()[0] for line in lines] == [
        "b25d8e61",
        "d70f2b94",
        "2026-06-04",
        *("c93e07d5", "91e6c3b8"),
    ]
    assert all(cell_len(line) <= 70 for line in lines)
    assert any(cell_len(line) >= 69 for line in lines)


@pytest.mark.parametrize(
    "arguments",
    [
        ["list"],
        ["list", "--type", "log"],
        ["get", session_id(1)],
        ["get", session_id(1), "--format", "raw"],
        ["get", session_id(1), "--format", "condensed"],
        ["within", session_id(1), "next"],
        ["within", session_id(1), "red"],
        ["recall", "next"],
        ["recall", "topic"],
        ["search", "next"],
        ["search", "topic", "--include-low-signal"],
        ["search", NASTY],
        ["context", session_id(1), "--turn", "1"],
        ["context", session_id(1), "--uuid", NASTY],
        ["context", session_id(2), "--line", "1"],
        ["get", session_id(2)],
        ["get", NASTY],
        ["status"],
        ["status", "--detail", "hosts"],
        ["status", "--detail", "coverage"],
    ],
)
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_no_control_character_reaches_the_terminal(
    run: Run, tmp_path: Path, fill: Fill, arguments: list[str], options: list[str]
) -> None:
    storage = Storage(tmp_path)
    title = {"type": "custom-title", "customTitle": NASTY}
    more = [title, *said(NASTY), *tool_results(NASTY)]
    file = storage.session("atlas", session_id(1), [NASTY], more=more, cwd=f"/x/{NASTY}")
    file.write_bytes(file.read_bytes() + b"\x1b[2J torn \x9b line\n")
    log = storage.log("atlas", log_row(session_id(2), "a \x1b[31m \x9b topic", cwd="/y/\x1b[0m"))
    log.write_bytes(log.read_bytes() + b"\x1b not a row\n")
    fill(*storage.sources)

    ran = run(*arguments, *options)

    assert ran.out or ran.err
    assert not CONTROLS.search(ran.out)
    assert not CONTROLS.search(ran.err)
    if options:
        json.loads(ran.out)


def test_cleaning_keeps_lines_and_tabs_and_marks_the_rest() -> None:
    assert clean("a\tb\r\nc\nd") == "a\tb\nc\nd"
    assert clean("a\rb\x1b[0m\x9b\u202e") == "a\ufffdb\ufffd[0m\ufffd\ufffd"
    assert clean("é漢🦆\u200d\u2028") == "é漢🦆\u200d\u2028"


@pytest.mark.usefixtures("samples")
@pytest.mark.parametrize(
    "arguments", [["get", "c93e07d5"], ["list", "--json"], ["status"], ["recall", "pdf"]]
)
def test_a_reader_that_leaves_early_is_no_failure(arguments: list[str]) -> None:
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), "PYTHONUNBUFFERED": "1"}
    reading, writing = os.pipe()
    os.close(reading)

    ran = subprocess.run(
        command(*arguments), env=environment, stdout=writing, stderr=subprocess.PIPE, check=False
    )
    os.close(writing)

    assert b"Traceback" not in ran.stderr
    assert b"Broken" not in ran.stderr
    assert ran.returncode == 0


@pytest.mark.usefixtures("samples")
def test_bytes_that_are_no_text_in_an_argument_are_only_not_found(root: Path) -> None:
    environment = {**os.environb, b"PYTHONPATH": os.fsencode(CHECKOUT)}
    ran = subprocess.run(
        [os.fsencode(part) for part in command("get")] + [b"\xff\xfe"],
        env=environment, capture_output=True, check=False,
    )  # fmt: skip

    assert ran.returncode == 1
    assert b"not found" in ran.stderr
    assert b"Traceback" not in ran.stderr


# -- help ----------------------------------------------------------------------------------


def test_without_a_command_the_help_is_shown(run: Run) -> None:
    bare, asked = run(), run("--help")

    assert bare == asked
    assert bare.code == 0
    assert all(f"\n  {name} " in bare.out for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS[1:])
def test_every_option_says_what_it_does(run: Run, name: str) -> None:
    helped = run(name, "--help").out

    for option in re.findall(r"^  (--[a-z-]+(?: [A-Z]+)?)$", helped, re.MULTILINE):
        assert re.search(rf"^  {re.escape(option)}\n +\S", helped, re.MULTILINE), option


def test_the_version_is_said(run: Run) -> None:
    assert run("--version").out == "sjduck 0.1.0\n"
