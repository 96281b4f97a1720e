"""GitHub Copilot CLI's session files, one event a line: each sample beside the rows it gives."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from etl.sources.copilot import claims
from etl.sources.copilot_calls import MAX_UNLOGGED
from sjduck.archive import Archive
from sjduck.refs import resolve, uri
from sjduck.settings import Source
from sjduck.spending import prepare
from tests.conftest import Fill
from tests.flattened import Flat, expected, flatten_file, golden, samples
from tests.odd import Record, odd_records

ID = "5d1f2a90-4c77-4e0b-9a63-0f6b7c1d2e11"
OTHER = "0c9e44b7-1f0a-4d7e-8a41-6b2f3d5c7e90"
COUNTS = ("input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "output_tokens")
# The real files' names and keys were taken from them like every other word.
AS_THEY_WERE = (
    (b"choreReadDepend", b"cacheReadTokens"),
    (b"choreWriteDepend", b"cacheWriteTokens"),
    (b"portfolioDepend", b"reasoningTokens"),
    (b'"bnh-', b'"gpt-'),
    (b'-ddda"', b'-mini"'),
    (b'"claude-minmax-', b'"claude-sonnet-'),
    (b'"claude-arise-', b'"claude-haiku-'),
    (b'"claude-ddbb-', b'"claude-opus-'),
)


def event(type: str, id: str = "", /, **data: Any) -> Record:
    """Return a line of a session."""
    return {"type": type, "data": data, "id": id, "timestamp": "2026-04-01T06:00:00Z"}


def answer(id: str, model: str | None = "m", **data: Any) -> Record:
    """Return a message of the assistant."""
    named = {"model": model} if model else {}
    return event("assistant.message", f"e-{id}", messageId=id, content=id, **named, **data)


def used(model: str, count: int, **usage: int) -> Record:
    """Return the metrics of one model."""
    return {model: {"requests": {"count": count, "cost": 1}, "usage": usage}}


def shutdown(*metrics: Record, id: str = "down") -> Record:
    """Return the end of a run."""
    merged = {model: metric for part in metrics for model, metric in part.items()}
    return event("session.shutdown", id, shutdownType="routine", modelMetrics=merged)


def flatten_events(folder: Path, *lines: Any, name: str = "session.jsonl") -> Flat:
    """Return the rows of a session of these lines: bytes as they are, else records."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    written = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    path.write_bytes(b"".join(line + b"\n" for line in written))
    return flatten_file(path, "copilot")


def found(archive: Archive, ref: str) -> Record:
    """Return what a ref leads to."""
    return archive.ask(lambda view: resolve(view, ref))


def sums(flat: Flat) -> tuple[int, ...]:
    """Return what the responses used together."""
    return tuple(sum(row[name] for row in flat.calls) for name in COUNTS)


@pytest.mark.parametrize("sample", samples("copilot"), ids=lambda path: path.stem)
def test_a_sample_gives_the_rows_of_its_golden(sample: Path) -> None:
    flat = flatten_file(sample, "copilot")

    assert golden(flat) == expected(sample)
    assert "SECRET" not in repr(flat)


# -- which files ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "session_id"),
    [
        (f"session-state/{ID}/events.jsonl", ID),
        (f"session-state/{ID}.jsonl", ID),
        (f"session-state/{ID}/plan.md", None),
        (f"session-state/{ID}/checkpoints/001.md", None),
        (f"session-state/{ID}/files/events.jsonl", None),
        ("session-state/.jsonl", None),
        ("history-session-state/session_x_1.json", None),
        ("command-history-state.json", None),
        ("config.json", None),
        ("session-store.db", None),
    ],
)
def test_only_sessions_are_claimed(path: str, session_id: str | None) -> None:
    claim = claims(Source("copilot", Path("/h"), "heron"), "/h", path)

    assert (claim and claim.session_id) == session_id
    assert claim is None or (claim.type, claim.sid, claim.stem) == (
        "transcript", ID.replace("-", "")[:8], ID,
    )  # fmt: skip


def test_each_session_has_a_uri_of_its_own(tmp_path: Path, archive: Archive, fill: Fill) -> None:
    start = event("session.start", context={"cwd": "/home/ida/bakery"})
    for session_id in (ID, OTHER):
        name = f".copilot/session-state/{session_id}/events.jsonl"
        flatten_events(tmp_path, start, event("user.message", content="Bake."), name=name)

    fill(f"copilot={tmp_path / '.copilot'}")
    rows = archive.ask(lambda view: view.rows("select * from documents order by session_id"))
    uris = [uri(row) for row in rows]

    assert uris == [f"sj://transcript/testhost/bakery/{id}" for id in (OTHER, ID)]
    assert [found(archive, address)["session_id"] for address in uris] == [OTHER, ID]


def test_a_session_that_was_moved_into_its_folder_is_read_once(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    lines = [answer("a", outputTokens=5), shutdown(used("m", 1, inputTokens=9, outputTokens=5))]
    flatten_events(tmp_path, *lines[:1], name=f".copilot/session-state/{ID}.jsonl")
    flatten_events(tmp_path, *lines, name=f".copilot/session-state/{ID}/events.jsonl")

    fill(f"copilot={tmp_path / '.copilot'}")
    archive.ask(prepare)
    rows = archive.ask(lambda view: view.rows("select calls, output_tokens from sessions"))

    assert rows == [{"calls": 1, "output_tokens": 5}]


# -- what was said ---------------------------------------------------------------------------


def test_a_tools_call_is_shown_once_though_it_is_logged_twice(tmp_path: Path) -> None:
    request = {"toolCallId": "t", "name": "bash", "arguments": '{"command": "ls"}'}

    flat = flatten_events(
        tmp_path,
        answer("a", toolRequests=[request]),
        event("tool.execution_start", toolCallId="t", toolName="bash", arguments={}),
        event("tool.execution_complete", toolCallId="t", success=True, result={"content": "x"}),
        event("tool.execution_start", toolCallId="u", toolName="bash", arguments="patch"),
    )

    told = [(block["kind"], block["tool_name"], block["text"]) for block in flat.blocks]
    assert told == [
        ("text", None, "a"),
        ("tool_use", "bash", '{"command":"ls"}'),
        ("tool_result", "bash", "x"),
        ("tool_use", "bash", '"patch"'),
    ]


def test_the_words_of_a_subagent_are_no_prompt(tmp_path: Path) -> None:
    flat = flatten_events(
        tmp_path,
        event("user.message", content="Look.", parentToolCallId="t"),
        event("user.message", content="Bake.") | {"agentId": "x"},
        event("user.message", content="Eat."),
    )

    assert [block["is_sidechain"] for block in flat.blocks] == [True, True, False]
    assert flat.document["first_prompt"] == "Eat."


@pytest.mark.parametrize(
    ("content", "command", "prompt"),
    [
        ("/init", "/init", None),
        ("/review all of it", "/review all of it", None),
        ("/clear", None, None),
        ("/home/ida/rye.md is wrong", None, "/home/ida/rye.md is wrong"),
        ("/", None, "/"),
        ("Bake.", None, "Bake."),
        ("<div>", None, "<div>"),
        ("<reminder>", None, None),
        ("<system_notification>Done.", None, None),
        ("Caveat: none", None, None),
        (["Bake."], None, None),
    ],
)
def test_a_slash_command_is_no_prompt(
    tmp_path: Path, content: Any, command: str | None, prompt: str | None
) -> None:
    document = flatten_events(tmp_path, event("user.message", content=content)).document

    assert (document["slash_command"], document["first_prompt"]) == (command, prompt)


def test_a_line_that_is_written_again_is_a_replay(tmp_path: Path) -> None:
    prompt = event("user.message", "e1", content="Bake.")
    down = shutdown(used("m", 1, inputTokens=9))

    flat = flatten_events(tmp_path, prompt, prompt, answer("a"), answer("a"), down, down)

    assert [block["is_replay"] for block in flat.blocks] == [False, True, False, True]
    assert (len(flat.calls), sums(flat)) == (1, (9, 0, 0, 0))


def test_the_folder_of_a_line_is_where_the_session_was_then(tmp_path: Path) -> None:
    flat = flatten_events(
        tmp_path,
        event("session.start", context={"cwd": "/a", "branch": "main"}),
        event("user.message", content="one"),
        event("session.context_changed", cwd="/b", branch="side"),
        answer("two"),
        event("session.resume", context={"cwd": "/c"}),
        event("user.message", content="three"),
    )

    assert [block["cwd"] for block in flat.blocks] == ["/a", "/b", "/c"]
    assert (flat.document["cwd"], flat.document["git_branch"]) == ("/a", "main")
    assert flat.calls[0]["cwd"] == "/b"


# -- what it used ----------------------------------------------------------------------------


def test_a_runs_sums_are_shared_out_among_its_responses(tmp_path: Path) -> None:
    total = {"inputTokens": 1000, "cacheReadTokens": 600, "cacheWriteTokens": 101}

    flat = flatten_events(
        tmp_path,
        answer("a", outputTokens=7),
        answer("b", outputTokens=3),
        answer("c", None),
        shutdown(used("m", 3, outputTokens=14, reasoningTokens=5, **total)),
    )

    rows = [tuple(row[name] for name in COUNTS) for row in flat.calls]
    assert rows == [(100, 200, 34, 7), (100, 200, 34, 3), (99, 200, 33, 4)]
    assert [row["model"] for row in flat.calls] == ["m", "m", "m"]
    assert sum(row["reasoning_tokens"] for row in flat.calls) == 5
    assert all(row["recorded_cost_usd"] is None for row in flat.calls)


def test_each_run_has_sums_of_its_own(tmp_path: Path) -> None:
    flat = flatten_events(
        tmp_path,
        answer("a"),
        shutdown(used("m", 1, inputTokens=10)),
        event("session.resume"),
        answer("b"),
        shutdown(used("m", 1, inputTokens=10), id="again"),
        event("session.resume"),
        answer("lost", outputTokens=3),
        event("session.resume"),
        answer("c"),
        shutdown(used("m", 1, inputTokens=30), id="last"),
    )

    told = [(row["message_id"], row["input_tokens"], row["output_tokens"]) for row in flat.calls]
    assert told == [("a", 10, 0), ("b", 10, 0), ("lost", 0, 3), ("c", 30, 0)]


def test_a_shutdown_that_is_said_twice_counts_once(tmp_path: Path) -> None:
    down = used("m", 1, inputTokens=10)

    flat = flatten_events(tmp_path, answer("a"), shutdown(down), shutdown(down, id="again"))

    assert (len(flat.calls), sums(flat)) == (1, (10, 0, 0, 0))


def test_requests_without_a_message_are_responses_at_the_shutdown(tmp_path: Path) -> None:
    flat = flatten_events(
        tmp_path,
        answer("a", outputTokens=4),
        shutdown(
            used("m", 2, inputTokens=11, outputTokens=9),
            used("n", 0, inputTokens=6, outputTokens=1),
            used("o", 0),
        ),
    )

    told = [(row["model"], row["message_id"], row["output_tokens"]) for row in flat.calls]
    assert told == [("m", "a", 4), ("m", None, 5), ("n", None, 1)]
    assert sums(flat) == (17, 0, 0, 10)
    assert len({row["call_key"] for row in flat.calls}) == 3


def test_no_run_has_any_number_of_requests(tmp_path: Path) -> None:
    flat = flatten_events(tmp_path, shutdown(used("m", 2_000_000_000, inputTokens=5_000)))

    assert (len(flat.calls), sums(flat)) == (MAX_UNLOGGED, (5_000, 0, 0, 0))


@pytest.mark.parametrize(("requests", "whole"), [(1, 130), (2, 100)])
def test_a_compaction_is_a_response_of_its_own_unless_it_is_among_the_requests(
    tmp_path: Path, requests: int, whole: int
) -> None:
    spent = {"input": 30, "output": 2, "cachedInput": 10}

    flat = flatten_events(
        tmp_path,
        event("session.start", selectedModel="m"),
        answer("a", outputTokens=5),
        event("session.compaction_complete", "c", summaryContent="s", compactionTokensUsed=spent),
        shutdown(used("m", requests, inputTokens=100, outputTokens=7, cacheReadTokens=10)),
    )

    assert len(flat.calls) == 2
    assert sum(sums(flat)[:2]) == whole
    assert flat.calls[1]["output_tokens"] == 2


def test_the_model_is_the_one_that_the_response_names_else_the_one_in_use(tmp_path: Path) -> None:
    request = {"toolCallId": "t", "name": "bash", "arguments": {}}

    flat = flatten_events(
        tmp_path,
        event("session.start", selectedModel="auto"),
        answer("a", None),
        event("session.model_change", newModel="in use"),
        answer("b", None),
        answer("c", None, toolRequests=[request]),
        event("tool.execution_complete", toolCallId="t", success=True, model="of its tool"),
        answer("d", "named"),
    )

    assert [row["model"] for row in flat.calls] == [None, "in use", "of its tool", "named"]
    assert flat.document["models"] == ["in use", "of its tool", "named"]


def test_what_the_sums_name_otherwise_is_not_spent_twice(tmp_path: Path) -> None:
    flat = flatten_events(
        tmp_path,
        answer("a", "m", outputTokens=2),
        answer("b", "m of today", outputTokens=3),
        answer("c", None, outputTokens=4),
        shutdown(used("m", 1, outputTokens=2), used("n", 2, inputTokens=8, outputTokens=7)),
    )

    told = [(row["model"], row["input_tokens"], row["output_tokens"]) for row in flat.calls]
    assert told == [("m", 0, 2), ("m of today", 4, 3), ("n", 4, 4)]


def test_a_response_in_pieces_is_one(tmp_path: Path) -> None:
    one = {"toolCallId": "t", "name": "bash", "arguments": {}}
    two = {"toolCallId": "u", "name": "edit", "arguments": {}}

    (row,) = flatten_events(
        tmp_path,
        answer("a", outputTokens=3, toolRequests=[one]),
        answer("a", outputTokens=8, toolRequests=[two], requestId="r"),
    ).calls

    assert (row["output_tokens"], row["tools"], row["request_id"]) == (8, ["bash", "edit"], "r")


def test_a_response_is_the_same_in_every_copy_and_only_there(tmp_path: Path) -> None:
    def keys(name: str, *lines: Record) -> list[int]:
        return [row["call_key"] for row in flatten_events(tmp_path, *lines, name=name).calls]

    lines = [answer("a"), shutdown(used("m", 2, inputTokens=9))]

    assert keys("one.jsonl", *lines) == keys("copies/two.jsonl", *lines)
    assert not set(keys("one.jsonl", *lines)) & set(
        keys("one.jsonl", answer("b"), shutdown(used("m", 2, inputTokens=9), id="other"))
    )


# -- any value, and real files ---------------------------------------------------------------

TEMPLATES: list[Record] = [
    json.loads(line)
    for sample in samples("copilot")
    if sample.stem != "torn_lines"
    for line in sample.read_bytes().splitlines()
]


@settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(lines=st.lists(odd_records(TEMPLATES), min_size=1, max_size=8))
def test_no_value_in_any_place_makes_a_file_fail(tmp_path: Path, lines: list[Record]) -> None:
    flat = flatten_events(tmp_path, *map(orjson.dumps, lines))

    assert flat.file.failure is None
    if flat.document["type"] != "file":
        assert len(flat.readable().encode()) == flat.document["bytes"]
        assert flat.readable().count("\n") == flat.document["lines"]


def test_no_real_file_fails_and_what_was_spent_adds_up(corpus: Path, tmp_path: Path) -> None:
    paths = sorted((corpus / "odd" / "copilot-cli").glob("*.jsonl"))

    for path in paths:
        raw = restored = path.read_bytes()
        for written, was in AS_THEY_WERE:
            restored = restored.replace(written, was)
        for content in (raw, restored):
            flat = flatten_events(tmp_path, content.removesuffix(b"\n"), name=path.name)

            assert (flat.file.failure, flat.rejects) == (None, []), path
            assert path.name == "003.jsonl" or not flat.file.unknown, path
            assert (len(flat.calls), sum(sums(flat))) == _spent(content), path

    assert len(paths) == 14


def _spent(raw: bytes) -> tuple[int, int]:
    """Return responses and tokens: of a run its sums, or what its messages say without them.

    In no real file a compaction is among the run's requests.
    """
    tokens = pending = 0
    responses = set()
    for line in raw.splitlines():
        record = json.loads(line)
        data = record.get("data") or {}
        match record["type"]:
            case "assistant.message":
                responses.add(data.get("messageId") or record.get("id") or line)
                pending += data.get("outputTokens", 0)
            case "session.resume":
                tokens, pending = tokens + pending, 0
            case "session.compaction_complete":
                responses.add(record["id"])
                spent = data["compactionTokensUsed"]
                tokens += spent["input"] + spent["output"]
            case "session.shutdown":
                usages = [metric.get("usage", {}) for metric in data["modelMetrics"].values()]
                names = ("inputTokens", "outputTokens")
                logged = Counter({n: u.get(n, 0) for u in usages for n in names})
                tokens += logged.total() if any(usages) else pending
                pending = 0
    return len(responses), tokens + pending
