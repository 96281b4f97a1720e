"""The readable: its layout, its lines, and the rules of what it shows, one by one."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from etl.document import as_json
from sjduck.readable import (
    HEADER_LINES,
    Block,
    Layout,
    header,
    is_shown_user_text,
    markdown_hash,
    numbered_lines,
    shown_text,
    title,
)
from tests.flattened import Row, flatten_file, flatten_lines

NOTHING = "# (no prompt)\n\n_0 turns_\n\n"


def laid_out(shown: list[tuple[str, str, str]]) -> tuple[Layout, list[Block]]:
    """Place blocks of (role, kind, text); return the layout and the blocks as stored."""
    layout = Layout()
    blocks = []
    for seq, (role, kind, text) in enumerate(shown):
        name = "Tool\nname" if kind == "tool_use" else None
        turn, first, last = layout.place(role, shown_text(kind, text, tool_name=name))
        blocks.append(Block(seq, turn, first, last, role, kind, "high", name, None, text))
    return layout, blocks


TEXT = st.text() | st.sampled_from(["", "\n", "a\n\nb\n", "\0", "\u2028", "## User", "```\n"])
JSON = st.recursive(
    st.none() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
TOOL_INPUT = (JSON | st.fixed_dictionaries({"command": TEXT | JSON})).map(as_json)
SHOWN = st.lists(
    st.tuples(st.sampled_from(["user", "assistant"]), st.sampled_from(["text", "summary"]), TEXT)
    | st.tuples(st.just("assistant"), st.just("tool_result"), TEXT)
    | st.tuples(st.just("assistant"), st.just("tool_use"), TOOL_INPUT),
    max_size=12,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(SHOWN)
def test_the_layout_says_what_the_reader_writes(shown: list[tuple[str, str, str]]) -> None:
    layout, blocks = laid_out(shown)
    prompt = next((text for role, _, text in shown if role == "user"), None)

    written = [*header(prompt, layout.turn), *(line.text for line in numbered_lines(blocks))]
    numbers = [line.number for line in numbered_lines(blocks)]
    text = "".join(f"{line}\n" for line in written)

    assert numbers == list(range(HEADER_LINES + 1, layout.lines + 1))
    assert layout.size_and_hash(prompt) == (len(text.encode()), markdown_hash(text))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(SHOWN, st.integers(1, 40), st.integers(0, 20))
def test_a_slice_has_the_lines_of_the_whole(
    shown: list[tuple[str, str, str]], first: int, count: int
) -> None:
    _, blocks = laid_out(shown)
    last = first + count

    # Two lines more above, which tell whether a turn begins; two below, for a heading there.
    near = [b for b in blocks if b.line_end >= first - 2 and b.line_start <= last + 2]

    def within(of: list[Block]) -> list[tuple[int, str]]:
        return [(n, text) for n, text, _ in numbered_lines(of) if first <= n <= last]

    assert within(near) == within(blocks)


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        (None, "(no prompt)"),
        ("", "(no prompt)"),
        ("plain", "plain"),
        ("two\nlines  and\ttabs", "two lines and tabs"),
        ("\n leading and trailing \n", " leading and trailing "),
        ("x" * 80, "x" * 80),
        ("x" * 81, "x" * 80),
        ("a\0b\u2028c\u0085d\u00a0e\x1cf", "ab c d e f"),
        ("\0" * 79 + "ab", "a"),
        (" " * 5_000 + "after", " after"),
        ("x" * 70 + " " * 5_000 + "y" * 50, "x" * 70 + " " + "y" * 9),
        ("x " * 5_000_000, "x " * 40),
    ],
)
def test_a_title_is_the_first_prompt_on_one_line(prompt: str | None, expected: str) -> None:
    assert title(prompt) == expected


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(alphabet=" \nab\u3000", max_size=3_000))
def test_a_title_is_the_same_however_much_of_the_prompt_is_looked_at(prompt: str) -> None:
    assert title(prompt or "x") == re.sub(r"\s+", " ", prompt or "x")[:80]


@pytest.mark.parametrize(
    ("text", "is_shown"),
    [
        ("words", True),
        (" <after a blank", True),
        ("0", True),
        ("\u200b", True),
        ("<command-name>/x</command-name>", False),
        ("<", False),
        ("Caveat: made by a command", False),
        ("Caveats", False),
        ("caveat", True),
        ("", False),
        (" \n\t\u2028", False),
    ],
)
def test_envelopes_caveats_and_blanks_are_not_shown(text: str, is_shown: bool) -> None:  # noqa: FBT001
    assert is_shown_user_text(text) == is_shown


def readable(folder: Path, *messages: tuple[str, Any], **fields: Any) -> str:
    """Return the readable of messages without its header."""
    records = [
        {"type": role, "message": {"role": role, "content": content}, **fields}
        for role, content in messages
    ]
    lines = flatten_lines(folder, *records).readable().split("\n")
    return "\n".join(lines[HEADER_LINES:])


def tool_use(**fields: Any) -> list[Row]:
    """Return content that calls a tool."""
    return [{"type": "tool_use", "id": "t", **fields}]


def tool_result(content: Any, **fields: Any) -> list[Row]:
    """Return content that is a tool's result."""
    return [{"type": "tool_result", "tool_use_id": "t", "content": content, **fields}]


def test_nothing_to_show_is_a_header_alone(tmp_path: Path) -> None:
    assert flatten_lines(tmp_path).readable() == NOTHING
    assert flatten_lines(tmp_path, {"type": "mode"}).readable() == NOTHING


def test_consecutive_pieces_of_one_role_are_one_turn(tmp_path: Path) -> None:
    messages = ("user", "a"), ("user", "b"), ("assistant", "c"), ("assistant", "d"), ("user", "e")

    assert readable(tmp_path, *messages) == (
        "## User\n\na\n\nb\n## Assistant\n\nc\n\nd\n## User\n\ne\n"
    )


def test_a_session_may_begin_with_the_assistant(tmp_path: Path) -> None:
    line = {"type": "assistant", "message": {"content": "Welcome."}}

    assert flatten_lines(tmp_path, line).readable() == (
        "# (no prompt)\n\n_1 turns_\n\n## Assistant\n\nWelcome.\n"
    )


def test_a_command_is_shown_verbatim(tmp_path: Path) -> None:
    content = tool_use(name="Bash", input={"command": "ls\n  -l\n", "timeout": 5})

    assert readable(tmp_path, ("assistant", content)) == (
        "## Assistant\n\n**→ Bash**\n\n```bash\nls\n  -l\n```\n"
    )


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"file_path": "/ä", "n": 1.0}, '{"file_path":"/ä","n":1.0}'),
        ({"command": ["ls"]}, '{"command":["ls"]}'),
        ({"command": None}, '{"command":null}'),
        ({"deeper": {"command": "ls"}}, '{"deeper":{"command":"ls"}}'),
        (["command"], '["command"]'),
        ({}, "{}"),
        (None, "null"),
        ("text", '"text"'),
        ({"b": 1, "a": "\n\t\u2028"}, '{"b":1,"a":"\\n\\t\u2028"}'),
    ],
)
def test_other_input_is_shown_as_compact_json(tmp_path: Path, value: Any, shown: str) -> None:
    assert readable(tmp_path, ("assistant", tool_use(name="T", input=value))) == (
        f"## Assistant\n\n**→ T**\n\n```json\n{shown}\n```\n"
    )


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("out", "out\n"),
        ("out\n", "out\n"),
        ("out\n\n", "out\n\n"),
        ("", "\n"),
        (None, "\n"),
        ([], "\n"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb\n"),
        ([{"type": "image", "source": {}}, {"type": "text", "text": "a"}], "a\n"),
        ([{"type": "tool_reference", "tool_name": "x"}], "\n"),
        (["bare", 5], "bare\n"),
        ({"a": [1]}, '{"a":[1]}\n'),
        ("```\nfence\n```", "```\nfence\n```\n"),
    ],
)
def test_a_result_is_shown_as_text_on_the_assistants_side(
    tmp_path: Path, content: Any, shown: str
) -> None:
    assert readable(tmp_path, ("user", tool_result(content))) == (
        f"## Assistant\n\n**⎿ output:**\n\n```text\n{shown}```\n"
    )


@pytest.mark.parametrize(
    ("is_error", "mark"), [(True, "error"), (False, "output"), (None, "output"), ("yes", "output")]
)
def test_a_result_says_whether_it_is_an_error(tmp_path: Path, is_error: Any, mark: str) -> None:
    shown = readable(tmp_path, ("user", tool_result("out", is_error=is_error)))

    assert f"**⎿ {mark}:**" in shown


def test_thinking_images_and_blank_text_are_left_out(tmp_path: Path) -> None:
    content = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "image", "source": {"type": "base64", "data": "AA=="}},
        {"type": "text", "text": ""},
        {"type": "text", "text": " \n"},
        {"type": "text", "text": "shown"},
    ]

    assert readable(tmp_path, ("assistant", content)) == "## Assistant\n\nshown\n"


@pytest.mark.parametrize("mark", ["isMeta", "isCompactSummary", "isSidechain"])
def test_meta_text_summaries_and_sidechains_are_shown(tmp_path: Path, mark: str) -> None:
    assert readable(tmp_path, ("user", "words"), **{mark: True}) == "## User\n\nwords\n"


def test_replays_are_shown(tmp_path: Path) -> None:
    shown = readable(tmp_path, ("user", "a"), ("assistant", "b"), ("user", "a"), uuid="same")

    assert shown == "## User\n\na\n## Assistant\n\nb\n## User\n\na\n"


def test_nuls_are_left_out(tmp_path: Path) -> None:
    messages = (
        ("user", "a\0b\0"),
        ("assistant", tool_use(name="B\0ash", input={"command": "l\0s"})),
        ("user", tool_result("o\0ut\0")),
    )

    flat_readable = readable(tmp_path, *messages)

    assert "\0" not in flat_readable
    assert flat_readable == (
        "## User\n\nab\n## Assistant\n\n**→ Bash**\n\n```bash\nls\n```\n\n"
        "**⎿ output:**\n\n```text\nout\n```\n"
    )


def test_the_title_is_the_first_text_shown_for_the_user(tmp_path: Path) -> None:
    records = [
        {"type": "user", "message": {"content": content}, **fields}
        for content, fields in (
            ("<bash-input>ls</bash-input>", {}),
            ("a  summary\nof before", {"isCompactSummary": True}),
            ("own words", {}),
        )
    ]

    flat = flatten_lines(tmp_path, *records)

    assert flat.readable().startswith("# a summary of before\n")
    assert flat.document["first_prompt"] == "own words"


def test_a_number_over_64_bits_reads_the_same_as_it_was_laid_out(tmp_path: Path) -> None:
    line = {"type": "assistant", "message": {"content": tool_use(name="T", input={"n": 2**70})}}
    salvaged = json.dumps(line).encode() + b"\0"

    first, second = flatten_lines(tmp_path, line), flatten_lines(tmp_path, salvaged)

    assert first.readable() == second.readable()
    assert first.document["readable_hash"] == markdown_hash(first.readable())


def pairs(corpus: Path) -> list[tuple[Path, Path]]:
    """Return each archived readable with the raw session that it is of."""
    found = []
    for archived in sorted((corpus / "storage").glob("*/readable/*/*.md")):
        host = corpus / "storage" / archived.relative_to(corpus / "storage").parts[0]
        sid = archived.stem.rpartition("__")[2]
        found += [(archived, raw) for raw in host.glob(f"*/{sid}*.jsonl")]
    return found


def test_every_archived_readable_is_reproduced_byte_for_byte(corpus: Path) -> None:
    compared = pairs(corpus)

    for archived, raw in compared:
        flat = flatten_file(raw)
        text = archived.read_bytes()
        assert flat.readable().encode() == text, archived
        assert flat.document["bytes"] == len(text)
        assert flat.document["readable_hash"] == markdown_hash(text.decode())

    assert len(compared) == 81


def test_an_archived_readable_tells_the_same_turns_and_tools_as_its_session(corpus: Path) -> None:
    for archived, raw in pairs(corpus):
        of_readable, of_session = flatten_file(archived, "readable"), flatten_file(raw)

        same = ("turns", "lines", "bytes", "readable_hash")
        assert [of_readable.document[name] for name in same] == [
            of_session.document[name] for name in same
        ], archived
        tools = [block for block in of_session.blocks if block["kind"].startswith("tool_")]
        assert [
            (block["line_start"], block["turn"])
            for block in of_readable.blocks
            if block["signal"] == "low"
        ] == [(block["line_start"], block["turn"]) for block in tools], archived
        assert of_readable.readable().encode() == archived.read_bytes()
