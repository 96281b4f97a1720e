"""opencode's sessions: each sample beside the rows it gives.

The samples are invented. After a change that is meant, `python -m tests.flattened` writes the
goldens anew; read the difference against the rules before it is kept.
"""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.flattened import Flat, expected, flatten_file, golden, samples
from tests.opencode_home import EXPORTS, export_of
from tests.test_claude import JSON, places

Row = dict[str, Any]


def answer(export: Row, **fields: Any) -> Row:
    """Return the last answer of an export, with other fields."""
    message = next(m for m in reversed(export["messages"]) if m["info"]["role"] == "assistant")
    message["info"] |= fields
    found: Row = message
    return found


def flatten_export(folder: Path, value: Any) -> Flat:
    """Return the rows of an export."""
    path = folder / "export.json"
    path.write_bytes(value if isinstance(value, bytes) else orjson.dumps(value))
    return flatten_file(path, "opencode")


@pytest.mark.parametrize("sample", samples("opencode"), ids=lambda path: path.stem)
def test_a_sample_gives_the_rows_of_its_golden(sample: Path) -> None:
    assert golden(flatten_file(sample, "opencode")) == expected(sample)


# -- what is in them -----------------------------------------------------------------------


def test_prompts_of_the_system_and_what_errors_carry_are_never_stored() -> None:
    for path in EXPORTS.values():
        assert "SECRET" not in repr(flatten_file(path, "opencode"))

    assert sum(b"SECRET" in path.read_bytes() for path in EXPORTS.values()) == 2


@pytest.mark.parametrize(
    ("title", "told"),
    [
        ("New session - 2026-01-14T18:36:15.570Z", None),
        ("Child session - 2026-01-14T18:36:15.570Z", None),
        ("New session - what to bake", "New session - what to bake"),
        ("", None),
        (7, None),
    ],
)
def test_a_title_is_one_that_opencode_made(tmp_path: Path, title: Any, told: str | None) -> None:
    export = export_of("two_turns")
    export["info"]["title"] = title

    assert flatten_export(tmp_path, export).document["ai_title"] == told


def test_a_response_copied_into_a_fork_is_the_same_one_and_not_the_forks_own(
    tmp_path: Path,
) -> None:
    fork = export_of("fork_and_compaction")
    original = json.loads(json.dumps(fork))
    original["info"] |= {"id": "ses_0first", "time": {"created": 1770717600000}}
    for message in original["messages"]:
        message["info"] |= {"id": message["info"]["id"] + "f", "sessionID": "ses_0first"}

    calls = flatten_export(tmp_path, fork).calls
    originals = flatten_export(tmp_path, original).calls

    assert [call["call_key"] for call in calls] == [call["call_key"] for call in originals]
    assert [call["session_id"] is None for call in calls] == [True, False, False]
    assert {call["session_id"] for call in originals} == {"ses_0first"}


@given(
    counts=st.tuples(*[st.integers(0, 10**6)] * 5), is_within=st.booleans(), is_padded=st.booleans()
)
@example(counts=(0, 0, 0, 0, 0), is_within=True, is_padded=False)
def test_the_total_tells_whether_output_holds_the_reasoning(
    tmp_path_factory: pytest.TempPathFactory,
    counts: tuple[int, int, int, int, int],
    is_within: bool,  # noqa: FBT001
    is_padded: bool,  # noqa: FBT001
) -> None:
    plain, spoken, reasoning, read, write = counts
    total = plain + spoken + reasoning + read + write
    output = spoken + reasoning if is_within else spoken
    cache = {"read": read, "write": write}
    tokens = {"input": plain, "output": output, "reasoning": reasoning, "cache": cache}
    export = export_of("two_turns")
    answer(export, tokens={**tokens, "total": float(total) if is_padded else total})

    call = flatten_export(tmp_path_factory.mktemp("total"), export).calls[-1]

    if total:
        names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_5m_tokens")
        assert sum(call[name] for name in names) == total


def test_a_message_of_two_steps_is_two_responses_and_its_first_step_is_the_first_alone(
    tmp_path: Path,
) -> None:
    whole = export_of("tokens_and_steps")
    begun = json.loads(json.dumps(whole))
    message = begun["messages"][1]
    message["parts"] = message["parts"][:3]
    message["info"]["tokens"] = message["parts"][2]["tokens"]

    calls = flatten_export(tmp_path, whole).calls
    calls_so_far = flatten_export(tmp_path, begun).calls

    assert calls_so_far[0]["call_key"] == calls[0]["call_key"]
    assert len({call["call_key"] for call in calls}) == len(calls)
    assert len(calls) == len(calls_so_far) + 1


def test_totals_of_a_message_win_over_its_steps(tmp_path: Path) -> None:
    export = export_of("tokens_and_steps")
    tokens = {"input": 110, "output": 50, "reasoning": 0, "cache": {"read": 150, "write": 50}}
    export["messages"][1]["info"]["tokens"] = tokens

    first, second, *_ = flatten_export(tmp_path, export).calls

    assert (first["input_tokens"], first["recorded_cost_usd"]) == (110, 0.03)
    assert (first["tools"], first["stop_reason"]) == (["bash"], "stop")
    assert second["model"] == "gpt-5"


def test_a_command_names_the_session_where_nothing_else_does(tmp_path: Path) -> None:
    export = export_of("words_that_are_not_the_users")
    export["messages"] = export["messages"][2:]

    document = flatten_export(tmp_path, export).document

    assert (document["first_prompt"], document["slash_command"]) == (None, "/review")


def test_a_file_without_an_export_is_a_reject(tmp_path: Path) -> None:
    lines = b'{"id": "msg_1", "role": "user"}\n{"id": "msg_2", "role": "assistant"}\n'
    reasons = {
        b"[1, 2]": "not a JSON object",
        b"no": "not JSON",
        b"version https://git-lfs.github.com/spec/v1\n": "git-lfs pointer",
        b"\0\0\0": "NUL bytes",
        lines: "not an opencode export",
        b'{"messages": {}}': "not an opencode export",
        b'{"messages": []': "torn line",
        b"[" * 100_000: "nested too deeply",
    }

    for content, reason in reasons.items():
        flat = flatten_export(tmp_path, content)

        assert [reject["reason"] for reject in flat.rejects] == [reason]
        assert flat.document["type"] == "file"


def test_padding_and_odd_characters_do_an_export_no_harm(tmp_path: Path) -> None:
    content = EXPORTS["two_turns"].read_bytes()
    odd = b"\xef\xbb\xbf" + content.replace(b"Rye goes", rb"\ud800 Rye goes") + b"\0\0"

    flat = flatten_export(tmp_path, odd)

    assert flat.rejects == []
    assert "\ufffd Rye goes first" in flat.readable()


def test_input_that_is_nested_deeply_harms_nothing_else(tmp_path: Path) -> None:
    for depth in (250, 500, 1_000, 5_000):
        export = export_of("two_turns")
        nested = b'{"a":' * depth + b"1" + b"}" * depth
        content = orjson.dumps(export).replace(b'{"filePath":"/home/ida/bakery/loaves.md"}', nested)

        flat = flatten_export(tmp_path, content)

        assert flat.file.failure is None
        assert flat.rejects or len(flat.blocks) == 8


# -- odd input -----------------------------------------------------------------------------


@st.composite
def odd_exports(draw: st.DrawFn) -> Row:
    """Draw a sample with any value in any place of it."""
    export = export_of(draw(st.sampled_from(sorted(EXPORTS))))
    for _ in range(draw(st.integers(1, 4))):
        container, key = draw(st.sampled_from(places(export)))
        container[key] = draw(JSON)
        if not export:
            break
    return export


@settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(export=odd_exports())
def test_no_value_in_any_place_makes_an_export_fail(tmp_path: Path, export: Row) -> None:
    flat = flatten_export(tmp_path, export)

    assert flat.file.failure is None
    if flat.document["type"] != "file":
        assert len(flat.readable().encode()) == flat.document["bytes"]
        assert flat.readable().count("\n") == flat.document["lines"]


# -- real files ----------------------------------------------------------------------------


def test_the_counts_of_real_exports_are_those_of_their_messages(corpus: Path) -> None:
    sessions = 0
    for path in sorted((corpus / "odd" / "opencode").iterdir()):
        flat = flatten_file(path, "opencode")

        assert flat.file.failure is None
        if flat.document["type"] == "file":
            assert [reject["reason"] for reject in flat.rejects] == ["not an opencode export"]
            continue
        sessions += 1
        export = json.loads(path.read_bytes())
        messages = [message["info"] for message in export["messages"]]
        logged = [message["tokens"] for message in messages if "tokens" in message]
        assert flat.rejects == []
        assert len(flat.calls) == len(logged)
        for name, tokens in (
            ("input_tokens", [entry["input"] for entry in logged]),
            ("output_tokens", [entry["output"] + entry["reasoning"] for entry in logged]),
            ("cache_read_tokens", [entry["cache"]["read"] for entry in logged]),
            ("cache_write_5m_tokens", [entry["cache"]["write"] for entry in logged]),
        ):
            assert sum(call[name] for call in flat.calls) == sum(tokens)
        if "cost" in export["info"]:
            spent = sum(call["recorded_cost_usd"] for call in flat.calls)
            assert spent == pytest.approx(export["info"]["cost"])
    assert sessions == 2
