"""Markdown files: plans, memory and notes as they are, archived readables cut into pieces."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from etl.document import days_of_name
from tests.flattened import Flat, Row, expected, flatten_file, golden, samples

SAMPLES = samples("markdown") + samples("readable")


def flatten_text(folder: Path, text: str, format: str = "readable") -> Flat:
    """Return the rows of a Markdown file with this text."""
    path = folder / "text.md"
    path.write_bytes(text.encode())
    return flatten_file(path, format)


def said(flat: Flat) -> list[tuple[int | None, str | None, str]]:
    """Return each piece's turn, role and signal."""
    return [(block["turn"], block["role"], block["signal"]) for block in flat.blocks]


def joined(blocks: list[Row]) -> str:
    """Return the text that pieces make together."""
    return "\n".join(block["text"] for block in blocks)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_sample_gives_the_rows_of_its_golden(sample: Path) -> None:
    assert golden(flatten_file(sample, sample.parent.name)) == expected(sample)


@pytest.mark.parametrize(
    ("text", "heading"),
    [
        ("# Plan\n", "Plan"),
        ("\n\nintro\n# Plan  \t\nmore\n# Second", "Plan"),
        ("#\tPlan # with a sign #", "Plan # with a sign #"),
        ("# Plan\r\n", "Plan"),
        ("#Plan\n##  Not\n #  Not\n", None),
        ("# \n\nnot the heading", None),
        ("#", None),
        ("", None),
        ("#" + " " * 200_000 + "\n# Plan", "Plan"),
        ("# a" + " " * 200_000 + "b", "a" + " " * 200_000 + "b"),
    ],
)
def test_the_first_heading_is_the_title(tmp_path: Path, text: str, heading: str | None) -> None:
    assert flatten_text(tmp_path, text, "markdown").document["custom_title"] == heading


def test_a_note_is_one_block_of_the_whole_text(tmp_path: Path) -> None:
    flat = flatten_text(tmp_path, "a\nb\0\n\n\u2028c", "markdown")

    (block,) = flat.blocks
    assert (block["text"], block["line_start"], block["line_end"]) == ("a\nb\n\n\u2028c", 1, 4)
    assert flat.readable() == "a\nb\n\n\u2028c\n"


@pytest.mark.parametrize("format", ["markdown", "readable"])
def test_an_empty_file_is_a_document_without_blocks(tmp_path: Path, format: str) -> None:
    flat = flatten_text(tmp_path, "", format)

    assert (flat.blocks, flat.document["lines"], flat.document["bytes"]) == ([], 0, 0)


@pytest.mark.parametrize(
    ("stem", "date"),
    [
        ("2026-02-10_topic__5d1f2a90", "2026-02-10"),
        ("2026-02-10", "2026-02-10"),
        ("2026-02-31_topic", None),
        ("2026-02-10-topic", None),
        ("topic_2026-02-10", None),
        ("0000-00-00_x", None),
    ],
)
def test_the_date_is_what_the_name_begins_with(tmp_path: Path, stem: str, date: str | None) -> None:
    path = tmp_path / f"{stem}.md"
    path.write_text("x")

    name_date = flatten_file(path, "markdown").document["name_date"]

    assert (name_date and name_date.isoformat()) == date
    assert (days_of_name(stem) is None) == (date is None)


def test_a_title_that_says_there_was_no_prompt_is_no_prompt(tmp_path: Path) -> None:
    flat = flatten_text(tmp_path, "# (no prompt)\n\n_0 turns_\n\n")

    assert flat.document["first_prompt"] is None


HEAD = "# t\n\n_2 turns_\n\n"
OUTPUT = "**⎿ output:**\n\n```text\nout\n```"


def test_what_was_said_is_told_from_what_tools_did(tmp_path: Path) -> None:
    call = "**→ Bash**\n\n```bash\nls\n```"

    flat = flatten_text(
        tmp_path, f"{HEAD}## User\n\nhi\n## Assistant\n\nwait\n\n{call}\n\n{OUTPUT}\n\ndone\n"
    )

    assert said(flat) == [
        (None, None, "high"),
        (1, "user", "high"),
        (2, "assistant", "high"),
        (2, "assistant", "low"),
        (2, "assistant", "low"),
        (2, "assistant", "high"),
    ]


@pytest.mark.parametrize(
    "inside",
    ["```\nnested\n```", "## User\n\n", "```\n## Assistant", "**→ Not a call**", "```text"],
)
def test_what_stands_inside_a_tools_fence_is_no_turn(tmp_path: Path, inside: str) -> None:
    output = f"**⎿ output:**\n\n```text\n{inside}\n```"

    flat = flatten_text(tmp_path, f"{HEAD}## Assistant\n\n{output}\n## User\n\nhi\n")

    assert said(flat) == [
        (None, None, "high"),
        (1, "assistant", "high"),
        (1, "assistant", "low"),
        (2, "user", "high"),
    ]


@pytest.mark.parametrize(
    "words", ["## User\n\nsame role", "## Assistant\nno blank line", "## user"]
)
def test_a_heading_that_begins_no_turn_is_words(tmp_path: Path, words: str) -> None:
    assert flatten_text(tmp_path, f"{HEAD}## User\n\n{words}\n").document["turns"] == 1


def test_a_fence_that_never_closes_reaches_to_the_end(tmp_path: Path) -> None:
    flat = flatten_text(tmp_path, f"{HEAD}## Assistant\n\n**→ Bash**\n\n```bash\nls\n\n\nmore")

    assert said(flat)[-1] == (1, "assistant", "low")
    assert flat.blocks[-1]["text"].endswith("more")


HEADINGS = ["# t", "_1 turns_", "## User", "## Assistant"]
MARKS = ["**→ Bash**", "**⎿ output:**", "```bash", "```text", "```"]
LINES = st.sampled_from(["", "words", "\r", "\u2028", "\0", *HEADINGS, *MARKS])


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(LINES, max_size=30).map("\n".join))
def test_the_pieces_are_together_the_file(tmp_path: Path, text: str) -> None:
    flat = flatten_text(tmp_path, text)

    whole = text.replace("\0", "")
    lines = whole.removesuffix("\n").split("\n") if whole else []
    assert joined(flat.blocks) == whole
    assert flat.readable() == "".join(f"{line}\n" for line in lines)
    assert flat.document["lines"] == len(lines)


def test_the_time_for_a_long_readable_grows_with_its_length(tmp_path: Path) -> None:
    """Takes hours where the time grows with the square."""
    turn = f"## User\n\nhi\n## Assistant\n\n{OUTPUT}\n"

    flat = flatten_text(tmp_path, HEAD + turn * 30_000)

    assert flat.document["turns"] == 60_000
