"""Reading: any slice, in any format, cut anywhere: every character once, and never too much."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from sjduck.archive import Archive
from sjduck.bounds import MAX_REPLY_BYTES, compact
from sjduck.errors import UsageError
from sjduck.reading import get
from tests.conftest import Fill
from tests.storage import Storage, log_row, whole
from tests.trees import session_id

ONE, TWO, THREE = (session_id(number) for number in (1, 2, 3))
README = "# Notes\n\nlast line without an end"
RENDERED = """# what was asked

_3 turns_

## User

what was asked
## Assistant

**→ Bash**

```bash
ls
cat a
cat b
cat c
```

**⎿ output:**

```text
one
two
```
three
```

said at last
## User

thanks
"""


def tool_results(*contents: str) -> list[dict[str, Any]]:
    """Return records of tools that gave these contents."""
    return [
        {
            "type": "user",
            "message": {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t", "content": content}],
            },
        }
        for content in contents
    ]


def said(*texts: str) -> list[dict[str, Any]]:
    """Return records of what the assistant said."""
    return [
        {"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}}
        for text in texts
    ]


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    """Return a tree of documents that are hard to cut."""
    storage = Storage(tmp_path)
    long = "🦆漢é x" * 300
    prompts = ["first", f"{long}\n\n{long}", "\u2028 \u0085 \x1b[31m \t"]
    folded = ["line\n" * 50, f"{long}\nb\nc\nd\n", "", "```\na\n```\nb\nc", "no end"]
    more = [*tool_results(*folded), *said("```\nmine\n\n\n```", long), *tool_results(*folded)]
    storage.session("atlas", ONE, prompts, more=more)
    storage.session("atlas", TWO, ["x"])
    storage.session("atlas", THREE, [], more=[{"type": "system"}])
    storage.readable("atlas", "2026-03-01_a__feedbeef.md", RENDERED)
    storage.memory("-home-ann-shop", "no-end.md", README)
    storage.plan("atlas", "empty.md", "")
    storage.log("atlas", log_row(ONE, "A"), "not a row", log_row(TWO, "B"))
    return storage


@pytest.fixture
def filled(storage: Storage, archive: Archive, fill: Fill) -> Archive:
    """Return the archive, filled from that tree."""
    fill(*storage.sources)
    return archive


def follow(archive: Archive, ref: str, max_chars: int, **options: Any) -> tuple[str, int]:
    """Return everything that an answer and its hints give, marks left out, in how many answers."""
    content, answers = "", 0
    while True:
        answer = get(archive, ref, max_chars=max_chars, **options)
        mark, sent = "", answer["content"]
        if answer.get("hint", "").startswith("it has"):
            return "", answers
        if "turns" in options or "lines" in options:
            mark, _, sent = sent.partition("\n")
            assert mark.startswith("[")
        assert sent or not answer.get("truncated")
        assert not max_chars or len(sent) <= max_chars
        assert not max_chars or len(answer["content"]) <= max(max_chars, len(mark) + 2)
        assert not max_chars or len(compact(answer).encode()) <= MAX_REPLY_BYTES
        content += sent
        answers += 1
        if not answer.get("truncated"):
            return content, answers
        options.pop("turns", None)
        options["lines"] = answer["hint"].split('"')[1]


REFS = [ONE, TWO, THREE, "feedbeef", "no-end", "empty"]
SLICES: list[dict[str, str]] = [
    {},
    {"lines": "1-"},
    {"lines": "2-9"},
    {"lines": "6"},
    {"lines": "3:4-20"},
    {"turns": "1-"},
    {"turns": "2"},
    {"turns": "2-3"},
]


@hypothesis_settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None
)
@given(
    ref=st.sampled_from(REFS),
    format=st.sampled_from(["readable", "condensed", "raw"]),
    slice=st.sampled_from(SLICES),
    parts=st.integers(1, 15),
)
@example(ref=ONE, format="condensed", slice={"lines": "2-9"}, parts=25)
@example(ref=ONE, format="raw", slice={"turns": "1-"}, parts=25)
def test_following_hints_gives_every_character_once(
    filled: Archive, ref: str, format: str, slice: dict[str, str], parts: int
) -> None:
    at_once, _ = follow(filled, ref, 0, format=format, **slice)

    followed, _ = follow(filled, ref, len(at_once) // parts + 1, format=format, **slice)

    assert followed == at_once


@pytest.mark.parametrize("format", ["readable", "condensed", "raw"])
@pytest.mark.parametrize("slice", [{}, {"lines": "6-9"}, {"turns": "2"}])
def test_one_character_at_a_time_is_enough(
    filled: Archive, format: str, slice: dict[str, str]
) -> None:
    ref = TWO if format != "raw" else "no-end"
    if format == "raw" and slice:
        slice = {"lines": "1-2"}
    at_once, _ = follow(filled, ref, 0, format=format, **slice)

    followed, answers = follow(filled, ref, 1, format=format, **slice)

    assert followed == at_once
    assert answers >= len(at_once)


@pytest.mark.parametrize("letter", ["漢", "🦆", '"', "\\", "\x01", "a"])
@pytest.mark.parametrize("format", ["readable", "condensed", "raw"])
def test_no_reply_is_larger_than_75_000_bytes_whatever_it_holds(
    storage: Storage, archive: Archive, fill: Fill, letter: str, format: str
) -> None:
    texts = [letter * 37_000, f"{letter * 99}\n" * 700, letter * 37_000]
    four = session_id(4)
    storage.session("atlas", four, ["go"], more=[*said(*texts), *tool_results(*texts)])
    fill(*storage.sources)

    at_once, _ = follow(archive, four, 0, format=format)
    followed, answers = follow(archive, four, 75_000, format=format)

    assert followed == at_once
    assert answers > 1
    assert get(archive, four, format=format, max_chars=75_000).get("note") is None
    asked_for_more = get(archive, four, format=format, max_chars=200_000)
    assert asked_for_more["note"] == "max_chars lowered to 75000; 0 asks for no bound"


# -- what a slice is -----------------------------------------------------------------------


def test_lines_are_those_of_the_whole_readable(filled: Archive) -> None:
    for ref in (ONE, TWO, THREE, "feedbeef", "no-end"):
        text = whole(filled, ref)
        lines = text.removesuffix("\n").split("\n")

        for number, line in enumerate(lines, 1):
            answer = get(filled, ref, lines=str(number), max_chars=0)

            assert answer["content"] == f"[lines {number}-{number} of {len(lines)}]\n{line}\n"


def test_turns_are_cut_at_their_headings_and_together_are_the_whole(filled: Archive) -> None:
    for ref in (ONE, TWO, "feedbeef"):
        text = whole(filled, ref)
        total = int(text.split("\n")[2].strip("_").split()[0])
        turns = range(1, total + 1)
        parts = [get(filled, ref, turns=str(n), max_chars=0)["content"] for n in turns]
        contents = [part.partition("\n")[2] for part in parts]

        assert [part.partition("\n")[0] for part in parts] == [
            f"[turns {n}-{n} of {total}]" for n in turns
        ]
        assert all(content.startswith("## ") for content in contents)
        assert "".join(text.split("\n")[i] + "\n" for i in range(4)) + "".join(contents) == text


def test_a_slice_past_the_end_says_how_much_there_is(filled: Archive) -> None:
    lines = get(filled, TWO, lines="500-600")
    turns = get(filled, TWO, turns="7-9")

    assert (lines["content"], lines["hint"]) == ("", "it has 22 lines")
    assert (turns["content"], turns["hint"]) == ("", "it has 2 turns")
    assert get(filled, TWO, turns="2-99")["content"].startswith("[turns 2-2 of 2]\n")
    assert get(filled, TWO, lines="20-99")["content"].startswith("[lines 20-22 of 22]\n")


def test_a_cut_answer_says_how_much_there_is_and_where_to_go_on(filled: Archive) -> None:
    answer = get(filled, TWO, max_chars=60)

    assert answer == {
        "path": f"sj://transcript/atlas/shop/{TWO}",
        "format": "readable",
        "content": "# x\n\n_2 turns_\n\n## User\n\nx\n## Assistant\n\nLooking into: x\n\n",
        "truncated": True,
        "total_lines": 22,
        "total_turns": 2,
        "hint": 'cut at max_chars; go on with lines="12-22"',
    }


def test_a_hint_inside_a_line_names_the_character(filled: Archive) -> None:
    answer = get(filled, ONE, lines="20-30", max_chars=500)
    while ":" not in answer["hint"]:
        answer = get(filled, ONE, lines=answer["hint"].split('"')[1], max_chars=500)

    assert answer["hint"].endswith('-30"')


def test_the_cap_is_of_the_format_and_the_environment(
    storage: Storage, archive: Archive, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage.session("atlas", session_id(4), ["go"], more=said("word " * 20_000))
    fill(*storage.sources)

    def size(format: str, **options: Any) -> int:
        return len(get(archive, session_id(4), format=format, **options)["content"])

    assert (size("readable"), size("condensed")) == (24_000, 48_000)
    monkeypatch.setenv("SJMCP_GET_MAX_CHARS", "1000")
    monkeypatch.setenv("SJMCP_GET_CONDENSED_MAX_CHARS", "2000")
    assert (size("readable"), size("condensed")) == (1_000, 2_000)
    assert 500 < size("raw") <= 1_000
    assert 50 < size("readable", max_chars=70) <= 70


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "pdf"}, "unknown format 'pdf'; one of: readable, condensed, raw"),
        ({"turns": "1", "lines": "1"}, "give turns or lines, not both"),
        ({"turns": "x"}, "can't take turns='x'; write turns=5-10"),
        ({"lines": "9-2"}, "it ends before it begins"),
        ({"max_chars": -1}, "write 0 for no bound, or more"),
    ],
)
def test_a_bad_argument_is_named(archive: Archive, options: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        get(archive, ONE, **options)


def test_a_document_longer_than_one_fetch_is_read_whole(
    storage: Storage, archive: Archive, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage.session("atlas", session_id(4), [f"prompt {n}" for n in range(60)])
    fill(*storage.sources)
    at_once = whole(archive, session_id(4))
    condensed = whole(archive, session_id(4), format="condensed")

    for window in (1, 2, 3, 7, 50):
        monkeypatch.setattr("sjduck.reading._WINDOW_LINES", window)

        assert whole(archive, session_id(4)) == at_once
        assert whole(archive, session_id(4), format="condensed") == condensed
        middle = get(archive, session_id(4), lines="300-420", max_chars=0)["content"]
        assert middle.split("\n")[1:-1] == at_once.split("\n")[299:420]


# -- raw -----------------------------------------------------------------------------------


def test_raw_is_the_sources_lines(storage: Storage, filled: Archive) -> None:
    file = storage.tree / "atlas" / "-home-ann-shop" / f"{ONE}.jsonl"
    text = file.read_text(encoding="utf-8")

    assert whole(filled, ONE, format="raw") == text
    sliced = get(filled, ONE, format="raw", lines="2-3", max_chars=0)["content"]
    assert sliced == f"[lines 2-3 of {text.count(chr(10))}]\n" + "".join(
        line + "\n" for line in text.split("\n")[1:3]
    )


def test_raw_turns_are_the_lines_they_came_from(filled: Archive) -> None:
    content = get(filled, TWO, format="raw", turns="2", max_chars=0)["content"]

    mark, *lines = content.splitlines()
    assert mark == "[turns 2-2 of 2]"
    assert [json.loads(line)["type"] for line in lines] == ["assistant", "user"]


def test_raw_bytes_that_are_no_text_are_replaced(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    file = storage.session("atlas", session_id(4), ["go"])
    file.write_bytes(file.read_bytes() + b'\xff\xfe{"torn\r\nno end \x00')
    fill(*storage.sources)

    assert whole(archive, session_id(4), format="raw").endswith('\n��{"torn\r\nno end \x00\n')


def test_raw_of_a_source_that_is_gone_is_what_the_archive_holds(
    storage: Storage, filled: Archive
) -> None:
    os.unlink(storage.tree / "atlas" / "-home-ann-shop" / f"{TWO}.jsonl")

    answer = get(filled, TWO, format="raw", max_chars=0)
    blocks = [json.loads(line) for line in answer["content"].splitlines()]
    second = get(filled, TWO, format="raw", turns="2", max_chars=0)["content"]

    assert answer["source"] == "not the source file: the archive's blocks, one a line"
    assert [block["kind"] for block in blocks] == ["text", "text", "tool_use", "tool_result"]
    assert blocks[0]["text"] == "x"
    assert blocks[0]["sent_at"] == "2026-03-01T10:00:00"
    assert len(second.splitlines()) == 4


@pytest.mark.parametrize("ref", ["no-end", "feedbeef"])
def test_raw_markdown_is_read_from_the_archive(storage: Storage, filled: Archive, ref: str) -> None:
    before = whole(filled, ref, format="raw")
    for file in storage.tree.rglob("*.md"):
        file.write_text("another machine's file of the same name")

    assert whole(filled, ref, format="raw") == before


def test_a_log_is_read_as_it_is_and_from_the_archive_when_it_is_gone(
    storage: Storage, filled: Archive
) -> None:
    uri = "sj://log/atlas/atlas"
    there = get(filled, uri, lines="2")
    os.unlink(storage.data / "logs" / "atlas.log")
    gone = get(filled, uri)

    assert there["content"] == "[lines 2-2 of 3]\nnot a row\n"
    assert (there["format"], gone["format"]) == ("raw", "raw")
    rows = [json.loads(line) for line in gone["content"].splitlines()]
    assert [(row["line"], row["topic"]) for row in rows] == [(1, "A"), (3, "B")]


def test_a_history_is_never_read_from_this_machines_file(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    file = storage.tree / "atlas" / "history.jsonl"
    file.write_text('{"display":"of atlas","timestamp":1772323200000}\n')
    fill(*storage.sources)
    file.write_text('{"display":"of another machine"}\n')

    answer = get(archive, "sj://log/atlas/history")

    assert json.loads(answer["content"])["topic"] == "of atlas"


def test_a_file_of_rejects_shows_its_lines_and_else_the_rejects(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    file = storage.tree / "atlas" / "-home-ann-shop" / f"{session_id(4)}.jsonl"
    file.write_text("no json\n")
    fill(*storage.sources)
    uri = f"sj://file/atlas/{session_id(4)}"

    there = get(archive, uri)["content"]
    os.unlink(file)
    gone = json.loads(get(archive, uri)["content"])

    assert there == "no json\n"
    assert gone == {"source_line": 1, "byte_offset": 0, "reason": "not JSON", "sample": "no json"}


def test_a_source_that_became_a_link_out_of_its_tree_is_not_followed(
    tmp_path: Path, storage: Storage, filled: Archive
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    file = storage.tree / "atlas" / "-home-ann-shop" / f"{TWO}.jsonl"
    file.unlink()
    file.symlink_to(secret)

    answer = get(filled, TWO, format="raw", max_chars=0)

    assert "secret" not in answer["content"]
    assert "not the source file" in answer["source"]


# -- real files ----------------------------------------------------------------------------


def test_every_readable_of_the_corpus_reads_back_as_it_was_archived(
    corpus: Path, tmp_path: Path, fill: Fill
) -> None:
    fill(f"scrubjay={corpus}/storage")
    archive = Archive(tmp_path / "archive", timezone="UTC")
    query = (
        "select session_id, readable_path from documents where source_format = 'claude' "
        "and readable_path is not null"
    )
    rows = archive.ask(lambda view: view.rows(query))

    assert len(rows) > 50
    for row in rows:
        text = Path(row["readable_path"]).read_bytes().decode()
        assert whole(archive, row["session_id"]) == text
