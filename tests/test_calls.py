"""The in-file rule for calls: one a message id, its usage taken whole from one of its lines."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from etl.document import hash64
from tests.flattened import Row, flatten_file, flatten_lines

SONNET = "claude-sonnet-4-5-20250929"
HAIKU = "claude-haiku-4-5-20251001"


def answer(
    usage: Any = None, *, id: Any = "msg_01A", model: Any = SONNET, at: int = 0, **fields: Any
) -> Row:
    """Return an assistant's line; `at` is its second of the day."""
    message = {"id": id, "role": "assistant", "model": model, "content": fields.pop("content", [])}
    return {
        "type": "assistant",
        "timestamp": f"2026-02-10T00:00:{at:02d}Z",
        "message": message
        | ({"usage": usage} if usage is not None else {})
        | ({"stop_reason": fields.pop("stop")} if "stop" in fields else {}),
        **fields,
    }


def spent(input: Any, output: Any, **counts: Any) -> Row:
    """Return a usage."""
    return {"input_tokens": input, "output_tokens": output, **counts}


def only(calls: list[Row]) -> Row:
    """Return the one call."""
    (call,) = calls
    return call


def test_lines_that_repeat_a_usage_are_one_call(tmp_path: Path) -> None:
    usage = spent(10, 20, cache_read_input_tokens=5)

    calls = flatten_lines(tmp_path, *(answer(usage, uuid=f"u{n}") for n in range(3))).calls

    assert only(calls)["output_tokens"] == 20
    assert only(calls)["cache_read_tokens"] == 5


def test_the_greatest_output_wins_and_not_the_last(tmp_path: Path) -> None:
    lines = [answer(spent(10, output)) for output in (1, 8, 50, 7)]

    calls = flatten_lines(tmp_path, *lines).calls

    assert only(calls)["output_tokens"] == 50


def test_the_winning_line_is_taken_whole_and_never_field_by_field(tmp_path: Path) -> None:
    before = answer(
        spent(900, 3, cache_read_input_tokens=70_000, service_tier="priority", speed="fast"),
        cwd="/before",
        sessionId="before",
    )
    fallen_back = answer(spent(4, 9), model=HAIKU, cwd="/after", sessionId="after")

    for lines in ([before, fallen_back], [fallen_back, before]):
        call = only(flatten_lines(tmp_path, *lines).calls)

        assert (call["model"], call["input_tokens"], call["output_tokens"]) == (HAIKU, 4, 9)
        assert (call["cache_read_tokens"], call["service_tier"], call["speed"]) == (0, None, None)
        assert (call["cwd"], call["session_id"]) == ("/after", "after")


def test_of_equal_outputs_the_first_line_wins(tmp_path: Path) -> None:
    calls = flatten_lines(tmp_path, answer(spent(1, 9)), answer(spent(2, 9), model=HAIKU)).calls

    assert (only(calls)["input_tokens"], only(calls)["model"]) == (1, SONNET)


@pytest.mark.parametrize("cache", ["cache_read_input_tokens", "cache_creation_input_tokens"])
def test_a_line_of_zeros_never_wins(tmp_path: Path, cache: str) -> None:
    zeros = answer(spent(0, 0, cache_read_input_tokens=0), model="placeholder")
    prompt_only = answer(spent(0, 0, **{cache: 7}))

    for lines in ([zeros, prompt_only], [prompt_only, zeros], [zeros, prompt_only, zeros]):
        assert only(flatten_lines(tmp_path, *lines).calls)["model"] == SONNET


def test_a_response_of_zeros_alone_is_still_a_call(tmp_path: Path) -> None:
    call = only(flatten_lines(tmp_path, answer(spent(0, 0)), answer({})).calls)

    assert (call["model"], call["input_tokens"], call["output_tokens"]) == (SONNET, 0, 0)


def test_the_earliest_instant_of_the_lines_dates_the_call(tmp_path: Path) -> None:
    lines = [answer(spent(1, n), at=at) for n, at in enumerate((30, 10, 50))]
    undated = {**answer(spent(1, 9)), "timestamp": None}

    call = only(flatten_lines(tmp_path, undated, *lines).calls)

    assert str(call["sent_at"]) == "2026-02-10 00:00:10"


def test_a_stop_reason_and_a_request_id_count_wherever_they_stand(tmp_path: Path) -> None:
    streaming = answer(spent(1, 9), stop=None)
    final = answer(spent(1, 4), stop="end_turn", requestId="req_1")

    for lines in ([streaming, final], [final, streaming]):
        call = only(flatten_lines(tmp_path, *lines).calls)

        assert (call["stop_reason"], call["request_id"], call["output_tokens"]) == (
            "end_turn",
            "req_1",
            9,
        )


def test_the_winners_own_stop_reason_and_request_id_come_first(tmp_path: Path) -> None:
    winner = answer(spent(1, 9), stop="tool_use", requestId="req_1")
    later = answer(spent(1, 4), stop="end_turn", requestId="req_2")

    for lines in ([winner, later], [later, winner]):
        call = only(flatten_lines(tmp_path, *lines).calls)

        assert (call["stop_reason"], call["request_id"]) == ("tool_use", "req_1")


def test_a_response_that_never_ended_has_no_stop_reason(tmp_path: Path) -> None:
    assert (
        only(flatten_lines(tmp_path, answer(spent(1, 1), stop=None)).calls)["stop_reason"] is None
    )


def test_the_request_id_is_no_part_of_the_key(tmp_path: Path) -> None:
    lines = [answer(spent(1, n), requestId=f"req_{n}") for n in range(3)]

    assert only(flatten_lines(tmp_path, *lines).calls)["request_id"] == "req_2"


def test_without_a_message_id_the_lines_uuid_stands_in(tmp_path: Path) -> None:
    lines = [
        answer(spent(1, 1), id=id, uuid=uuid)
        for id, uuid in ((None, "u1"), ("", "u2"), (7, "u3"), (None, "u1"))
    ]

    calls = flatten_lines(tmp_path, *lines).calls

    assert [call["call_key"] for call in calls] == [hash64(uuid) for uuid in ("u1", "u2", "u3")]
    assert {call["message_id"] for call in calls} == {None}


def test_without_any_id_each_line_is_a_call_of_its_own(tmp_path: Path) -> None:
    lines = [answer(spent(1, 1), id=None) for _ in range(3)]

    here = flatten_lines(tmp_path, *lines).calls
    elsewhere = flatten_lines(tmp_path, *lines, name="other.jsonl").calls

    assert len({call["call_key"] for call in here + elsewhere}) == 6


def test_the_key_is_the_same_wherever_a_response_stands(tmp_path: Path) -> None:
    calls = [
        only(flatten_lines(tmp_path, answer(spent(1, 1)), name=f"{name}.jsonl").calls)
        for name in ("one", "agent-abcdef01")
    ]

    assert calls[0]["call_key"] == calls[1]["call_key"] == hash64("msg_01A")
    assert calls[0]["document"] != calls[1]["document"]


@pytest.mark.parametrize(
    ("total", "parts", "writes"),
    [
        (900, None, (900, 0)),
        (900, (900, 0), (900, 0)),
        (900, (0, 900), (0, 900)),
        (900, (400, 500), (400, 500)),
        (900, (0, 0), (900, 0)),
        (900, (100, 500), (400, 500)),
        (None, (100, 500), (100, 500)),
        (500, (100, 500), (100, 500)),
        (900, (None, None), (900, 0)),
        (900, "odd", (900, 0)),
    ],
)
def test_what_the_parts_leave_of_the_cache_writes_is_a_5_minute_write(
    tmp_path: Path, total: int | None, parts: Any, writes: tuple[int, int]
) -> None:
    usage = spent(1, 1, cache_creation_input_tokens=total)
    if isinstance(parts, tuple):
        names = ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")
        usage["cache_creation"] = dict(zip(names, parts, strict=True))
    elif parts is not None:
        usage["cache_creation"] = parts

    call = only(flatten_lines(tmp_path, answer(usage)).calls)

    assert (call["cache_write_5m_tokens"], call["cache_write_1h_tokens"]) == writes


@pytest.mark.parametrize(
    "odd", [None, "12", -5, True, [3], {}, 1e300, 2**63, 2**31, float("nan"), float("inf")]
)
def test_a_count_that_is_none_is_zero(tmp_path: Path, odd: Any) -> None:
    usage = spent(
        odd,
        odd,
        cache_read_input_tokens=odd,
        cache_creation_input_tokens=odd,
        cache_creation={"ephemeral_5m_input_tokens": odd, "ephemeral_1h_input_tokens": odd},
        server_tool_use={"web_search_requests": odd},
        output_tokens_details={"thinking_tokens": odd},
        service_tier=odd,
        speed=odd,
    )

    call = only(flatten_lines(tmp_path, answer(usage, costUSD=odd, stop=odd)).calls)

    counted = [value for name, value in call.items() if name.endswith("_tokens")]
    assert [value or 0 for value in counted] == [0] * 6
    assert call["web_searches"] == 0


def test_counts_written_as_floats_are_whole(tmp_path: Path) -> None:
    call = only(flatten_lines(tmp_path, answer(spent(10.0, 20.9))).calls)

    assert (call["input_tokens"], call["output_tokens"]) == (10, 20)


def test_reasoning_is_unknown_where_it_is_not_logged(tmp_path: Path) -> None:
    counted = [{"thinking_tokens": 5}, {"thinking_tokens": 0}, {"thinking_tokens": None}, {}, None]
    lines = [
        answer(spent(1, 9, output_tokens_details=details), id=f"msg_{n}")
        for n, details in enumerate(counted)
    ]

    calls = flatten_lines(tmp_path, *lines).calls

    assert [call["reasoning_tokens"] for call in calls] == [5, 0, None, None, None]


def test_the_tools_of_all_lines_are_the_responses_in_order_each_once(tmp_path: Path) -> None:
    def uses(*names: Any) -> list[Row]:
        return [{"type": "tool_use", "name": name} for name in names]

    lines = [
        answer(spent(1, 1), content=uses("Read", "Bash", "Read")),
        answer(spent(1, 9), content=[*uses("Grep", None, 7, ""), "text"]),
        answer(spent(1, 2), content=[{"type": "server_tool_use", "name": "web_search"}]),
        answer(spent(1, 2), content="text"),
    ]

    assert only(flatten_lines(tmp_path, *lines).calls)["tools"] == [
        "Read",
        "Bash",
        "Grep",
        "web_search",
    ]


@pytest.mark.parametrize(
    ("id", "model", "provider"),
    [
        ("msg_01A", SONNET, "anthropic"),
        ("msg_vrtx_01A", SONNET, "google-vertex"),
        ("msg_bdrk_01A", "anthropic.claude", "aws-bedrock"),
        ("0123456789abcdef0123456789abcdef", "glm-4.7", None),
        (None, SONNET, "anthropic"),
        ("msg_01A", None, None),
    ],
)
def test_the_id_and_the_model_tell_who_served_it(
    tmp_path: Path, id: str | None, model: str | None, provider: str | None
) -> None:
    call = only(flatten_lines(tmp_path, answer(spent(1, 1), id=id, model=model)).calls)

    assert (call["provider"], call["model"]) == (provider, model)


def test_synthetic_lines_and_lines_without_a_usage_are_no_calls(tmp_path: Path) -> None:
    lines = [answer(spent(1, 1), model="<synthetic>"), answer(), answer("odd"), answer([1])]

    assert flatten_lines(tmp_path, *lines).calls == []


def test_a_synthetic_line_takes_nothing_from_a_response_of_its_id(tmp_path: Path) -> None:
    lines = [answer(spent(1, 5)), answer(spent(0, 99), model="<synthetic>")]

    assert only(flatten_lines(tmp_path, *lines).calls)["output_tokens"] == 5


def test_the_cost_that_old_versions_logged_is_kept(tmp_path: Path) -> None:
    costs = [None, 0.25, 0.5, -1, "0.9", float("inf")]

    call = only(flatten_lines(tmp_path, *(answer(spent(1, 1), costUSD=c) for c in costs)).calls)

    assert call["recorded_cost_usd"] == 0.5


def test_calls_stand_in_the_order_of_their_first_lines(tmp_path: Path) -> None:
    lines = [answer(spent(1, n), id=id) for n, id in enumerate(("b", "a", "c", "a", "b"))]

    calls = flatten_lines(tmp_path, *lines).calls

    assert [call["message_id"] for call in calls] == ["b", "a", "c"]


def outputs(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the message id and output tokens of each line of a real session."""
    for raw in path.read_bytes().split(b"\n"):
        record: Row = orjson.loads(raw) if raw else {}
        message: Row = record.get("message", {})
        if record.get("type") == "assistant" and message.get("model") != "<synthetic>":
            yield message["id"], message.get("usage", {}).get("output_tokens") or 0


def test_on_real_files_the_rule_lies_between_first_lines_and_all_lines(corpus: Path) -> None:
    """Counted over 25,000 files: first lines 40.7 M, the rule 64.4 M, all lines 107.2 M."""
    first = by_rule = every = 0
    for path in sorted((corpus / "storage").rglob("*.jsonl")):
        lines = list(outputs(path))
        every += sum(output for _, output in lines)
        first += sum(dict(reversed(lines)).values())
        by_rule += sum(call["output_tokens"] for call in flatten_file(path).calls)

    assert 0 < first < by_rule < every
