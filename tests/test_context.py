"""Context: the blocks around a place, whole, bounded, and moved-out output in its place."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sjduck.allotment import Piece, allot
from sjduck.archive import Archive
from sjduck.bounds import compact
from sjduck.context import context
from sjduck.errors import UsageError
from sjduck.search import search
from sjduck.slices import sent_bytes
from tests.conftest import SAMPLES, Fill
from tests.storage import Storage, log_row
from tests.trees import session_id, write_session

ONE = session_id(1)
OUTPUT = "".join(f"{number:05} sparrows in the hedge\n" for number in range(4_000))


def texts(answer: dict[str, Any]) -> list[str]:
    """Return the texts of an answer's blocks."""
    return [block["text"] for block in answer["blocks"]]


def hits(answer: dict[str, Any]) -> list[str]:
    """Return the texts of the blocks that were asked for."""
    return [block["text"] for block in answer["blocks"] if block.get("is_hit")]


def arguments(rest: str) -> dict[str, Any]:
    """Return the arguments that an answer names, as they are sent."""
    return {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", rest)}


@pytest.fixture
def three(tmp_path: Path, archive: Archive, fill: Fill) -> Archive:
    """Return an archive of one session: three prompts, each with an answer, a call, its output."""
    write_session(tmp_path / "claude", 1, ["count birds", "and squirrels", "sum up"])
    fill(f"claude={tmp_path}/claude")
    return archive


# -- which blocks -------------------------------------------------------------------------


def test_a_place_is_a_line_a_turn_a_uuid_or_a_seq(three: Archive) -> None:
    hit = search(three, '"and squirrels"', role="user")["hits"][0]

    for place in (
        {"line": hit["line"]},
        {"line": hit["line"] - 1},
        {"turn": hit["turn"]},
        {"seq": hit["seq"]},
    ):
        assert hits(context(three, ONE, **place)) == ["and squirrels"], place
    assert hits(context(three, ONE, uuid=hit["uuid"])) == ["and squirrels"]


def test_the_blocks_around_are_given_in_order_with_all_that_is_known(three: Archive) -> None:
    answer = context(three, ONE, turn=3, before=2, after=3)

    assert texts(answer) == [
        '{"command":"grep -rn 0 ."}', "count birds!\n", "and squirrels",
        "Looking into: and squirrels", '{"command":"grep -rn 1 ."}', "and squirrels!\n",
    ]  # fmt: skip
    assert [block["kind"] for block in answer["blocks"]] == [
        "tool_use", "tool_result", "text", "text", "tool_use", "tool_result",
    ]  # fmt: skip
    assert answer["blocks"][1] == {
        "seq": 3, "turn": 2, "line": 18, "line_end": 22, "role": "assistant",
        "kind": "tool_result", "tool": "Bash", "sent_at": "2026-03-01 10:00:09",
        "uuid": f"{ONE}-r0", "source_line": 3, "text": "count birds!\n",
    }  # fmt: skip
    assert answer["tz"] == "UTC"


def test_a_turn_and_a_message_may_be_several_blocks(three: Archive) -> None:
    turn = context(three, ONE, turn=2, before=0, after=0)
    message = context(three, ONE, uuid=f"{ONE}-a0", before=0, after=0)

    assert hits(turn) == texts(turn)
    assert len(texts(turn)) == 3
    assert texts(message) == texts(turn)[:2]


def test_what_lies_beyond_is_named_with_the_arguments_that_give_it(three: Archive) -> None:
    whole = texts(context(three, ONE, seq=0, before=0, after=50))
    middle = context(three, ONE, turn=3, before=1, after=1)
    earlier = context(three, ONE, **arguments(middle["earlier"]))
    later = context(three, ONE, **arguments(middle["later"]))

    assert texts(earlier) + texts(middle) + texts(later) == whole
    assert middle["earlier"].startswith("3 blocks: ")
    assert middle["later"].startswith("6 blocks: ")
    assert "earlier" not in earlier
    assert "later" not in later


def test_a_place_that_is_not_there_is_said(three: Archive) -> None:
    assert context(three, ONE, line=9_999)["hint"] == "it has 58 lines"
    assert context(three, ONE, turn=9)["hint"] == "it has 6 turns"
    assert context(three, ONE, uuid="nobody")["hint"] == "no block of it has that uuid"
    assert context(three, ONE, seq=99)["hint"] == "no block has that seq"
    assert context(three, ONE, seq=99)["blocks"] == []


@pytest.mark.parametrize("place", [{}, {"line": 1, "turn": 1}, {"uuid": "a", "seq": 0}])
def test_one_place_has_to_be_given(three: Archive, place: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="give one of line, turn, uuid, seq"):
        context(three, ONE, **place)


def test_refs_are_those_of_every_question(tmp_path: Path, archive: Archive, fill: Fill) -> None:
    storage = Storage(tmp_path)
    storage.session("atlas", ONE, ["count birds", "again"])
    storage.session("borealis", ONE, ["count birds"])
    storage.log("frost", log_row(session_id(2), "On frost", host="frost"))
    storage.plan("atlas", "2026-03-01_birds.md", "# Birds\n\nCount them.\n")
    fill(*storage.sources)

    assert context(archive, ONE[:8], line=7)["also_on"] == ["borealis"]
    assert context(archive, "nobody00", line=1)["error"] == "not found or outside the archive"
    pointer = context(archive, session_id(2), line=1)
    assert (pointer["error"], pointer["host"]) == ("no transcript in this archive", "frost")
    plan = search(archive, '"count them"')["hits"][0]
    assert texts(context(archive, plan["path"], line=plan["line"])) == ["# Birds\n\nCount them.\n"]
    with pytest.raises(UsageError, match="a log without blocks has no context"):
        context(archive, "frost.log", line=1)


def test_thinking_that_the_readable_leaves_out_is_found_and_given(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    storage = Storage(tmp_path)
    thinking = {
        "type": "assistant", "uuid": "think-1", "sessionId": ONE, "cwd": "/home/ann/shop",
        "timestamp": "2026-03-01T11:00:00Z",
        "message": {
            "role": "assistant", "id": "msg_think",
            "content": [{"type": "thinking", "thinking": "a wren perhaps", "signature": "x"}],
        },
    }  # fmt: skip
    storage.session("atlas", ONE, ["count birds"], more=[thinking])
    fill(*storage.sources)

    (hit,) = search(archive, "wren")["hits"]
    answer = context(archive, hit["sid"], seq=hit["seq"], before=1)

    assert (hit["line"], hit["kind"], hit["uuid"]) == (None, "thinking", "think-1")
    assert texts(answer) == ["count birds!\n", "a wren perhaps"]
    assert "line" not in answer["blocks"][1]


# -- where it comes from ------------------------------------------------------------------


def test_a_source_that_is_gone_is_said_and_the_archive_answers(
    tmp_path: Path, three: Archive, fill: Fill
) -> None:
    there = context(three, ONE, turn=1)
    file = next((tmp_path / "claude").rglob("*.jsonl"))
    file.unlink()
    elsewhere = context(three, ONE, turn=1)
    write_session(tmp_path / "claude", 2, ["something else"])
    fill(f"claude={tmp_path}/claude")
    gone = context(three, ONE, turn=1)

    assert there["source"] == str(file)
    assert elsewhere["source"] == "archive: the source file is not on this machine"
    assert re.fullmatch(r"archive: the source file is gone since \d{4}-\d\d-\d\d", gone["source"])
    assert texts(there) == texts(elsewhere) == texts(gone)


def moved(name: str, folder: str = ONE, size: str = "95.9KB") -> list[dict[str, Any]]:
    """Return a call and its result, whose output was moved out into a file."""
    path = f"/home/ann/.claude/projects/-home-ann-shop/{folder}/tool-results/{name}"
    preview = f"Output too large ({size}). Full output saved to: {path}\n\nPreview (first 2KB):\n"
    text = f"<persisted-output>\n{preview}{OUTPUT[:2_000]}\n...\n</persisted-output>"
    shared = {"sessionId": ONE, "cwd": "/home/ann/shop", "timestamp": "2026-03-01T12:00:00Z"}
    return [
        {
            **shared, "type": "user", "uuid": "moved-1",
            "message": {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t0", "content": text}],
            },
        }
    ]  # fmt: skip


def with_moved(tmp_path: Path, fill: Fill, name: str = "b1rds.txt") -> Path:
    """Take in a session whose output was moved out; return where that is to lie."""
    storage = Storage(tmp_path)
    file = storage.session("atlas", ONE, ["count birds"], more=moved(name))
    fill(*storage.sources)
    folder = file.with_suffix("") / "tool-results"
    folder.mkdir(parents=True)
    return folder / name


def test_output_that_was_moved_out_stands_in_its_place(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    with_moved(tmp_path, fill).write_text(OUTPUT)

    whole = context(archive, ONE, uuid="moved-1", max_chars=0)
    bounded = context(archive, ONE, uuid="moved-1")

    assert hits(whole) == [OUTPUT]
    assert whole["blocks"][-1]["file"] == "b1rds.txt"
    assert OUTPUT.startswith(hits(bounded)[0])
    assert len(compact(bounded)) <= 24_000


def test_following_rest_gives_every_character_once(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    with_moved(tmp_path, fill).write_text(OUTPUT)

    block = context(archive, ONE, uuid="moved-1", max_chars=9_000)["blocks"][-1]
    read = block["text"]
    while rest := block.get("rest"):
        answer = context(archive, ONE, max_chars=30_000, **arguments(rest))
        assert len(compact(answer)) <= 30_000
        (block,) = answer["blocks"]
        read += block["text"]

    assert read == OUTPUT


def test_a_moved_out_file_that_is_not_there_is_said_and_the_start_is_given(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    with_moved(tmp_path, fill)

    answer = context(archive, ONE, uuid="moved-1")

    assert hits(answer)[0].startswith("<persisted-output>\n")
    assert answer["notes"] == ["b1rds.txt can't be read: of seq 4 only the start is here"]


def test_a_moved_out_file_is_read_only_inside_the_session_s_own_folder(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    place = with_moved(tmp_path, fill)
    secret = tmp_path / "secret.txt"
    secret.write_text("the owl's address")
    other = place.parent.parent.parent / "other" / "tool-results" / "b1rds.txt"
    other.parent.mkdir(parents=True)
    other.write_text("the owl's address")

    def given() -> str:
        return compact(context(archive, ONE, uuid="moved-1"))

    place.symlink_to(secret)
    assert "can't be read" in given()
    place.unlink()
    place.symlink_to(other)
    assert "can't be read" in given()
    place.unlink()
    os.mkfifo(place)
    assert "can't be read" in given()
    place.unlink()
    place.mkdir()
    assert "can't be read" in given()
    place.rmdir()
    place.parent.rmdir()
    place.parent.symlink_to(other.parent)
    assert "can't be read" in given()
    assert "owl" not in given()


@pytest.mark.parametrize("name", ["../../../secret.txt", "..", "/etc/passwd", "a/../../b.txt"])
def test_a_name_that_leads_elsewhere_leads_nowhere(
    tmp_path: Path, archive: Archive, fill: Fill, name: str
) -> None:
    storage = Storage(tmp_path)
    storage.session("atlas", ONE, ["count birds"], more=moved(name))
    (storage.tree / "atlas" / "secret.txt").write_text("the owl's address")
    (storage.tree / "atlas" / "-home-ann-shop" / "secret.txt").write_text("the owl's address")
    fill(*storage.sources)

    assert "owl" not in compact(context(archive, ONE, uuid="moved-1"))


def test_a_subagent_s_output_lies_in_its_session_s_folder(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    storage = Storage(tmp_path)
    storage.session("atlas", ONE, ["count birds"])
    agent = storage.subagent("atlas", ONE, "0a1b2c3d", ["count them"])
    agent.write_text(agent.read_text() + json.dumps(moved("b1rds.txt")[0]) + "\n")
    folder = agent.parent.parent / "tool-results"
    folder.mkdir()
    (folder / "b1rds.txt").write_text(OUTPUT)
    fill(*storage.sources)

    assert hits(context(archive, "agent-0a1b2c3d", uuid="moved-1", max_chars=0)) == [OUTPUT]


# -- how much is given --------------------------------------------------------------------


@pytest.mark.parametrize("max_chars", [1_000, 3_000, 8_000, 24_000, 60_000])
def test_an_answer_is_bounded_and_the_hit_comes_first(
    tmp_path: Path, archive: Archive, fill: Fill, max_chars: int
) -> None:
    prompts = [f'"{number}"\n' * 900 for number in range(3)] + ["in between"] + ["é" * 5_000] * 3
    write_session(tmp_path / "claude", 1, prompts)
    fill(f"claude={tmp_path}/claude")
    hit = search(archive, '"in between"', role="user")["hits"][0]

    answer = context(archive, ONE, seq=hit["seq"], max_chars=max_chars)

    assert hits(answer) == ["in between"]
    assert len(compact(answer)) <= max_chars
    assert sent_bytes(compact(answer)) <= 80_000
    seqs = [block["seq"] for block in answer["blocks"]]
    assert seqs == list(range(seqs[0], seqs[-1] + 1))
    for block in answer["blocks"]:
        whole = hits(context(archive, ONE, seq=block["seq"], max_chars=0))[0]
        assert whole.startswith(block["text"])
        assert ("rest" in block) == (block["text"] != whole)


def test_what_may_be_given_is_shared_by_those_that_need_it() -> None:
    pieces = [
        Piece("{}", "h" * 100, True),
        *(Piece("{}", "n" * n, False) for n in (10, 9_000, 9_000)),
    ]

    given = [len(text) for text in allot(pieces, 4_000, "")]

    assert given[:2] == [100, 10]
    assert all(1_900 < length < 2_000 for length in given[2:])
    assert [len(text) for text in allot(pieces, 0, "")] == [100, 10, 9_000, 9_000]
    assert len(allot(pieces, 10, "")) == 1


@given(
    st.lists(st.tuples(st.text(max_size=300), st.booleans()), min_size=1, max_size=8),
    st.integers(50, 2_000),
)
def test_what_is_given_fits_and_begins_each_text(
    drawn: list[tuple[str, bool]], max_chars: int
) -> None:
    drawn.sort(key=lambda pair: not pair[1])
    pieces = [Piece("{}", text, is_hit) for text, is_hit in drawn]

    given = allot(pieces, max_chars, "{}")
    shown = list(zip(pieces, given, strict=False))

    assert sum(len(piece.frame) + len(compact(text)) for piece, text in shown) <= max_chars + 20
    assert all(piece.text.startswith(text) for piece, text in shown)


def test_samples_can_be_read_from_every_hit(archive: Archive, fill: Fill) -> None:
    sources = SAMPLES / "scrubjay"
    fill(f"claude={SAMPLES}/claude", f"scrubjay={sources}/storage", f"scrubjay-logs={sources}/data")

    found = search(archive, "the a of", include_low_signal=True, limit=200, max_chars=0)["hits"]
    for hit in found:
        if hit["kind"] != "topic":
            answer = context(archive, hit["path"], seq=hit["seq"], before=0, after=0)
            assert len(answer["blocks"]) == 1, hit
            assert answer["blocks"][0]["kind"] == hit["kind"]
    assert len(found) > 50
