"""Codex's session files of every generation: each sample beside the rows it gives.

The samples are invented. What is counted of model responses is tested in test_codex_calls.
"""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from etl.document import Claim
from etl.sources import codex
from etl.sources.codex_tools import tool_input, tool_result
from etl.sources.scrubjay import claims as scrubjay_claims
from sjduck.archive import Archive
from sjduck.settings import Source
from sjduck.unrolled import records
from tests.conftest import Fill
from tests.flattened import Flat, Row, expected, flatten_file, golden, samples
from tests.rollouts import (
    answered,
    event,
    header,
    id_at,
    item,
    message,
    opened,
    record,
    rollout,
    tool,
    turn,
    typed,
)

ID = "5d1f2a90-4c77-4e0b-9a63-0f6b7c1d2e11"
HOME = Source("codex", Path("/home/mira/.codex"), "wren", "codex")
ROOT = str(HOME.path)
DAY = "sessions/2026/05/02"


def said(flat: Flat) -> list[tuple[str, str]]:
    """Return what the readable shows of what was said."""
    kinds = ("text", "summary")
    return [
        (row["role"], row["text"])
        for row in flat.blocks
        if row["kind"] in kinds and row["line_start"] is not None
    ]


@pytest.mark.parametrize("sample", samples("codex"), ids=lambda path: path.stem)
def test_a_sample_gives_the_rows_of_its_golden(sample: Path) -> None:
    assert golden(flatten_file(sample, "codex")) == expected(sample)


@pytest.mark.parametrize("sample", samples("codex-history"), ids=lambda path: path.stem)
def test_the_prompt_history_gives_the_rows_of_its_golden(sample: Path) -> None:
    assert golden(flatten_file(sample, "codex-history")) == expected(sample)


def test_instructions_schemas_and_what_is_encrypted_are_never_stored() -> None:
    for sample in samples("codex"):
        assert "SECRET" not in repr(flatten_file(sample, "codex"))

    assert sum("SECRET" in sample.read_text() for sample in samples("codex")) > 5


# -- which files ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "session_id"),
    [
        (f"{DAY}/rollout-2026-05-02T08-00-00-{ID}.jsonl", ID),
        (f"{DAY}/seconds-2026-05-02T08-00-00-{ID}.jsonl", ID),
        (f"archived_sessions/rollout-2026-05-02T08-00-00-{ID}.jsonl", ID),
        (f"sessions/rollout-2025-04-23-{ID}.json", ID),
        (f"sessions/{ID}.jsonl", ID),
        ("sessions/kept.jsonl", None),
        (f"sessions/x{ID}.jsonl", None),
    ],
)
def test_a_session_file_is_claimed_with_the_id_in_its_name(
    path: str, session_id: str | None
) -> None:
    claim = codex.claims(HOME, ROOT, path)

    assert claim is not None
    assert (claim.session_id, claim.sid) == (session_id, session_id and session_id[:8])
    assert (claim.format, claim.type, claim.host) == ("codex", "transcript", "wren")


@pytest.mark.parametrize(
    "path",
    [
        "auth.json", "config.toml", "session_index.jsonl", "log/codex.jsonl", "sessions",
        "sessions/.jsonl", "sessions/notes.md", f"{DAY}/rollout-{ID}.jsonl.zst",
    ],
)  # fmt: skip
def test_other_files_of_the_home_are_left_alone(path: str) -> None:
    assert codex.claims(HOME, ROOT, path) is None


def test_the_prompt_history_is_a_log() -> None:
    claim = codex.claims(HOME, ROOT, "history.jsonl")

    assert claim is not None
    assert (claim.format, claim.type, claim.session_id) == ("codex-history", "log", None)


@pytest.mark.parametrize(
    ("rest", "format"),
    [
        (f"rollout-2026-05-02T08-00-00-{ID}.jsonl", "codex"),
        (f"2026/05/02/rollout-2026-05-02T08-00-00-{ID}.jsonl", "codex"),
        (f"{ID}.jsonl", "claude"),
        (f"2026/rollout-2026-05-02T08-00-00-{ID}.jsonl", None),
        ("rollout-plan.md", None),
    ],
)
def test_in_a_storage_tree_a_rollout_is_told_by_its_name(rest: str, format: str | None) -> None:
    source = Source("scrubjay", Path("/storage"), "wren", "scrubjay")

    claim: Claim | None = scrubjay_claims(source, "/storage", f"siskin/-home-mira/{rest}")

    assert (claim.format if claim else None) == format
    assert claim is None or claim.host == "siskin"


# -- whose session it is -------------------------------------------------------------------


def test_the_session_is_the_one_in_the_name_then_in_the_first_header_then_the_file(
    tmp_path: Path,
) -> None:
    other = header(id_at(9), forked_from_id=id_at(3))
    names = [f"rollout-2026-05-02T08-00-00-{ID}.jsonl", "kept.jsonl"]

    named, by_header = (rollout(tmp_path, other, header(id_at(3)), name=name) for name in names)
    by_file = rollout(tmp_path, typed("Hello"), name="kept.jsonl")

    assert (named.document["session_id"], named.document["sid"]) == (ID, "5d1f2a90")
    assert by_header.document["session_id"] == id_at(9)
    assert (by_file.document["session_id"], by_file.document["sid"]) == ("kept", "kept")


def test_the_first_header_gives_folder_branch_and_version(tmp_path: Path) -> None:
    fields: Row = {"cwd": "/one", "git": {"branch": "main"}, "cli_version": "0.142.5"}
    later: Row = {"cwd": "/two", "git": {"branch": "other"}, "cli_version": "0.143.0"}

    flat = rollout(tmp_path, header(ID, **fields), header(ID, **later), typed("Hello"))

    document = flat.document
    assert (document["cwd"], document["git_branch"]) == ("/one", "main")
    assert document["cli_version"] == "0.142.5"


@pytest.mark.parametrize(
    ("fields", "agent_type", "parent"),
    [
        ({"source": {"subagent": "review"}, "session_id": "root"}, "review", "root"),
        ({"source": {"subagent": {"other": "guardian"}}, "parent_thread_id": "p"}, "guardian", "p"),
        (
            {"source": {"subagent": {"thread_spawn": {"parent_thread_id": "p", "depth": 1}}}},
            None,
            "p",
        ),
        ({"source": "vscode", "thread_source": "subagent", "agent_role": "x"}, "x", None),
    ],
)
def test_a_session_that_another_one_started_is_a_subagents(
    tmp_path: Path, fields: Row, agent_type: str | None, parent: str | None
) -> None:
    flat = rollout(tmp_path, header(ID, **fields), typed("Count the slugs."))

    document = flat.document
    assert (document["type"], document["agent_id"]) == ("subagent", ID)
    assert (document["agent_type"], document["parent_session_id"]) == (agent_type, parent)
    assert [block["is_sidechain"] for block in flat.blocks] == [True]


def test_a_fork_that_a_person_made_is_a_transcript(tmp_path: Path) -> None:
    flat = rollout(tmp_path, header(ID, source="cli", forked_from_id=id_at(3)), typed("Hello"))

    assert (flat.document["type"], flat.document["parent_session_id"]) == ("transcript", None)


def test_a_subagents_prompt_is_its_task_and_not_what_its_parent_was_asked(tmp_path: Path) -> None:
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": id_at(3)}}}
    head = [header(ID, source=spawned, forked_from_id=id_at(3)), header(id_at(3))]

    told = rollout(tmp_path, head, typed("Ask."), typed("Task."), typed("More.", at=60))

    assert told.document["first_prompt"] == "More."
    assert (
        rollout(tmp_path, head, typed("Ask."), typed("Task.")).document["first_prompt"] == "Task."
    )


def test_a_name_that_was_given_to_the_parent_is_not_the_forks(tmp_path: Path) -> None:
    head = [header(ID, forked_from_id=id_at(3)), header(id_at(3))]
    old = event("thread_name_updated", thread_name="Old")
    new = event("thread_name_updated", thread_name="New", at=61)

    assert rollout(tmp_path, head, old, typed("Hi", at=60)).document["ai_title"] is None
    assert rollout(tmp_path, head, old, typed("Hi", at=60), new).document["ai_title"] == "New"


# -- what was said -------------------------------------------------------------------------


def test_what_an_event_and_an_item_say_is_stored_once(tmp_path: Path) -> None:
    thought = [{"type": "summary_text", "text": "hm"}, {"type": "summary_text", "text": "so"}]

    flat = rollout(
        tmp_path,
        header(ID),
        typed("Same"),
        [event("agent_reasoning", text=text) for text in ("hm", "so")],
        item("reasoning", summary=thought),
        answered("Same"),
        event("user_message", message="Again"),
        turn(),
        message("user", "Again"),
        message("assistant", "Then"),
        event("agent_message", message="Then"),
        typed("Same"),
    )

    assert said(flat) == [
        ("user", "Same"),
        ("assistant", "Same"),
        ("user", "Again"),
        ("assistant", "Then"),
        ("user", "Same"),
    ]
    assert [row["text"] for row in flat.blocks if row["kind"] == "thinking"] == ["hm", "so"]


def test_words_that_only_an_event_says_are_kept(tmp_path: Path) -> None:
    flat = rollout(
        tmp_path,
        header(ID),
        event("user_message", message="Ask"),
        event("agent_message", message="I'll look."),
        event("agent_reasoning", text="hm"),
        answered("I'll look. Or not."),
    )

    assert said(flat) == [
        ("user", "Ask"),
        ("assistant", "I'll look."),
        ("assistant", "I'll look. Or not."),
    ]


def test_where_events_tell_what_was_typed_the_rest_is_not_the_users(tmp_path: Path) -> None:
    injected = "Whatever a version may put here"

    told = rollout(tmp_path, header(ID), message("user", injected), typed("<div> wide?"))
    untold = rollout(tmp_path, header(ID), message("user", injected))

    assert [(row["text"], row["is_meta"], row["signal"]) for row in told.blocks] == [
        (injected, True, "low"),
        ("<div> wide?", False, "high"),
    ]
    assert told.document["first_prompt"] == "<div> wide?"
    assert untold.document["first_prompt"] == injected


@pytest.mark.parametrize(
    "envelope",
    [
        "# AGENTS.md instructions for /home/mira\n\n<INSTRUCTIONS>\nx\n</INSTRUCTIONS>",
        "# AGENTS.md instructions\n\nx",
        "<environment_context>\n  <cwd>/home/mira</cwd>\n</environment_context>",
        "<user_instructions>\n\nx\n\n</user_instructions>",
        "<permissions instructions>\nx\n</permissions instructions>",
        "<turn_aborted>\nx\n</turn_aborted>",
        "<skill>\nx\n</skill>",
        '<codex_internal_context source="goal">\nx\n</codex_internal_context>',
        "<goal_context>\nx\n</goal_context>",
        "<subagent_notification>\n{}\n</subagent_notification>",
        "Continue working toward the active thread goal.\n\n<untrusted_objective>",
    ],
)
def test_an_envelope_is_not_the_users_words(tmp_path: Path, envelope: str) -> None:
    flat = rollout(tmp_path, header(ID), message("user", envelope), message("user", "Hello"))

    assert flat.document["first_prompt"] == "Hello"
    assert said(flat) == [("user", "Hello")]
    assert (flat.blocks[0]["is_meta"], flat.blocks[0]["signal"]) == (True, "low")


@pytest.mark.parametrize(
    ("context", "request_"),
    [
        ("# Context from my IDE setup:\n\n## Open tabs:\n- a.py: a.py\n\n", "Mow the lawn."),
        ("\n# Files mentioned by the user:\n\n## a.png: /tmp/a.png\n\n", "Mow the lawn.\n"),
    ],
)
def test_after_an_editors_context_the_request_is_the_prompt(
    tmp_path: Path, context: str, request_: str
) -> None:
    text = f"{context}## My request for Codex:\n{request_}"

    for written in (typed(text), [message("user", text)]):
        flat = rollout(tmp_path, header(ID), written)

        assert said(flat) == [("user", "Mow the lawn.")]
        assert flat.document["first_prompt"] == "Mow the lawn."
        assert [row["text"] for row in flat.blocks if row["is_meta"]] == [context.rstrip()]


def test_words_that_only_mention_a_request_are_whole(tmp_path: Path) -> None:
    words = "Why does it say\n## My request for Codex:\nin my log?"

    assert said(rollout(tmp_path, header(ID), typed(words))) == [("user", words)]


def test_a_command_that_the_user_ran_is_kept(tmp_path: Path) -> None:
    command = "<user_shell_command>\n<command>\ndate\n</command>\n</user_shell_command>"

    (block,) = rollout(tmp_path, header(ID), message("user", command)).blocks

    assert (block["signal"], block["line_start"]) == ("medium", None)


def test_old_sessions_name_their_folder_only_in_the_environment(tmp_path: Path) -> None:
    text = "<environment_context>\n  <cwd>/home/mira/garden</cwd>\n</environment_context>"

    flat = rollout(tmp_path, {"id": ID, "timestamp": None}, message("user", text), typed("Hello"))

    assert flat.document["cwd"] == "/home/mira/garden"
    assert flat.blocks[-1]["cwd"] == "/home/mira/garden"


def test_a_compaction_leaves_its_summary_and_no_copies(tmp_path: Path) -> None:
    kept = [message("user", "Ask")["payload"], message("user", "Sum")["payload"]]
    compacted = record("compacted", {"message": "Sum", "replacement_history": kept})
    empty = record("compacted", {"message": "", "replacement_history": kept})

    flat = rollout(tmp_path, header(ID), typed("Ask"), compacted, empty, answered("Go on."))

    assert said(flat) == [("user", "Ask"), ("assistant", "Sum"), ("assistant", "Go on.")]
    assert [row["kind"] for row in flat.blocks if row["is_summary"]] == ["summary"]


def test_what_another_agent_sent_is_a_subagents_task_and_else_no_prompt(tmp_path: Path) -> None:
    text = "Message Type: NEW_TASK\nTask name: /root/a\nSender: /root\nPayload:\nCount."
    sent = item("agent_message", content=[{"type": "input_text", "text": text}])
    again = record("inter_agent_communication", {"content": text})

    agents = rollout(tmp_path, header(ID, source={"subagent": "x"}), sent, again)
    roots = rollout(tmp_path, header(ID), sent, again)

    assert (said(agents), agents.document["first_prompt"]) == ([("user", "Count.")], "Count.")
    assert (said(roots), roots.document["first_prompt"]) == ([], None)
    assert len(roots.blocks) == 1


def test_what_went_wrong_is_kept_but_not_shown(tmp_path: Path) -> None:
    flat = rollout(
        tmp_path,
        header(ID),
        typed("Go"),
        event("error", message="stream lost"),
        event("turn_aborted", reason="interrupted"),
    )

    hidden = [(row["role"], row["text"]) for row in flat.blocks if row["line_start"] is None]
    assert hidden == [("system", "stream lost"), ("system", "interrupted")]


# -- tools ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ('{"command": ["bash", "-lc", "ls | wc"], "workdir": "/p"}', "ls | wc"),
        ('{"command": ["/bin/zsh", "-c", "ls"]}', "ls"),
        ('{"command": ["powershell.exe", "-NoProfile", "-Command", "Get-Date"]}', "Get-Date"),
        ('{"command": ["C:\\\\Windows\\\\cmd.exe", "/c", "dir"]}', "dir"),
        ('{"command": ["bash", "run.sh", "two words"]}', "bash run.sh 'two words'"),
        ('{"command": ["git", "commit", "-c", "x"]}', "git commit -c x"),
        ('{"command": "ls"}', "ls"),
        ('{"cmd": "ls", "yield_time_ms": 5}', "ls"),
        ("*** Begin Patch\n*** End Patch", "*** Begin Patch\n*** End Patch"),
        ('{"command": ["bash"', '{"command": ["bash"'),
        ({"type": "exec", "command": ["date"]}, "date"),
    ],
)
def test_a_command_is_shown_as_it_is_typed(arguments: Any, shown: str) -> None:
    assert tool_input(arguments)["command"] == shown


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ('{"plan": []}', {"plan": []}),
        ('{"command": []}', {"command": []}),
        ('{"command": ["a", 5]}', {"command": ["a", 5]}),
        ("{}", {}),
        (None, {}),
        (5, 5),
    ],
)
def test_another_input_is_left_as_it_is(arguments: Any, value: Any) -> None:
    assert tool_input(arguments) == value


def test_what_stands_beside_a_command_is_kept() -> None:
    assert tool_input('{"workdir": "/p", "cmd": "ls"}') == {"command": "ls", "workdir": "/p"}


JSON_OUTPUT = '{"output": "x\\n", "metadata": {"exit_code": 2, "duration_seconds": 0.1}}'
HEAD = "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code"


@pytest.mark.parametrize(
    ("output", "text", "is_error"),
    [
        ("plain", "plain", None),
        (None, "", None),
        (JSON_OUTPUT, "x\n", True),
        (JSON_OUTPUT.replace("2", "0", 1), "x\n", False),
        ('{"output": "x"}', '{"output": "x"}', None),
        ('{"output": ', '{"output": ', None),
        ("Exit code: 1\nWall time: 0 seconds\nOutput:\nno", None, True),
        ("Exit code: 0\nWall time: 0 seconds\nOutput:\nExit code: 1\n", None, False),
        (f"{HEAD} 0\nOutput:\nx", None, False),
        (f"{HEAD} -9\nOutput:\nx", None, True),
        ("Script failed\nWall time 1 seconds\nOutput:\n", None, True),
        ("Script completed\nWall time 1 seconds\nOutput:\n", None, False),
        ("Script running with cell ID 4\n", None, None),
        (
            [{"type": "input_text", "text": "a\n"}, {"type": "input_text", "text": "b"}],
            "a\nb",
            None,
        ),
        (["a", {"type": "resource", "uri": "x"}], 'a\n{"type":"resource","uri":"x"}', None),
        ({"content": "x", "success": False}, "x", True),
        ({"content": [{"type": "text", "text": "x"}], "isError": True}, "x", True),
        ({"content": "x"}, "x", None),
        ({"type": "input_text", "text": "x"}, "x", None),
        ({"odd": 1}, '{"odd":1}', None),
        (5, "5", None),
    ],
)
def test_a_result_is_what_the_model_saw_and_an_error_where_it_says_so(
    output: Any, text: str | None, *, is_error: bool | None
) -> None:
    result = tool_result(output)

    assert result.text == (output if text is None else text)
    assert result.is_error is is_error


def test_a_result_has_its_tools_name_and_an_event_may_tell_of_its_error(tmp_path: Path) -> None:
    call, result = tool("apply_patch", "*** Begin Patch", "context not found")
    failed = event("patch_apply_end", call_id="call_apply_patch", success=False)

    flat = rollout(tmp_path, header(ID), call, failed, result)

    assert [row["tool_name"] for row in flat.blocks] == ["apply_patch", "apply_patch"]
    assert flat.blocks[1]["is_error"] is True


def test_a_tool_of_a_server_has_its_whole_name(tmp_path: Path) -> None:
    calls = [
        item("function_call", name="today", namespace=namespace, arguments="{}")
        for namespace in (None, "mcp__weather__", "weather")
    ]

    flat = rollout(tmp_path, header(ID), calls)

    names = [row["tool_name"] for row in flat.blocks]
    assert names == ["today", "mcp__weather__today", "weather__today"]


# -- shapes of files -----------------------------------------------------------------------


DOCUMENT = {
    "session": {"id": ID, "timestamp": "2025-04-23T11:00:55Z"},
    "items": [message("user", "Hello")["payload"], message("assistant", "Hi")["payload"]],
}


@pytest.mark.parametrize("name", ["session.json", "session.jsonl"])
@pytest.mark.parametrize("option", [0, orjson.OPT_INDENT_2])
def test_one_document_and_lines_are_told_by_their_content(
    tmp_path: Path, name: str, option: int
) -> None:
    document = rollout(tmp_path, orjson.dumps(DOCUMENT, option=option), name=name)
    lines = rollout(tmp_path, {"id": ID}, DOCUMENT["items"], name=name)

    for flat in (document, lines):
        assert said(flat) == [("user", "Hello"), ("assistant", "Hi")]
        assert flat.document["session_id"] == ID
        assert [row["source_line"] for row in flat.blocks] == [2, 3]
        assert flat.rejects == []


def test_a_document_is_given_back_raw_as_its_records(tmp_path: Path) -> None:
    rollout(tmp_path, DOCUMENT, name="session.json")

    given_back = records("codex", str(tmp_path), "session.json")

    assert list(given_back or ()) == [DOCUMENT["session"], *DOCUMENT["items"]]
    rollout(tmp_path, header(ID), typed("Hello"))
    assert records("codex", str(tmp_path), "session.jsonl") is None


def test_a_torn_document_is_rejects(tmp_path: Path) -> None:
    torn = orjson.dumps(DOCUMENT, option=orjson.OPT_INDENT_2)[:-20]

    flat = rollout(tmp_path, torn, name="session.json")

    assert flat.file.failure is None
    assert flat.rejects


def test_a_file_of_both_generations_is_read_whole(tmp_path: Path) -> None:
    bare = [entry["payload"] for entry in (message("user", "Old"), message("assistant", "Yes"))]

    flat = rollout(tmp_path, {"id": ID}, {"record_type": "state"}, bare, typed("New"))

    assert said(flat) == [("user", "Old"), ("assistant", "Yes"), ("user", "New")]
    assert flat.file.unknown == {}


def test_an_empty_file_is_a_session_without_turns(tmp_path: Path) -> None:
    flat = rollout(tmp_path, name=f"{ID}.jsonl")

    assert (flat.document["session_id"], flat.document["turns"]) == (ID, 0)


# -- whatever stands in them ---------------------------------------------------------------

SHAPES: list[Row] = [
    json.loads(line)
    for sample in samples("codex")
    if sample.suffix == ".jsonl" and sample.stem != "odd_lines"
    for line in sample.read_text(encoding="utf-8").splitlines()
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=9), inner, max_size=2)
    ),
    max_leaves=4,
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Return every place in a JSON value as container and key."""
    keys = list(value.keys() if isinstance(value, dict) else range(len(value)))
    found = [(value, key) for key in keys]
    for key in keys:
        if isinstance(value[key], dict | list):
            found += places(value[key])
    return found


@st.composite
def odd_records(draw: st.DrawFn) -> Row:
    """Draw a real record's shape with any value in any place of it."""
    shape: Row = json.loads(json.dumps(draw(st.sampled_from(SHAPES))))
    for _ in range(draw(st.integers(1, 3))):
        container, key = draw(st.sampled_from(places(shape)))
        container[key] = draw(JSON)
    return shape


def written(shape: Row) -> bytes:
    """Return a record as JSON, with what JSON has no number for."""
    return json.dumps(shape).encode()


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(shapes=st.lists(odd_records(), min_size=1, max_size=8))
def test_no_value_in_any_place_makes_a_file_fail(tmp_path: Path, shapes: list[Row]) -> None:
    flat = rollout(tmp_path, *map(written, shapes))

    assert flat.file.failure is None
    if flat.document["type"] != "file":
        assert len(flat.readable().encode()) == flat.document["bytes"]
        assert flat.readable().count("\n") == flat.document["lines"]


@pytest.mark.parametrize("depth", [100, 250, 900, 5_000])
def test_what_is_nested_deeply_is_taken_or_a_reject_and_the_rest_goes_on(
    tmp_path: Path, depth: int
) -> None:
    nested = b'{"a":' * depth + b"1" + b"}" * depth
    lines = [
        orjson.dumps(item(type_, arguments="?", output="?", input="?", tools="?")).replace(
            b'"?"', nested
        )
        for type_ in ("function_call", "function_call_output", "tool_search_output", "message")
    ]

    flat = rollout(tmp_path, header(ID), *lines, typed("Hello"))

    assert flat.file.failure is None
    assert said(flat)[-1] == ("user", "Hello")


# -- real files ----------------------------------------------------------------------------


def test_real_files_are_taken_in_without_loss(corpus: Path) -> None:
    paths = sorted((corpus / "home" / ".codex").rglob("*.jsonl"))
    paths += sorted((corpus / "odd" / "codex").iterdir())

    for path in paths:
        flat = flatten_file(path, "codex")
        assert flat.file.failure is None, path
        assert flat.rejects == [], path
        assert len(flat.calls) == len({call["call_key"] for call in flat.calls}), path
        if "home" in path.parts:
            assert (flat.file.unknown, flat.document["first_prompt"] is None) == ({}, False), path

    assert len(paths) > 80


def test_the_calls_of_real_files_add_up_to_the_last_totals(corpus: Path) -> None:
    """Where totals never fall, they tell the sum without any event between."""
    compared = 0
    for path in sorted(corpus.rglob("*.jsonl")):
        if "codex" not in str(path.parent):
            continue
        totals = list(_totals(path))
        inputs = [total["input_tokens"] for total, _ in totals]
        if not totals or inputs != sorted(inputs) or totals[0][0] != totals[0][1]:
            continue
        compared += 1
        calls = flatten_file(path, "codex").calls
        last = totals[-1][0]
        assert sum(c["input_tokens"] + c["cache_read_tokens"] for c in calls) == inputs[-1]
        assert sum(c["cache_read_tokens"] for c in calls) == last["cached_input_tokens"]
        assert sum(c["output_tokens"] for c in calls) == last["output_tokens"]
        assert len(calls) == len({json.dumps(total) for total, _ in totals})

    assert compared > 40


def _totals(path: Path) -> list[tuple[Row, Row]]:
    lines = (json.loads(line) for line in path.read_bytes().split(b"\n") if line)
    payloads = (line.get("payload") for line in lines)
    infos = [
        payload["info"]
        for payload in payloads
        if isinstance(payload, dict) and payload.get("type") == "token_count"
        if payload.get("info")
    ]
    return [
        (info["total_token_usage"], info["last_token_usage"])
        for info in infos
        if len(info.get("total_token_usage", {})) > 4
    ]


def test_the_real_prompt_histories_give_a_row_a_prompt(corpus: Path) -> None:
    paths = sorted((corpus / "odd" / "codex-history").iterdir())

    rows = [row for path in paths for row in flatten_file(path, "codex-history").catalogue]

    lines = opened([path.read_bytes().split(b"\n")[:-1] for path in paths])
    assert len(rows) == len(lines)
    assert all(row["topic"] and row["logged_at"] and row["sid"] for row in rows)
    assert {row["harness"] for row in rows} == {"codex"}


def test_a_prompt_history_names_sessions_whose_files_are_gone_and_titles_none(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    home = tmp_path / "codex"
    (home / "sessions").mkdir(parents=True)
    lines = [
        {"session_id": id_at(0, 7), "ts": 1777708800, "text": "/status"},
        {"session_id": id_at(0, 7), "ts": 1777708860, "text": "Count the jars"},
    ]
    (home / "history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    fill(f"codex={home}")

    query = "select title, prompt, is_history from topics"

    assert archive.ask(lambda view: view.rows(query)) == [
        {"title": None, "prompt": "Count the jars", "is_history": True}
    ]
