"""One machine with every harness: its homes are found, and each one's usage is what it logged.

The costs are worked out by hand from the price lists, in microdollars.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from etl.pipeline import run
from sjduck.archive import Archive
from sjduck.settings import load
from sjduck.usage import usage
from tests import ledger, opencode_home
from tests.conftest import Quiet
from tests.rollouts import counted, header, id_at, opened, tokens, turn, typed

Row = dict[str, Any]
SESSION = "3f0c1d2e-0000-4000-8000-00000000000a"


def write_lines(file: Path, records: Iterable[Row]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(record) + "\n" for record in records))


def write_claude(home: Path) -> float:
    lines = [ledger.answer("msg_1", 10, 20, at="09:00:00", read=100)]
    write_lines(home / f".claude/projects/-home-ann-shop/{ledger.ONE}.jsonl", lines)
    return 10 * 3 + 100 * 0.3 + 20 * 15


def write_codex(home: Path) -> float:
    """Write a session, its archived copy, and a fork that replays it and goes on."""
    own = id_at(0, 1)
    records = opened(
        [
            header(own, cwd="/home/ann/shop", model_provider="openai"),
            turn(id_at(1, 2), at=1),
            typed("Count the jars", at=1),
            counted(tokens(1_000, 50, 400, 20), tokens(1_000, 50, 400, 20), at=2),
            counted(tokens(1_000, 50, 400, 20), tokens(1_000, 50, 400, 20), at=3),
            counted(tokens(1_500, 80, 600, 30), tokens(500, 30, 200, 10), at=4),
        ]
    )
    fork = id_at(600, 3)
    forked = opened(
        [
            header(fork, at=600, cwd="/home/ann/shop", forked_from_id=own, model_provider="openai"),
            [{**row, "timestamp": "2026-05-02T08:10:00Z"} for row in records],
            turn(id_at(610, 4), at=610),
            counted(tokens(1_700, 90, 600, 30), tokens(200, 10, 0, 0), at=620),
        ]
    )
    sessions = home / ".codex/sessions/2026/05/02"
    write_lines(sessions / f"rollout-2026-05-02T08-00-00-{own}.jsonl", records)
    write_lines(home / f".codex/archived_sessions/rollout-2026-05-02T08-00-00-{own}.jsonl", records)
    write_lines(sessions / f"rollout-2026-05-02T08-10-00-{fork}.jsonl", forked)
    return (600 + 300 + 200) * 5 + 600 * 0.5 + 90 * 30


def write_opencode(home: Path) -> float:
    """Write one session into the database and the storage tree both."""
    data = home / ".local/share/opencode"
    info = {
        "id": "ses_3b90ff1c2ffeRyeAndHoneyCake", "projectID": "p", "directory": "/home/ann/shop",
        "title": "Jars", "version": "1.17.18", "time": {"created": 1770717600000, "updated": 1},
    }  # fmt: skip
    message = {
        "id": "msg_c46f00010003ryeryeryeryery", "sessionID": info["id"], "role": "assistant",
        "time": {"created": 1770717600020, "completed": 1770717606000}, "finish": "stop",
        "modelID": "claude-sonnet-4-5", "providerID": "anthropic", "cost": 0.0005475,
        "path": {"cwd": "/home/ann/shop", "root": "/"},
        "tokens": {
            "input": 10, "output": 20, "reasoning": 0, "cache": {"read": 100, "write": 50},
        },
    }  # fmt: skip
    part = {
        "id": "prt_c46f00010004ryeryeryeryery", "sessionID": info["id"], "type": "text",
        "messageID": message["id"], "text": "Twelve jars.",
    }  # fmt: skip
    database = opencode_home.connect(data)
    opencode_home.insert(database, {"info": info, "messages": [{"info": message, "parts": [part]}]})
    database.close()
    for kind, record in (
        (f"session/p/{info['id']}", info),
        (f"message/{info['id']}/{message['id']}", message),
        (f"part/{message['id']}/{part['id']}", part),
    ):
        write_lines(data / "storage" / f"{kind}.json", [record])
    return 10 * 3 + 50 * 3.75 + 100 * 0.3 + 20 * 15


def write_gemini(home: Path) -> float:
    chat = {
        "sessionId": SESSION, "projectHash": "7c", "startTime": "2026-02-20T10:05:00.000Z",
        "messages": [
            {
                "id": "m1", "timestamp": "2026-02-20T10:05:00.000Z", "type": "user",
                "content": "Jars?",
            },
            {
                "id": "m2", "timestamp": "2026-02-20T10:05:09.000Z", "type": "gemini",
                "content": "Twelve.", "model": "gemini-2.5-pro",
                "tokens": {"input": 300, "output": 10, "cached": 100, "thoughts": 5, "tool": 2,
                           "total": 317},
            },
        ],
    }  # fmt: skip
    write_lines(home / ".gemini/tmp/7c/chats/session-2026-02-20T10-05-3f0c1d2e.json", [chat])
    return (200 + 2) * 1.25 + 100 * 0.125 + 15 * 10


def write_copilot(home: Path) -> float:
    def event(type_: str, second: int, **data: Any) -> Row:
        at = f"2026-04-01T06:00:{second:02d}.000Z"
        return {"type": type_, "id": f"e{second}", "timestamp": at, "data": data}

    metrics = {
        "claude-sonnet-4.5": {
            "requests": {"count": 2, "cost": 1},
            "usage": {
                "inputTokens": 1_000, "cacheReadTokens": 300, "cacheWriteTokens": 100,
                "outputTokens": 50,
            },
        }
    }  # fmt: skip
    events = [
        event("session.start", 0, sessionId="x1", context={"cwd": "/home/ann/shop"}),
        event("session.model_change", 1, newModel="claude-sonnet-4.5"),
        event("user.message", 2, content="Count the jars"),
        event("assistant.message", 3, messageId="a1", content="Counting.", outputTokens=40),
        event("assistant.message", 4, messageId="a2", content="Twelve.", outputTokens=10),
        event("session.shutdown", 5, modelMetrics=metrics),
    ]
    write_lines(home / f".copilot/session-state/{SESSION}/events.jsonl", events)
    return 600 * 3 + 100 * 3.75 + 300 * 0.3 + 50 * 15


WRITERS = {
    "claude": write_claude,
    "codex": write_codex,
    "copilot": write_copilot,
    "gemini": write_gemini,
    "opencode": write_opencode,
}
# Calls, input, cache writes, cache reads and output of each.
TOKENS = {
    "claude": (1, 10, 0, 100, 20),
    "codex": (3, 1_100, 0, 600, 90),
    "copilot": (2, 600, 100, 300, 50),
    "gemini": (1, 202, 0, 100, 15),
    "opencode": (1, 10, 50, 100, 20),
}


def fill_from_home(root: Path) -> None:
    run(load(archive=str(root)), "tester", Quiet())


def spent(archive: Archive) -> dict[str, tuple[Any, ...]]:
    return {
        row["harness"]: (
            row["calls"], row["input_tokens"], row["cache_write_5m_tokens"],
            row["cache_read_tokens"], row["output_tokens"], row["cost_usd"],
        )
        for row in usage(archive, by="harness")["rows"]
    }  # fmt: skip


@pytest.mark.parametrize("harness", WRITERS)
def test_a_machine_with_one_harness_has_its_usage(
    harness: str, home: Path, root: Path, archive: Archive
) -> None:
    cost = WRITERS[harness](home)
    fill_from_home(root)

    assert spent(archive) == {harness: (*TOKENS[harness], round(cost / 1e6, 6))}


def test_all_harnesses_of_a_machine_add_up(home: Path, root: Path, archive: Archive) -> None:
    costs = {}
    for harness, write in WRITERS.items():
        costs[harness] = write(home)
        fill_from_home(root)

    answer = usage(archive, by="project")

    assert spent(archive) == {
        harness: (*TOKENS[harness], round(cost / 1e6, 6)) for harness, cost in costs.items()
    }
    assert answer["totals"]["cost_usd"] == round(sum(costs.values()) / 1e6, 6)
    assert answer["totals"]["reasoning_tokens"] == 20 + 10 + 5
    assert {row["project"]: row["calls"] for row in answer["rows"]} == {"shop": 7, None: 1}
    assert usage(archive, cost="recorded")["totals"]["cost_usd"] == 0.000548


@pytest.mark.parametrize("copy", ["a-backup", "backup", "older", "z-backup"])
def test_a_copy_from_before_a_runs_end_takes_nothing_of_its_input(
    copy: str, home: Path, root: Path, archive: Archive
) -> None:
    """What a run of Copilot read is logged at its end alone."""
    cost = write_copilot(home)
    events = home / f".copilot/session-state/{SESSION}/events.jsonl"
    cut = home / copy / "session-state" / SESSION / "events.jsonl"
    cut.parent.mkdir(parents=True)
    cut.write_text("".join(events.read_text().splitlines(keepends=True)[:-1]))
    folders = (home / ".copilot", home / copy)
    sources = [f"copilot={folder}" for folder in folders]

    run(load(archive=str(root), sources=sources), "tester", Quiet())

    assert spent(archive) == {"copilot": (*TOKENS["copilot"], round(cost / 1e6, 6))}


def test_a_geminis_subagent_counts_for_the_piece_that_it_was_begun_in(
    home: Path, root: Path, archive: Archive
) -> None:
    chats = home / ".gemini/tmp/7c/chats"
    for minute, kind in enumerate(("main", "subagent", "main", "subagent", "subagent")):
        at = f"2026-02-20T10:0{minute}:00.000Z"
        message = {
            "id": f"m{minute}", "timestamp": at, "type": "gemini", "content": "Twelve.",
            "model": "gemini-2.5-pro", "tokens": {"input": 10, "output": 10},
        }  # fmt: skip
        chat = {"sessionId": SESSION, "startTime": at, "messages": [message]}
        chat |= {"kind": kind} if kind == "subagent" else {}
        write_lines(chats / f"session-2026-02-20T10-0{minute}-3f0c1d2e.json", [chat])
    fill_from_home(root)

    rows = usage(archive, by="session", sort="calls")["rows"]

    assert [(row["sid"], row["calls"]) for row in rows] == [("3f0c1d2e", 3), ("3f0c1d2e", 2)]


def test_a_fork_owns_only_what_it_did_itself(home: Path, root: Path, archive: Archive) -> None:
    write_codex(home)
    fill_from_home(root)

    rows = usage(archive, by="session")["rows"]

    assert sorted((row["calls"], row["output_tokens"]) for row in rows) == [(1, 10), (2, 80)]
