"""The MCP server in memory: tools, resources, prompts, limits, what goes wrong."""

import inspect
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import duckdb
import jsonschema  # type: ignore[import-untyped]
import pytest
from mcp import Client, MCPError
from mcp.server import Server
from mcp.types import (
    CallToolResult,
    PromptReference,
    Resource,
    ResourceTemplateReference,
    TextContent,
    TextResourceContents,
)

from etl.pipeline import run
from sjduck.archive import Archive, View, question
from sjduck.bounds import MAX_REPLY_BYTES, compact
from sjduck.context import context
from sjduck.errors import SjduckError
from sjduck.freesql import sql
from sjduck.listing import list_documents
from sjduck.reading import get
from sjduck.recall import recall
from sjduck.search import search
from sjduck.server import build_server
from sjduck.server.prompts import PROMPTS
from sjduck.server.tools import Question, Tool, all_tools
from sjduck.settings import load
from sjduck.snapshots import latest_key
from sjduck.status import status
from sjduck.usage import usage
from sjduck.within import search_within
from tests.conftest import SAMPLES, Fill, Quiet
from tests.trees import write_session

pytestmark = pytest.mark.anyio
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sj_recall": recall,
    "sj_list": list_documents,
    "sj_get": get,
    "sj_search_within": search_within,
    "sj_search": search,
    "sj_context": context,
    "sj_usage": usage,
    "sj_sql": sql,
    "sj_status": status,
}
DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def sample_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an archive of the samples, made once."""
    root = tmp_path_factory.mktemp("served") / "archive"
    sources = (
        f"claude={SAMPLES}/claude",
        f"scrubjay={SAMPLES}/scrubjay/storage",
        f"scrubjay-logs={SAMPLES}/scrubjay/data",
    )
    environment = {"SJDUCK_CONFIG": "/nowhere", "CLAUDE_HOST": "testhost"}
    # A zone that is given: this machine's is looked up once a process, and tests have their own.
    settings = load(archive=str(root), timezone="UTC", sources=sources, environment=environment)
    run(settings, "tester", Quiet())
    return root


@pytest.fixture(scope="module")
def samples(sample_root: Path) -> Iterator[Archive]:
    """Return the archive of the samples, opened."""
    opened = Archive(sample_root, timezone="UTC")
    assert not opened.is_empty
    yield opened
    opened.close()


def text_of(result: CallToolResult) -> str:
    """Return the one text of a result."""
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def answer_of(result: CallToolResult) -> dict[str, Any]:
    """Return the answer that a result carries."""
    assert not result.is_error, text_of(result)
    answer: dict[str, Any] = json.loads(text_of(result))
    return answer


def sent_bytes(result: CallToolResult) -> int:
    """Return the size of the message that carries a result."""
    return len(result.model_dump_json(by_alias=True, exclude_none=True).encode()) + 60


async def error_of(server: Server[Any], name: str, arguments: Mapping[str, Any]) -> str:
    """Return the error that a call gets: one line."""
    async with Client(server) as client:
        result = await client.call_tool(name, dict(arguments))

    assert result.is_error
    assert "\n" not in text_of(result)
    return text_of(result)


def tool(answer: Callable[[Question], dict[str, Any]]) -> Tool:
    """Return a tool of a test's own."""
    return Tool("sj_test", "Test", "For a test.", (), answer)


# -- what is offered ----------------------------------------------------------------------


async def test_all_tools_together_cost_a_session_less_than_12000_bytes(samples: Archive) -> None:
    async with Client(build_server(samples), mode="legacy") as client:
        listed = await client.list_tools()

    sent = listed.model_dump_json(by_alias=True, exclude_none=True)
    assert [t.name for t in listed.tools] == list(FUNCTIONS)
    assert len(sent.encode()) < 12_000


async def test_the_page_on_mcp_says_what_each_tool_costs_a_session(samples: Archive) -> None:
    async with Client(build_server(samples), mode="legacy") as client:
        listed = await client.list_tools()
    page = (DOCS / "mcp.md").read_text(encoding="utf-8")
    said = dict(re.findall(r"^\| `(sj_\w+)` \| ([\d,]+) \|", page, re.M))

    sizes = {
        t.name: len(t.model_dump_json(by_alias=True, exclude_none=True).encode())
        for t in listed.tools
    }
    assert said == {name: f"{round(size, -2):,}" for name, size in sizes.items()}


async def test_input_schemas_are_valid_and_say_what_each_parameter_is(samples: Archive) -> None:
    async with Client(build_server(samples)) as client:
        listed = await client.list_tools()

    for offered in listed.tools:
        jsonschema.Draft202012Validator.check_schema(offered.input_schema)
        for name, parameter in offered.input_schema["properties"].items():
            assert parameter["type"] in ("string", "integer", "boolean")
            assert parameter["description"], name
        assert offered.annotations is not None
        assert offered.annotations.read_only_hint


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_tool_takes_what_its_function_takes_with_the_same_defaults(name: str) -> None:
    offered = next(t for t in all_tools() if t.name == name)
    asked = list(inspect.signature(FUNCTIONS[name]).parameters.values())[1:]
    known = {p.name: p.default for p in asked if p.name != "sources"}
    # None: the function's bound is its own, and the environment's.
    caps = dict.fromkeys(("sj_recall", "sj_list", "sj_search_within", "sj_usage"), 12_000)

    for parameter in offered.parameters:
        default = known[parameter.name]
        if parameter.name == "max_chars" and default is None:
            default = caps.get(name)
        assert parameter.is_required == (default is inspect.Parameter.empty)
        assert parameter.is_required or parameter.default == default
    left_out = set(known) - {p.name for p in offered.parameters}
    internal = {
        "sj_status": {"tz", "max_chars"}, "sj_recall": {"fields"}, "sj_sql": {"values", "limits"}
    }  # fmt: skip
    assert left_out <= internal.get(name, set())


async def test_the_server_tells_a_model_what_it_is_for_in_few_words(samples: Archive) -> None:
    async with Client(build_server(samples), mode="legacy") as client:
        instructions = client.instructions or ""
        assert client.server_info is not None
        assert client.server_info.name == "sjduck"

    assert len(instructions) < 1_200
    for name in FUNCTIONS:
        assert name in instructions


def test_the_page_on_mcp_names_every_tool_parameter_and_prompt() -> None:
    page = (DOCS / "mcp.md").read_text(encoding="utf-8")

    for offered in all_tools():
        section = page.split(f"### {offered.name}", 1)[1].split("###", 1)[0]
        for parameter in offered.parameters:
            assert f"`{parameter.name}" in section, (offered.name, parameter.name)
    for prompt in PROMPTS:
        assert f"`{prompt.name}`" in page


# -- answers ------------------------------------------------------------------------------

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("sj_recall", {"query": "fees rounded per fill", "also": "Decimal quantize half up cents"}),
    ("sj_recall", {"query": "发票", "rank": "windows", "k": 3}),
    ("sj_recall", {"query": "nothing-of-this-stands-anywhere"}),
    ("sj_list", {}),
    ("sj_list", {"type": "log"}),
    ("sj_list", {"fields": "full", "sort": "size", "include_sidechains": True}),
    ("sj_get", {"ref": "b25d8e61"}),
    ("sj_get", {"ref": "b25d8e61", "format": "condensed"}),
    ("sj_get", {"ref": "b25d8e61", "format": "raw"}),
    ("sj_get", {"ref": "nothing"}),
    ("sj_search_within", {"ref": "b25d8e61", "query": "fee"}),
    ("sj_search", {"query": '"half up" fees -nothing', "role": "assistant"}),
    ("sj_search", {"query": "发票", "include_low_signal": True, "limit": 3}),
    ("sj_search", {"query": "rounnding"}),
    ("sj_context", {"ref": "b25d8e61", "line": 12}),
    ("sj_context", {"ref": "b25d8e61", "turn": 2, "before": 0, "after": 1}),
    ("sj_usage", {}),
    ("sj_usage", {"by": "project,model", "since": "2026-01-01", "tz": "Asia/Tokyo"}),
    ("sj_usage", {"by": "tool", "cost": "recorded", "sort": "calls", "order": "asc", "limit": 3}),
    ("sj_sql", {"query": "select sid, topic, cost_usd from sessions order by started_at"}),
    ("sj_status", {}),
    ("sj_status", {"detail": "hosts"}),
    ("sj_status", {"detail": "coverage"}),
    ("sj_status", {"detail": "schema"}),
]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize(("name", "arguments"), CALLS)
async def test_a_tool_answers_as_its_function_within_the_default_bounds(
    samples: Archive, name: str, arguments: dict[str, Any], mode: str
) -> None:
    async with Client(build_server(samples), mode=mode) as client:
        result = await client.call_tool(name, arguments)

    more = {"sources": ()} if name == "sj_status" else {}
    assert answer_of(result) == FUNCTIONS[name](samples, **arguments, **more)
    assert text_of(result) == compact(answer_of(result))
    assert result.structured_content == answer_of(result)
    assert sent_bytes(result) <= MAX_REPLY_BYTES
    if name != "sj_get":
        assert len(text_of(result)) <= 12_000


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"limit": "many"}, "sj_list: limit must be a whole number, not 'many'"),
        ({"limit": 1.5}, "sj_list: limit must be a whole number, not 1.5"),
        ({"limit": True}, "sj_list: limit must be a whole number, not True"),
        ({"limit": 0}, "sj_list: limit must be from 1 to 2147483647"),
        ({"limit": 1e300}, "sj_list: limit must be from 1 to 2147483647"),
        ({"offset": -1}, "sj_list: offset must be from 0 to 2147483647"),
        ({"host": 7}, "sj_list: host must be a text, not 7"),
        ({"host": ["a"]}, "sj_list: host must be a text, not ['a']"),
        ({"include_sidechains": "maybe"}, "must be true or false, not 'maybe'"),
        ({"type": "sessions"}, "sj_list: unknown type 'sessions'; one of: transcript, subagent"),
        ({"hots": "vm"}, "sj_list: no argument 'hots'; did you mean host?"),
        ({"zzz\n\x1b[2J": 1}, "sj_list: no argument 'zzz\\n\\x1b[2J'; it takes: type, host"),
        ({"since": "lately"}, "sj_list: can't read since='lately'"),
        ({"tz": "Mars/Base"}, "sj_list: unknown time zone 'Mars/Base'"),
        ({"host": "x" * 10_000, "order": "y" * 10_000}, "sj_list: unknown order 'yyy"),
    ],
)
async def test_a_bad_argument_is_told_in_one_line(
    samples: Archive, arguments: dict[str, Any], complaint: str
) -> None:
    error = await error_of(build_server(samples), "sj_list", arguments)

    assert complaint in error
    assert len(error) < 300


@pytest.mark.parametrize(
    ("name", "arguments", "complaint"),
    [
        ("sj_recall", {}, "sj_recall: query is missing"),
        ("sj_recall", {"query": "a b", "rank": "best"}, "unknown rank 'best'"),
        ("sj_get", {}, "sj_get: ref is missing"),
        ("sj_get", {"ref": ""}, "sj_get: ref is missing"),
        ("sj_get", {"ref": "b25d8e61", "lines": "x-y"}, "can't take lines='x-y'"),
        ("sj_get", {"ref": "b25d8e61", "lines": "1", "turns": "1"}, "turns or lines, not both"),
        ("sj_search_within", {"ref": "b25d8e61", "query": None}, "query is missing"),
        ("sj_status", {"detail": "all"}, "unknown detail 'all'"),
    ],
)
async def test_every_tool_says_what_it_lacks(
    samples: Archive, name: str, arguments: dict[str, Any], complaint: str
) -> None:
    assert complaint in await error_of(build_server(samples), name, arguments)


async def test_what_models_write_instead_of_a_type_is_taken(samples: Archive) -> None:
    sloppy = {"limit": "3", "offset": 2.0, "include_sidechains": "true", "host": "", "tz": None}
    exact = {"limit": 3, "offset": 2, "include_sidechains": True}
    async with Client(build_server(samples)) as client:
        results = [await client.call_tool("sj_list", taken) for taken in (sloppy, exact)]

    assert answer_of(results[0]) == answer_of(results[1])


async def test_an_unknown_sort_falls_back_to_date(samples: Archive) -> None:
    async with Client(build_server(samples)) as client:
        result = await client.call_tool("sj_list", {"sort": "importance"})

    assert answer_of(result)["sort"] == "date desc"


async def test_an_unknown_tool_is_an_error_of_the_protocol(samples: Archive) -> None:
    async with Client(build_server(samples)) as client:
        with pytest.raises(
            MCPError, match="unknown tool 'sj_nothing'; there are: sj_recall, sj_list"
        ):
            await client.call_tool("sj_nothing", {})


async def test_the_environment_sets_the_default_caps(
    samples: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SJMCP_LIST_MAX_CHARS", "900")
    monkeypatch.setenv("SJMCP_GET_MAX_CHARS", "500")
    monkeypatch.setenv("SJMCP_GET_CONDENSED_MAX_CHARS", "700")
    async with Client(build_server(samples)) as client:
        listed = text_of(await client.call_tool("sj_list", {}))
        read = answer_of(await client.call_tool("sj_get", {"ref": "b25d8e61"}))
        asked = {"ref": "b25d8e61", "format": "condensed"}
        condensed = answer_of(await client.call_tool("sj_get", asked))

    assert 600 < len(listed) <= 900
    assert 400 < len(read["content"]) <= 500
    assert 600 < len(condensed["content"]) <= 700


async def test_a_reply_holds_its_bytes_as_sent_and_can_be_read_to_its_end(
    root: Path, tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    # Every quote is two bytes in JSON and four in JSON within JSON.
    said = "\n".join(f'{n} "{"quoted" * (n % 7)}" \\ \t "…"' for n in range(6_000))
    sid = write_session(tmp_path / "source", 1, [said]).stem
    fill(f"claude={tmp_path / 'source'}")
    pieces, following = [], "1-"
    async with Client(build_server(archive), mode="legacy") as client:
        while following:
            asked = {"ref": sid, "lines": following, "max_chars": 200_000}
            result = await client.call_tool("sj_get", asked)
            answer = answer_of(result)
            assert sent_bytes(result) <= MAX_REPLY_BYTES
            assert "max_chars lowered to" in answer["note"]
            pieces.append(answer["content"].split("\n", 1)[1])
            match = re.search(r'lines="([^"]+)"', answer.get("hint", ""))
            following = match[1] if match else ""
        whole = answer_of(await client.call_tool("sj_get", {"ref": sid, "max_chars": 0}))

    assert len(pieces) > 3
    assert "".join(pieces) == whole["content"]
    assert said in whole["content"]


async def test_an_answer_that_no_bound_makes_small_enough_is_an_error(samples: Archive) -> None:
    asked: list[Question] = []

    def large(question: Question) -> dict[str, Any]:
        asked.append(question)
        return {"rows": ["x" * MAX_REPLY_BYTES]}

    async with Client(build_server(samples, offered=[tool(large)])) as client:
        result = await client.call_tool("sj_test", {})

    assert result.is_error
    assert "the answer is larger than a message may be" in text_of(result)
    assert len(asked) <= 3


async def test_structured_content_is_left_out_where_the_message_has_no_room_for_it(
    root: Path, tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    sid = write_session(tmp_path / "source", 1, ["word\n" * 20_000]).stem
    fill(f"claude={tmp_path / 'source'}")
    async with Client(build_server(archive)) as client:
        small = await client.call_tool("sj_get", {"ref": sid, "max_chars": 20_000})
        large = await client.call_tool("sj_get", {"ref": sid, "max_chars": 50_000})

    assert small.structured_content == answer_of(small)
    assert large.structured_content is None
    assert len(answer_of(large)["content"]) > 49_000
    assert sent_bytes(small) <= MAX_REPLY_BYTES
    assert sent_bytes(large) <= MAX_REPLY_BYTES


async def test_a_new_snapshot_answers_without_a_restart(
    root: Path, tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    write_session(tmp_path / "source", 1, ["first"])
    fill(f"claude={tmp_path / 'source'}")
    async with Client(build_server(archive)) as client:
        before = answer_of(await client.call_tool("sj_list", {}))
        write_session(tmp_path / "source", 2, ["second"])
        fill(f"claude={tmp_path / 'source'}")
        after = answer_of(await client.call_tool("sj_list", {}))

    assert (before["total"], after["total"]) == (1, 2)


# -- what goes wrong ----------------------------------------------------------------------


@question
def count_for_ages(view: View) -> dict[str, Any]:
    """Ask what no machine answers within the limit of a test."""
    rows = view.rows("select count(*) as n from range(100_000_000) a, range(100_000_000) b")
    return {"counted": rows[0]["n"]}


class Slow:
    """A tool that takes ages, and notes how its question ended."""

    def __init__(self) -> None:
        self.began, self.ended = threading.Event(), threading.Event()
        self.error: Exception | None = None

    def answer(self, asked: Question) -> dict[str, Any]:
        self.began.set()
        try:
            return count_for_ages(asked.archive)
        except SjduckError as error:
            self.error = error
            raise
        finally:
            self.ended.set()


async def test_a_question_that_takes_too_long_is_ended_and_the_server_lives_on(
    samples: Archive,
) -> None:
    slow = Slow()
    server = build_server(samples, offered=(*all_tools(), tool(slow.answer)), time_limit_s=1)
    async with Client(server) as client:
        late = await client.call_tool("sj_test", {})
        await anyio.to_thread.run_sync(partial(slow.ended.wait, 10))
        after = await client.call_tool("sj_status", {})

    assert late.is_error
    assert text_of(late).startswith("sj_test: no answer within 1 seconds")
    assert slow.error is not None
    assert isinstance(slow.error.__cause__, duckdb.InterruptException)
    assert answer_of(after)["documents"]


async def test_a_question_that_its_client_cancels_is_ended(samples: Archive) -> None:
    slow = Slow()
    server = build_server(samples, offered=(*all_tools(), tool(slow.answer)))
    async with Client(server, mode="legacy") as client:
        async with anyio.create_task_group() as calls:
            calls.start_soon(client.call_tool, "sj_test", {})
            await anyio.to_thread.run_sync(partial(slow.began.wait, 10))
            calls.cancel_scope.cancel()
        ended = await anyio.to_thread.run_sync(partial(slow.ended.wait, 10))
        after = await client.call_tool("sj_status", {})

    assert ended
    assert slow.error is not None
    assert answer_of(after)["documents"]


async def test_a_stopped_question_asks_nothing_more(samples: Archive) -> None:
    asked_again: list[str] = []

    def ask_again(asked: Question) -> dict[str, Any]:
        for _ in range(2):
            try:
                count_for_ages(asked.archive)
            except SjduckError as error:
                asked_again.append(type(error).__name__)
        ended.set()
        return {}

    ended = threading.Event()
    server = build_server(samples, offered=(tool(ask_again),), time_limit_s=1)
    async with Client(server) as client:
        late = await client.call_tool("sj_test", {})
        await anyio.to_thread.run_sync(partial(ended.wait, 10))

    assert late.is_error
    assert asked_again == ["SjduckError", "Stopped"]


async def test_fifty_calls_at_once_are_all_answered(samples: Archive) -> None:
    results: dict[int, CallToolResult] = {}
    async with Client(build_server(samples)) as client:

        async def call(number: int) -> None:
            name, arguments = CALLS[number % len(CALLS)]
            results[number] = await client.call_tool(name, arguments)

        async with anyio.create_task_group() as calls:
            for number in range(50):
                calls.start_soon(call, number)

    assert len(results) == 50
    for number, result in results.items():
        assert answer_of(result) == answer_of(results[number % len(CALLS)])


async def test_an_unforeseen_failure_shows_no_text_of_a_transcript(
    samples: Archive, capfd: pytest.CaptureFixture[str]
) -> None:
    secrets = ["a secret of the transcript", "another secret"]

    def fail(_: Question) -> dict[str, Any]:
        try:
            return {"n": int(secrets[0])}
        except ValueError as error:
            raise KeyError(secrets[1]) from error

    async with Client(build_server(samples, offered=(tool(fail), *all_tools()))) as client:
        failed = await client.call_tool("sj_test", {})
        after = await client.call_tool("sj_status", {})

    narrated = capfd.readouterr()
    assert failed.is_error
    assert text_of(failed) == (
        "sj_test: failed unexpectedly (KeyError); its traceback is on stderr"
    )
    assert "in fail" in narrated.err
    assert "ValueError" in narrated.err
    assert not any(secret in narrated.err for secret in secrets)
    assert narrated.out == ""
    assert answer_of(after)["documents"]


async def test_an_archive_that_cannot_be_read_is_an_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    archive = Archive(tmp_path / "file", timezone="UTC")

    error = await error_of(build_server(archive), "sj_list", {})

    assert "is not a folder; name a folder as archive" in error


# -- an archive that never was filled -----------------------------------------------------


async def test_the_first_question_fills_the_archive_in_the_background(
    tmp_path: Path, root: Path, archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", f"{SAMPLES}/claude")
    # A client starts the server in its user's project, which may have an etl of its own.
    (tmp_path / "etl.py").write_text("raise SystemExit('not ours')")
    monkeypatch.chdir(tmp_path)
    server = build_server(archive, sources=load(archive=str(root)).sources)
    async with Client(server) as client:
        first = answer_of(await client.call_tool("sj_list", {}))
        resources = await client.list_resources()
        with pytest.raises(MCPError, match="the archive is being filled; the first fill"):
            await client.read_resource("sj://plan/testhost/any")
        answer = first
        with anyio.fail_after(60):
            while "error" in answer:
                assert answer["error"] == "the archive is being filled"
                answer = answer_of(await client.call_tool("sj_list", {}))

    assert "ask again in a minute" in first["hint"]
    assert first["archive"] == str(root)
    assert first["sources"][0]["is_reachable"]
    assert resources.resources == []
    assert answer["total"] > 10


async def test_an_archive_with_no_source_says_so(archive: Archive) -> None:
    async with Client(build_server(archive)) as client:
        await client.list_tools()
        answers = [answer_of(await client.call_tool(name, {})) for name in ("sj_list", "sj_status")]

    for answer in answers:
        assert answer["error"] == "no archive, and no source to fill one from"
        assert "sjduck etl --source KIND=PATH" in answer["hint"]


async def test_the_fill_begins_before_the_first_question(
    root: Path, archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", f"{SAMPLES}/claude")
    server = build_server(archive, sources=load(archive=str(root)).sources)
    async with Client(server) as client:
        await client.list_tools()
        with anyio.fail_after(60):
            while not latest_key(root):
                await client.list_prompts()
        answer = answer_of(await client.call_tool("sj_list", {}))

    assert answer["total"] > 10


async def test_a_source_that_is_not_mounted_is_named(
    tmp_path: Path, root: Path, archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRUBJAY_LOCAL_CHATS", str(tmp_path / "unmounted"))
    server = build_server(archive, sources=load(archive=str(root)).sources)
    async with Client(server) as client:
        answer = answer_of(await client.call_tool("sj_list", {}))

    assert answer["hint"] == "none of its sources is there; check that they are mounted"
    unmounted = {"kind": "scrubjay", "path": f"{tmp_path}/unmounted", "is_reachable": False}
    assert answer["sources"] == [unmounted]


async def test_a_fill_that_fails_says_why(
    root: Path, archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", f"{SAMPLES}/claude")
    monkeypatch.setenv("SJDUCK_WRITER", "../elsewhere")
    server = build_server(archive, sources=load(archive=str(root)).sources)
    async with Client(server) as client:
        error = "the archive is being filled"
        with anyio.fail_after(60):
            while error == "the archive is being filled":
                error = answer_of(await client.call_tool("sj_list", {}))["error"]

    assert error.startswith("the archive could not be filled: SJDUCK_WRITER may hold letters")


# -- resources ----------------------------------------------------------------------------


async def all_pages(client: Client) -> list[list[Resource]]:
    """Return the pages of the resources."""
    pages, cursor = [], None
    while True:
        listed = await client.list_resources(cursor=cursor)
        pages.append(listed.resources)
        cursor = listed.next_cursor
        if cursor is None:
            return pages


async def read_text(client: Client, uri: str) -> str:
    """Return the text of a resource."""
    (contents,) = (await client.read_resource(uri)).contents
    assert isinstance(contents, TextResourceContents)
    return contents.text


async def test_every_listed_resource_can_be_read(samples: Archive) -> None:
    async with Client(build_server(samples)) as client:
        (page,) = await all_pages(client)
        texts = {resource.uri: await read_text(client, resource.uri) for resource in page}

    listed = list_documents(samples, limit=100)
    assert len(texts) == listed["total"] == len(page)
    assert all(texts.values())
    for uri, text in texts.items():
        assert text == get(samples, uri)["content"]


async def test_resources_have_titles_for_people(samples: Archive) -> None:
    async with Client(build_server(samples)) as client:
        (page,) = await all_pages(client)

    titles = {resource.uri: resource.title for resource in page}
    session = "sj://transcript/testhost/orderbook/b25d8e61-7f40-4c9a-9d36-48e1a07cf592"
    topic = "Fee totals a few cents too low: rounding of partial fills"
    assert titles[session] == f"{topic} · orderbook · 2026-08-18"
    assert all(title and len(title) < 200 for title in titles.values())


async def test_resource_pages_are_newest_first_and_stay_in_place_while_more_comes(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    for number in range(120):
        write_session(tmp_path / "source", number, [f"topic {number}"], day=1 + number % 20)
    fill(f"claude={tmp_path / 'source'}")
    async with Client(build_server(archive)) as client:
        whole = [resource for page in await all_pages(client) for resource in page]
        first = await client.list_resources()
        write_session(tmp_path / "source", 500, ["newer than all"], day=28)
        fill(f"claude={tmp_path / 'source'}")
        second = await client.list_resources(cursor=first.next_cursor)
        newest = (await client.list_resources()).resources[0]

    days = [(resource.title or "")[-10:] for resource in whole]
    assert len({resource.uri for resource in whole}) == 120
    assert days == sorted(days, reverse=True)
    assert [r.uri for r in second.resources] == [r.uri for r in whole[50:100]]
    assert newest.title is not None
    assert newest.title.startswith("newer than all")


async def test_a_long_resource_says_how_to_read_on(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    sid = write_session(tmp_path / "source", 1, ["line\n" * 20_000]).stem
    fill(f"claude={tmp_path / 'source'}")
    async with Client(build_server(archive)) as client:
        (page,) = await all_pages(client)
        text = await read_text(client, page[0].uri)
        told = re.search(r'read on with sj_get ref="([^"]+)" lines="([^"]+)"\]\n$', text)
        assert told is not None
        rest = await client.call_tool("sj_get", {"ref": told[1], "lines": told[2]})

    assert sid in told[1]
    assert len(text) < 24_200
    assert answer_of(rest)["content"].startswith(f"[lines {told[2]} of ")


@pytest.mark.parametrize(
    ("uri", "complaint"),
    [
        ("sj://transcript/a/b/c", "not found or outside the archive"),
        ("sj://plan/../../etc/passwd", "not found or outside the archive"),
        ("file:///etc/passwd", "unknown address"),
        ("nothing", "unknown address"),
    ],
)
async def test_an_unknown_address_is_an_error_of_the_protocol(
    samples: Archive, uri: str, complaint: str
) -> None:
    async with Client(build_server(samples)) as client:
        with pytest.raises(MCPError, match=complaint) as raised:
            await client.read_resource(uri)

    assert raised.value.code == -32602


@pytest.mark.parametrize("cursor", ["", "x", "1", "1.2.3", "9" * 30 + ".1", "' or 1=1"])
async def test_a_cursor_of_no_page_is_an_error_of_the_protocol(
    samples: Archive, cursor: str
) -> None:
    async with Client(build_server(samples)) as client:
        with pytest.raises(MCPError, match="unknown cursor"):
            await client.list_resources(cursor=cursor)


async def test_parts_of_addresses_are_completed_from_the_archive(samples: Archive) -> None:
    async with Client(build_server(samples)) as client:
        templates = (await client.list_resource_templates()).resource_templates

        async def completed(type_: str, part: str, typed: str = "", **known: str) -> list[str]:
            (uri,) = (t.uri_template for t in templates if t.name == type_)
            reference = ResourceTemplateReference(uri=uri)
            argument = {"name": part, "value": typed}
            return (await client.complete(reference, argument, known)).completion.values

        hosts = await completed("transcript", "host")
        projects = await completed("transcript", "project", host="testhost")
        narrowed = await completed("transcript", "project", "ORD")
        stems = await completed("transcript", "stem", "b2", host="testhost", project="orderbook")
        names = await completed("memory", "name", "m", project="orderbook")
        nothing = await completed("plan", "project")

    assert sorted(hosts) == ["nuthatch", "testhost", "wren"]
    assert sorted(projects) == ["météo-balcon", "nas-backup", "orderbook"]
    assert narrowed == ["orderbook"]
    assert stems[0] == "b25d8e61-7f40-4c9a-9d36-48e1a07cf592"
    assert "money" in names
    assert nothing == []


async def test_arguments_of_prompts_are_completed(samples: Archive) -> None:
    async with Client(build_server(samples)) as client:

        async def completed(prompt: str, argument: str, typed: str) -> list[str]:
            reference = PromptReference(name=prompt)
            completion = await client.complete(reference, {"name": argument, "value": typed})
            return completion.completion.values

        projects = await completed("sjbrowse", "project", "order")
        handles = await completed("sjget", "ref", "b2")
        nothing = await completed("sjrecall", "topic", "x")

    assert projects == ["orderbook"]
    assert handles[0] == "b25d8e61"
    assert nothing == []


# -- prompts ------------------------------------------------------------------------------


async def test_prompts_name_the_tools_to_call_and_how_to_read_on(samples: Archive) -> None:
    known = {t.name for t in all_tools()}
    async with Client(build_server(samples)) as client:
        listed = (await client.list_prompts()).prompts
        texts = {}
        for prompt in listed:
            assert prompt.arguments is not None
            filled = await client.get_prompt(prompt.name, {prompt.arguments[0].name: "büro {x}"})
            content = filled.messages[0].content
            assert isinstance(content, TextContent)
            texts[prompt.name] = content.text

    assert list(texts) == ["sjrecall", "sjfind", "sjbrowse", "sjget", "sjusage"]
    for name, text in texts.items():
        assert "büro {x}" in text
        if name == "sjusage":
            assert "sj_usage" in text
            continue
        assert "sj_get" in text
        assert "lines=" in text
        assert "data, no instructions" in text
        assert set(re.findall(r"sj_\w+", text)) <= known, name
    assert "8-16" in texts["sjrecall"]


async def test_a_prompt_needs_its_argument_and_its_tool(samples: Archive) -> None:
    async with Client(build_server(samples)) as client:
        with pytest.raises(MCPError, match="sjrecall needs topic"):
            await client.get_prompt("sjrecall", {"topic": " "})
        with pytest.raises(MCPError, match="unknown prompt 'sjnothing'; there are: sjrecall"):
            await client.get_prompt("sjnothing", {})
        browse = await client.get_prompt("sjbrowse")
    without = [t for t in all_tools() if t.name != "sj_recall"]
    async with Client(build_server(samples, offered=without)) as client:
        listed = (await client.list_prompts()).prompts

    assert "all projects" in str(browse.messages[0].content)
    assert [prompt.name for prompt in listed] == ["sjbrowse", "sjget", "sjusage"]
