"""Condensed: what tools got and gave is folded, what was said stays whole."""

from pathlib import Path
from typing import Any

import pytest

from sjduck.archive import Archive
from sjduck.condensed import Condensed
from sjduck.readable import Block
from sjduck.reading import get
from tests.conftest import Fill
from tests.storage import Storage, whole
from tests.test_reading import RENDERED, said, tool_results
from tests.trees import session_id

ONE = session_id(1)


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    """Return an empty storage tree."""
    return Storage(tmp_path)


def folded(*blocks: tuple[str, str], signal: str = "low") -> tuple[str, int]:
    """Return blocks of one turn condensed, and how many were folded."""
    condensed = Condensed()
    placed, line = [], 7
    for seq, (kind, text) in enumerate(blocks):
        extra = 5 if kind == "tool_result" else 0
        end = line + extra + text.rstrip("\n").count("\n")
        placed.append(Block(seq, 1, line, end, "assistant", kind, signal, None, None, text))
        line = end + 2
    lines = [text for _, text in condensed.lines(placed)]
    return "\n".join(lines[2:]), condensed.folded


def test_a_tools_output_is_folded_to_two_lines() -> None:
    text, count = folded(("tool_result", "one\ntwo\nthree\nfour\n"))

    assert text == "**⎿ output:**\n\n```text\none\ntwo\n… (+2 lines elided)\n```"
    assert count == 1


def test_long_lines_are_cut_at_200_characters() -> None:
    text, count = folded(("tool_result", "漢" * 201 + "\n" + "x" * 200))

    assert text == f"**⎿ output:**\n\n```text\n{'漢' * 200}…\n{'x' * 200}\n```"
    assert count == 1


@pytest.mark.parametrize("content", ["", "one", "one\ntwo", "one\n\n"])
def test_what_is_short_stays_and_is_not_counted(content: str) -> None:
    text, count = folded(("tool_result", content))

    end = "" if content.endswith("\n") else "\n"
    assert text == f"**⎿ output:**\n\n```text\n{content}{end}```"
    assert count == 0


def test_a_fence_inside_a_tools_output_is_folded_with_it() -> None:
    text, count = folded(("tool_result", "```\na\n```\nb"))

    assert text == "**⎿ output:**\n\n```text\n```\na\n… (+2 lines elided)\n```"
    assert count == 1


def test_a_fence_that_the_assistant_wrote_stays() -> None:
    said_text = "Like this:\n\n```python\na\nb\nc\nd\n```"

    assert folded(("text", said_text), signal="high") == (said_text, 0)


def test_each_block_is_folded_by_itself(storage: Storage, archive: Archive, fill: Fill) -> None:
    more = [*tool_results("1\n2\n3\n", "4\n5\n6\n"), *said("```\n7\n8\n9\n```")]
    storage.session("atlas", ONE, [], more=more)
    fill(*storage.sources)

    answer = get(archive, ONE, format="condensed")

    assert answer["folded"] == 2
    assert answer["content"].split("\n", 7)[7] == (
        "\n```text\n1\n2\n… (+1 lines elided)\n```\n\n"
        "**⎿ output:**\n\n```text\n4\n5\n… (+1 lines elided)\n```\n\n"
        "```\n7\n8\n9\n```\n"
    )


def test_a_command_is_folded_like_an_output(storage: Storage, archive: Archive, fill: Fill) -> None:
    command: dict[str, Any] = {
        "type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "a\nb\nc\nd"},
    }  # fmt: skip
    record = {"type": "assistant", "message": {"content": [command]}}
    storage.session("atlas", ONE, [], more=[record])
    fill(*storage.sources)

    assert "```bash\na\nb\n… (+2 lines elided)\n```\n" in whole(archive, ONE, format="condensed")


def test_a_rendered_session_is_folded_by_its_marks(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    storage.readable("atlas", "2026-03-01_a__feedbeef.md", RENDERED)
    fill(*storage.sources)

    answer = get(archive, "feedbeef", format="condensed")

    assert answer["folded"] == 2
    assert "```bash\nls\ncat a\n… (+2 lines elided)\n```\n\n**⎿ output:**" in answer["content"]
    assert "```text\none\ntwo\n… (+2 lines elided)\n```\n\nsaid at last\n" in answer["content"]


@pytest.mark.parametrize("ref", ["a-plan", "a-memory"])
def test_anything_but_a_transcript_is_shown_whole(
    storage: Storage, archive: Archive, fill: Fill, ref: str
) -> None:
    text = "**→ Bash**\n\n```bash\na\nb\nc\nd\n```\n"
    storage.plan("atlas", "a-plan.md", text)
    storage.memory("-home-ann-shop", "a-memory.md", text)
    fill(*storage.sources)

    answer = get(archive, ref, format="condensed")

    assert answer["content"] == text
    assert "folded" not in answer


def test_a_condensed_line_has_its_number_in_the_readable(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    storage.session("atlas", ONE, [], more=tool_results("1\n2\n3\n4\n5\n", "6"))
    fill(*storage.sources)

    def slice(lines: str) -> str:
        answer = get(archive, ONE, format="condensed", lines=lines)
        content: str = answer["content"]
        return content.partition("\n")[2]

    readable = whole(archive, ONE).split("\n")
    assert readable[9:15] == ["1", "2", "3", "4", "5", "```"]
    assert slice("10-11") == "1\n2\n"
    assert slice("12") == "… (+3 lines elided)\n"
    assert slice("13-14") == ""
    assert slice("15-17") == "```\n\n**⎿ output:**\n"


def test_condensed_is_much_shorter_than_the_readable_of_real_sessions(
    corpus: Path, archive: Archive, fill: Fill
) -> None:
    fill(f"scrubjay={corpus}/storage")
    query = "select session_id from documents where type = 'transcript' order by lines desc limit 9"
    sessions = archive.ask(lambda view: view.rows(query))

    sizes = [
        sum(len(whole(archive, row["session_id"], format=format)) for row in sessions)
        for format in ("condensed", "readable")
    ]

    assert sizes[0] < 0.7 * sizes[1]
