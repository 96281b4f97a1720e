"""Claude Code's session files of every version: each sample beside the rows it gives.

The samples are invented. After a change that is meant, `python -m tests.flattened` writes the
goldens anew; read the difference against the rules before it is kept.
"""

import json
import os
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from etl.document import MAX_REJECTS, UNKNOWN_NAMES, SourceFile, handle
from etl.flatten import flatten_task
from tests.flattened import claim_of, expected, flatten_file, flatten_lines, golden, samples

Record = dict[str, Any]


def user(content: Any, **fields: Any) -> Record:
    """Return a line in the user's name."""
    return {"type": "user", "message": {"role": "user", "content": content}, **fields}


def assistant(content: Any, **fields: Any) -> Record:
    """Return a line of the assistant."""
    return {"type": "assistant", "message": {"role": "assistant", "content": content}, **fields}


@pytest.mark.parametrize("sample", samples("claude"), ids=lambda path: path.stem)
def test_a_sample_gives_the_rows_of_its_golden(sample: Path) -> None:
    assert golden(flatten_file(sample)) == expected(sample)


def test_system_prompts_and_the_session_context_are_never_stored() -> None:
    (sample,) = [path for path in samples("claude") if path.stem.startswith("lines_that")]

    flat = flatten_file(sample)

    assert b"SECRET" in sample.read_bytes()
    assert "SECRET" not in repr(flat)


def test_a_hidden_block_stands_in_the_turn_around_it(tmp_path: Path) -> None:
    thought = {"type": "thinking", "thinking": "hm"}

    flat = flatten_lines(
        tmp_path,
        assistant([thought]),
        user("one"),
        user("<bash-input>ls</bash-input>"),
        assistant([thought, {"type": "text", "text": "two"}, thought]),
        user("<bash-input>pwd</bash-input>"),
        user("three"),
        assistant([thought]),
    )

    turns = [(block["kind"], block["line_start"] is None, block["turn"]) for block in flat.blocks]
    assert turns == [
        ("thinking", True, 1),
        ("text", False, 1),
        ("text", True, 1),
        ("thinking", True, 2),
        ("text", False, 2),
        ("thinking", True, 2),
        ("text", True, 3),
        ("text", False, 3),
        ("thinking", True, 3),
    ]


def test_a_session_of_thoughts_alone_has_blocks_without_a_turn(tmp_path: Path) -> None:
    thoughts = [{"type": "thinking", "thinking": f"thought {n}"} for n in range(2_500)]

    flat = flatten_lines(tmp_path, assistant(thoughts))

    assert [block["text"] for block in flat.blocks] == [t["thinking"] for t in thoughts]
    assert {block["turn"] for block in flat.blocks} == {None}


@pytest.mark.parametrize("name", ["agent-a1b2c3d4.jsonl", "session.jsonl"])
def test_every_word_of_a_subagents_file_is_a_subagents(tmp_path: Path, name: str) -> None:
    lines = [user("a"), user("b", isSidechain=True), user("c", isSidechain=False)]

    flat = flatten_lines(tmp_path, *lines, name=name)

    told = [block["is_sidechain"] for block in flat.blocks]
    assert told == ([True] * 3 if name.startswith("agent-") else [False, True, False])
    assert flat.document["first_prompt"] == "a"


def test_a_queued_prompt_is_the_first_prompt_where_none_came_before(tmp_path: Path) -> None:
    queued = {"type": "queued_command", "prompt": "Bake"}

    flat = flatten_lines(tmp_path, {"type": "attachment", "attachment": queued}, user("Eat"))

    assert flat.document["first_prompt"] == "Bake"
    assert flat.readable().startswith("# Eat\n")


@pytest.mark.parametrize(
    ("envelope", "command"),
    [
        ("<command-name>/review</command-name>", "/review"),
        ("<command-name>review</command-name>\n<command-args>all\n</command-args>", "/review all"),
        ("<command-name></command-name>", None),
        ("<command-name>/</command-name>", None),
        ("<command-name>never closed", None),
        ("<command-name>" + " " * 200_000, None),
        ("<command-args>x</command-args>", None),
        ("<command-name>/x</command-name><command-args>" + "never closed " * 20_000, "/x"),
    ],
)
def test_a_slash_command_is_read_from_its_envelope(
    tmp_path: Path, envelope: str, command: str | None
) -> None:
    flat = flatten_lines(tmp_path, user(envelope))

    assert flat.document["slash_command"] == command
    assert flat.blocks[0]["signal"] == ("medium" if command else "low")


def test_clear_is_the_slash_command_only_where_there_is_no_other(tmp_path: Path) -> None:
    clear = user("<command-name>/clear</command-name>")
    review = user("<command-name>/review</command-name>")

    assert flatten_lines(tmp_path, clear, clear).document["slash_command"] == "/clear"
    assert flatten_lines(tmp_path, clear, review).document["slash_command"] == "/review"


def test_input_that_is_nested_too_deeply_is_a_reject_and_the_rest_goes_on(tmp_path: Path) -> None:
    def nested(depth: int) -> bytes:
        value = b'{"a":' * depth + b"1" + b"}" * depth
        line = orjson.dumps(assistant([{"type": "tool_use", "name": "T", "input": None}]))
        return line.replace(b"null", value)

    flat = flatten_lines(tmp_path, nested(250), nested(500), nested(5_000), user("on"))

    assert [block["text"].count("{") for block in flat.blocks] == [250, 500, 0]
    assert [reject["reason"] for reject in flat.rejects] == ["nested too deeply"]
    assert flat.readable().endswith("## User\n\non\n")
    # Where one of the two parsers gives up and the other does not, either answer will do.
    assert flatten_lines(tmp_path, nested(1_000)).file.failure is None


def test_unknown_types_are_counted_under_short_printable_names(tmp_path: Path) -> None:
    types = [f"type {n}" for n in range(UNKNOWN_NAMES + 20)]

    flat = flatten_lines(
        tmp_path, {"type": "\x1b[31m" + "x" * 5_000}, *({"type": type_} for type_ in types)
    )

    assert flat.file.unknown.total() == 1 + len(types)
    assert len(flat.file.unknown) == UNKNOWN_NAMES + 1
    assert all(len(name) <= 60 and name.isprintable() for name in flat.file.unknown)


def test_of_very_many_rejects_the_count_is_kept(tmp_path: Path) -> None:
    flat = flatten_lines(tmp_path, *[b"no JSON"] * (MAX_REJECTS + 500), user("on"))

    assert flat.file.rejected == {"not JSON": MAX_REJECTS + 500}
    assert len(flat.rejects) == MAX_REJECTS + 1
    assert (flat.rejects[-1]["reason"], flat.rejects[-1]["sample"]) == (
        "more rejects than are kept",
        "500 more",
    )


def test_a_file_that_gives_only_rejects_is_a_file(tmp_path: Path) -> None:
    assert flatten_lines(tmp_path, b"no JSON").document["type"] == "file"
    assert flatten_lines(tmp_path, b"no JSON", user("hi")).document["type"] == "transcript"


@pytest.mark.parametrize("sidecar", ["pipe", "folder", "text", "list", "huge", "missing"])
def test_a_sidecar_that_is_none_does_no_harm(tmp_path: Path, sidecar: str) -> None:
    path = tmp_path / "agent-a1b2c3d4.meta.json"
    match sidecar:
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "text":
            path.write_text("{torn")
        case "list":
            path.write_text('["agentType"]')
        case "huge":
            path.write_text(json.dumps({"agentType": "x", "rest": "y" * 2_000_000}))

    flat = flatten_lines(tmp_path, user("hi"), name="agent-a1b2c3d4.jsonl")

    assert flat.file.failure is None
    assert flat.document["agent_type"] is None


@pytest.mark.parametrize(
    ("session_id", "sid"),
    [
        ("5d1f2a90-4c77-4e0b-9a63-0f6b7c1d2e11", "5d1f2a90"),
        ("ses_7Kq2Zx9AbCdEfG", "7Kq2Zx9A"),
        ("agent-7b3e5f1a92c4d608e", "7b3e5f1a"),
        ("agent-acompact-0a1b2c3d4e5f", "0a1b2c3d"),
        ("agent-aside_question-0a1b2c3d4e5f", "0a1b2c3d"),
        ("rollout-2026-02-10T08-00-00-5d1f2a90-4c77-4e0b-9a63-0f6b7c1d2e11", "5d1f2a90"),
        ("abc", "abc"),
        ("", ""),
    ],
)
def test_the_handle_is_the_first_characters_of_the_bare_id(session_id: str, sid: str) -> None:
    assert handle(session_id) == sid


def test_the_blocks_of_a_large_file_are_put_aside_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    with path.open("wb") as file:
        for number in range(200):
            file.write(orjson.dumps(user(f"{number} " + "word " * 20_000)) + b"\n")
    source = SourceFile(path.stat().st_size, 0)

    batch = flatten_task([(claim_of(path), source, False)], str(tmp_path / "spill"))

    aside = [part for part in batch.parts if isinstance(part.stream, str)]
    assert [part.table for part in aside] == ["blocks"]
    assert Path(str(aside[0].stream)).stat().st_size > 15_000_000


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.sampled_from(["<command-name>/x", "<div>", "Caveat:", "\0", "\u2028", "```", "## User"]),
    st.sampled_from(["text", "tool_use", "tool_result", "thinking", "image"]),
    st.sampled_from(["2026-01-01T00:00:00Z", "9999-12-31T23:59:59-12:00"]),
)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
TEMPLATES = [json.loads(line) for line in samples("claude")[0].read_bytes().splitlines()] + [
    json.loads(line)
    for sample in samples("claude")
    if sample.stem in ("every_kind_of_block", "lines_that_are_no_conversation", "proxies")
    for line in sample.read_bytes().splitlines()
]


def places(value: Any) -> list[tuple[Any, Any]]:
    """Return every container inside a JSON value with each of its keys."""
    keys = value.keys() if isinstance(value, dict) else range(len(value))
    found = [(value, key) for key in keys]
    for key in keys:
        if isinstance(value[key], dict | list):
            found += places(value[key])
    return found


@st.composite
def odd_records(draw: st.DrawFn) -> Record:
    """Draw a real line's shape with any value in any place of it."""
    record: Record = json.loads(json.dumps(draw(st.sampled_from(TEMPLATES))))
    for _ in range(draw(st.integers(1, 3))):
        found = places(record)
        if found:
            container, key = draw(st.sampled_from(found))
            container[key] = draw(JSON)
    return record


@settings(
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(records=st.lists(odd_records(), min_size=1, max_size=5))
def test_no_value_in_any_place_makes_a_file_fail(tmp_path: Path, records: list[Record]) -> None:
    flat = flatten_lines(tmp_path, *map(orjson.dumps, records), name="agent-a1b2c3d4.jsonl")

    assert flat.file.failure is None
    if flat.document["type"] != "file":
        assert len(flat.readable().encode()) == flat.document["bytes"]
        assert flat.readable().count("\n") == flat.document["lines"]


def test_no_real_file_fails_or_loses_a_line_without_a_word(corpus: Path) -> None:
    paths = [path for path in sorted(corpus.rglob("*.jsonl")) if ".codex" not in path.parts]
    broken: dict[str, int] = {}

    for path in paths:
        flat = flatten_file(path)
        assert flat.file.failure is None, path
        if flat.rejects and "odd" not in path.parts:
            broken[str(path)] = len(flat.rejects)

    assert len(paths) > 300
    assert broken == {}
