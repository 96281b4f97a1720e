"""Which of several copies a call belongs to, and which one says what it used.

Of each rule one case, in which all rules that come after it would say the opposite.
"""

from pathlib import Path

import pytest

from etl.document import hash64
from sjduck.archive import Archive
from sjduck.spending import prepare
from sjduck.usage import usage
from tests import ledger
from tests.conftest import Fill
from tests.ledger import BARN, FOUR, HAIKU, ONE, SONNET, THREE, TWO, Row, answer

ATLAS, BOREALIS = "atlas/-home-ann-shop", "borealis/-home-ann-shop"
CASES: dict[str, tuple[dict[str, list[Row]], tuple[str, str]]] = {
    "the earliest has it": (
        {
            f"{ATLAS}/{ONE}.jsonl": [answer("msg_1", 1, 2, at="09:00:01")],
            f"{BOREALIS}/{TWO}.jsonl": [
                answer("msg_1", 1, 2, at="09:00:00"),
                answer("msg_2", 1, 2, at="09:00:00", session=THREE),
            ],
        },
        ("borealis", "0b000000"),
    ),
    "one with an instant goes before one without": (
        {
            f"{ATLAS}/{ONE}.jsonl": [answer("msg_1", 1, 2, at="09:00:00") | {"timestamp": None}],
            f"{BOREALIS}/{TWO}.jsonl": [answer("msg_1", 1, 2, at="09:00:00")],
        },
        ("borealis", "0b000000"),
    ),
    "of equal instants that of the line's own session has it": (
        {
            f"{ATLAS}/{ONE}.jsonl": [answer("msg_1", 1, 2, at="09:00:00", session=TWO)],
            f"{BOREALIS}/{TWO}.jsonl": [
                answer("msg_1", 1, 2, at="09:00:00", session=TWO),
                answer("msg_2", 1, 2, at="09:01:00", session=THREE),
                answer("msg_3", 1, 2, at="09:02:00", session=FOUR),
            ],
        },
        ("borealis", "0b000000"),
    ),
    "a line that names no session is of no file's own": (
        {
            f"{ATLAS}/{ONE}.jsonl": [answer("msg_1", 1, 2, at="09:00:00") | {"sessionId": None}],
            f"{BOREALIS}/{TWO}.jsonl": [
                answer("msg_1", 1, 2, at="09:00:00", session=TWO),
                answer("msg_2", 1, 2, at="09:01:00", session=THREE),
            ],
        },
        ("borealis", "0b000000"),
    ),
    "then the one with fewer foreign sessions": (
        {
            f"{ATLAS}/{ONE}.jsonl": [
                answer("msg_1", 1, 2, at="09:00:00", session=THREE),
                answer("msg_2", 1, 2, at="09:01:00", session=FOUR),
            ],
            f"{BOREALIS}/{TWO}.jsonl": [answer("msg_1", 1, 2, at="09:00:00", session=THREE)],
        },
        ("borealis", "0b000000"),
    ),
    "then the lesser session": (
        {
            f"{ATLAS}/{TWO}.jsonl": [answer("msg_1", 1, 2, at="09:00:00", session=THREE)],
            f"{BOREALIS}/{ONE}.jsonl": [answer("msg_1", 1, 2, at="09:00:00", session=THREE)],
        },
        ("borealis", "0a000000"),
    ),
    "then the host that comes first": (
        {
            f"{BOREALIS}/{ONE}.jsonl": [answer("msg_1", 1, 2, at="09:00:00")],
            f"{ATLAS}/{ONE}.jsonl": [answer("msg_1", 1, 2, at="09:00:00")],
        },
        ("atlas", "0a000000"),
    ),
}


def take_in(files: dict[str, list[Row]], tree: Path, fill: Fill) -> None:
    for path, records in files.items():
        ledger.write_file(tree / path, records)
    fill(f"scrubjay={tree}")


@pytest.mark.parametrize("case", CASES)
def test_a_call_belongs_to_one_copy(
    case: str, tmp_path: Path, fill: Fill, archive: Archive
) -> None:
    files, owner = CASES[case]
    take_in(files, tmp_path / "storage", fill)

    archive.ask(prepare)
    query = "select documents.host, sid from costs join documents using (document)"
    rows = archive.ask(
        lambda view: view.rows(f"{query} where call_key = $key", key=hash64("msg_1"))
    )

    assert [(row["host"], row["sid"]) for row in rows] == [owner]


def test_a_copy_may_say_what_was_used_but_not_when_and_where(
    tmp_path: Path, fill: Fill, archive: Archive
) -> None:
    files = {
        f"{ATLAS}/{ONE}.jsonl": [answer("msg_1", 10, 2, at="09:00:00")],
        f"{BOREALIS}/{TWO}.jsonl": [
            answer("msg_1", 7, 60, at="11:00:00", session=TWO, model=HAIKU, cwd=BARN)
        ],
    }

    take_in(files, tmp_path / "storage", fill)

    (row,) = usage(archive, by="session,host,project,model,hour")["rows"]

    assert (row["host"], row["sid"], row["project"]) == ("atlas", "0a000000", "shop")
    assert row["hour"] == "2026-02-10 09:00"
    assert (row["model"], row["input_tokens"], row["output_tokens"]) == (HAIKU, 7, 60)


def test_a_copy_of_zeros_says_nothing(tmp_path: Path, fill: Fill, archive: Archive) -> None:
    files = {
        f"{ATLAS}/{ONE}.jsonl": [answer("msg_1", 0, 0, at="09:00:00", model=HAIKU)],
        f"{BOREALIS}/{TWO}.jsonl": [answer("msg_1", 10, 0, at="09:00:01")],
    }

    take_in(files, tmp_path / "storage", fill)

    (row,) = usage(archive, by="session,host,project,model,hour")["rows"]

    assert (row["sid"], row["model"], row["input_tokens"]) == ("0a000000", SONNET, 10)


def test_a_tool_counts_where_the_copy_that_has_the_call_breaks_off_before_it(
    tmp_path: Path, fill: Fill, archive: Archive
) -> None:
    lines = [answer("msg_1", 10, 20, at=f"09:00:0{n}", tool=("Read", "Bash")[n]) for n in (0, 1)]
    files = {f"{ATLAS}/{ONE}.jsonl": lines[:1], f"{BOREALIS}/{ONE}.jsonl": lines}
    take_in(files, tmp_path / "storage", fill)

    rows = usage(archive, by="tool,host")["rows"]

    assert [(row["tool"], row["host"], row["calls"]) for row in rows] == [
        ("Bash", "atlas", 1), ("Read", "atlas", 1),
    ]  # fmt: skip
