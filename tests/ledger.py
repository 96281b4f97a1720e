"""A small tree that holds every rule by which calls are counted, and its truth beside it.

The truth is worked out by hand, from the price lists: no code of ours computes it.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

SONNET = "claude-sonnet-4-5-20250929"
HAIKU = "claude-haiku-4-5-20251001"
OPUS = "claude-opus-4-8"
ONE = "0a000000-0000-4000-8000-000000000001"
TWO = "0b000000-0000-4000-8000-000000000002"
THREE = "0c000000-0000-4000-8000-000000000003"
FOUR = "0d000000-0000-4000-8000-000000000004"
SHOP, BARN = "/home/ann/shop", "/home/ann/barn"

Row = dict[str, Any]


class Spent(NamedTuple):
    """What a session of a host used with one model, and its cost in microdollars."""

    host: str
    sid: str
    model: str
    calls: int
    input: int
    write_5m: int
    write_1h: int
    read: int
    output: int
    microdollars: float | None
    unpriced: int = 0


# Sonnet 4.5: input 3, writes 3.75 and 6, reads 0.3, output 15 dollars a million; over 200,000
# tokens of input 6, 7.5, 12, 0.6 and 22.5. Haiku 4.5: 1, 1.25, 2, 0.1, 5. Opus 4.8, fast: 10,
# 12.5, 20, 1, 50. A thousand web searches: 10 dollars.
TRUTH = [
    Spent(
        "atlas",
        "0a000000",
        SONNET,
        9,
        100 + 10 + 1 + 1_000 + 1_000 + 1 + 5 + 2 + 30,
        600 + 800,
        400,
        2_000 + 199_001 + 199_000,
        40 + 5 + 1 + 10 + 10 + 1 + 6 + 3 + 70,
        # Grows while it streams; 600 written for 5 minutes, 400 for an hour.
        (100 * 3 + 600 * 3.75 + 400 * 6 + 2_000 * 0.3 + 40 * 15)
        # A line of zeros came first.
        + (10 * 3 + 5 * 15)
        # Written to the cache, for how long is not said: 5 minutes.
        + (1 * 3 + 800 * 3.75 + 1 * 15)
        # 200,001 tokens of input: over the band; 200,000: not over it.
        + (1_000 * 6 + 199_001 * 0.6 + 10 * 22.5)
        + (1_000 * 3 + 199_000 * 0.3 + 10 * 15)
        # Two web searches.
        + (1 * 3 + 1 * 15 + 2 * 10_000)
        # Without a message id: the line's uuid stands in.
        + (5 * 3 + 6 * 15)
        # A response that never ended: a lower bound.
        + (2 * 3 + 3 * 15)
        # A subagent's copy stands in the parent too, at the same instant: the parent's.
        + (30 * 3 + 70 * 15),
    ),
    # The response fell back while it streamed: model and cache are one line's, the last one's.
    Spent("atlas", "0a000000", HAIKU, 1, 7, 0, 0, 100, 9, 7 * 1 + 100 * 0.1 + 9 * 5),
    # Batch had no price of its own in February 2026: unpriced, never the standard price.
    Spent("atlas", "0a000000", OPUS, 2, 100 + 4, 0, 0, 0, 10 + 4, 100 * 10 + 10 * 50, 1),
    Spent("atlas", "0a000000", "mimo-v9", 1, 9, 0, 0, 0, 9, None, 1),
    # A resumed file begins with the parent's lines; only what came after is its own.
    Spent("atlas", "0b000000", SONNET, 1, 20, 0, 0, 0, 30, 20 * 3 + 30 * 15),
    # The subagent's own call, in the parent's name.
    Spent("atlas", "0a000000", "sub", 1, 11, 0, 0, 0, 12, 11 * 1 + 12 * 5),
    # The same session on two hosts: the host that comes first has it. One copy broke off early.
    Spent("atlas", "0c000000", SONNET, 1, 50, 0, 0, 0, 60, 50 * 3 + 60 * 15),
    # A fork keeps its parent's lines under new instants: the parent, far away, has them.
    Spent("borealis", "0d000000", HAIKU, 1, 8, 0, 0, 0, 9, 8 * 1 + 9 * 5),
]


def answer(
    id: str | None,
    input: int,
    output: int,
    *,
    at: str,
    session: str = ONE,
    model: str = SONNET,
    write: int = 0,
    write_5m: int = 0,
    write_1h: int = 0,
    read: int = 0,
    searches: int = 0,
    cwd: str = SHOP,
    stop: str | None = "end_turn",
    tool: str | None = None,
    **fields: Any,
) -> Row:
    """Return an assistant's line; `at` is its time on 10 February 2026 (UTC)."""
    usage: Row = {
        "input_tokens": input,
        "cache_creation_input_tokens": write or write_5m + write_1h,
        "cache_creation": {
            "ephemeral_5m_input_tokens": write_5m, "ephemeral_1h_input_tokens": write_1h
        },
        "cache_read_input_tokens": read,
        "output_tokens": output,
        "server_tool_use": {"web_search_requests": searches},
    }  # fmt: skip
    usage |= {name: fields.pop(name) for name in ("speed", "service_tier") if name in fields}
    content = [{"type": "tool_use", "id": f"t{id}", "name": tool, "input": {}}] if tool else []
    message: Row = {"role": "assistant", "model": model, "content": content, "usage": usage}
    if id is not None:
        message["id"] = id
    if stop is not None:
        message["stop_reason"] = stop
    return {
        "type": "assistant",
        "sessionId": session,
        "cwd": cwd,
        "timestamp": f"2026-02-10T{at}Z",
        "message": message,
        **fields,
    }


def prompt(text: str, session: str) -> Row:
    """Return a line of the user."""
    return {
        "type": "user", "sessionId": session, "cwd": SHOP, "timestamp": "2026-02-10T08:00:00Z",
        "message": {"role": "user", "content": text},
    }  # fmt: skip


def first_session() -> list[Row]:
    """Return the lines in which most rules are."""
    growing: Row = {"write_5m": 600, "write_1h": 400, "read": 2_000}
    return [
        prompt("Count the jars", ONE),
        *(
            answer("msg_1", 100, output, at=f"09:00:0{n}", uuid=f"a{n}", tool="Bash", **growing)
            for n, output in enumerate((1, 40, 30))
        ),
        answer("msg_2", 0, 0, at="09:01:00", model=HAIKU),
        answer("msg_2", 10, 5, at="09:01:05", requestId="req_1"),
        answer("msg_2", 10, 5, at="09:01:06", requestId="req_2"),
        answer("msg_3", 1, 1, at="09:02:00", write=800),
        answer("msg_4", 1_000, 10, at="09:03:00", read=199_001, tool="Read"),
        answer("msg_5", 1_000, 10, at="09:04:00", read=199_000, tool="Read"),
        answer("msg_6", 900, 5, at="09:05:00", read=5_000),
        answer("msg_6", 7, 9, at="09:05:03", read=100, model=HAIKU),
        answer("msg_7", 100, 10, at="09:06:00", model=OPUS, speed="fast"),
        answer("msg_8", 4, 4, at="09:07:00", model=OPUS, service_tier="batch"),
        answer("msg_9", 1, 1, at="09:08:00", searches=2, service_tier="standard"),
        answer(None, 5, 6, at="09:09:00", uuid="only-a-uuid"),
        answer("msg_10", 2, 3, at="09:10:00", stop=None),
        answer("msg_11", 9, 9, at="09:11:00", model="mimo-v9"),
        answer("msg_12", 3_000, 4_000, at="09:12:00", model="<synthetic>"),
        answer("msg_sub_1", 30, 70, at="09:20:00", isSidechain=True),
        # A compaction writes old lines again, in a later minute.
        answer("msg_1", 100, 40, at="10:30:00", uuid="a1", **growing),
        answer("msg_5", 1_000, 10, at="10:30:01", read=199_000),
    ]


def files() -> dict[str, list[Row]]:
    """Return the records of every file by its path in a scrubjay storage tree."""
    shop, barn = "-home-ann-shop", "-home-ann-barn"
    replayed = [row for row in first_session() if "10:30" not in row["timestamp"]][:6]
    return {
        f"atlas/{shop}/{ONE}.jsonl": first_session(),
        f"atlas/{shop}/{ONE}/subagents/agent-5f00.jsonl": [
            answer("msg_sub_1", 30, 70, at="09:20:00", isSidechain=True),
            answer("msg_sub_2", 11, 12, at="09:21:00", model=HAIKU, isSidechain=True, tool="Bash"),
        ],
        f"atlas/{shop}/{TWO}.jsonl": [
            *replayed,
            answer("msg_20", 20, 30, at="11:00:00", session=TWO),
        ],
        f"atlas/{barn}/{THREE}.jsonl": [
            prompt("Feed the goats", THREE),
            answer("msg_30", 50, 60, at="12:00:00", session=THREE, cwd=BARN),
        ],
        f"borealis/{barn}/{THREE}.jsonl": [
            prompt("Feed the goats", THREE),
            answer("msg_30", 50, 2, at="12:00:00", session=THREE, cwd=BARN, stop=None),
        ],
        f"borealis/{barn}/{FOUR}.jsonl": [
            answer("msg_30", 50, 60, at="12:40:00", session=FOUR, cwd=BARN),
            answer("msg_40", 8, 9, at="23:30:00", session=FOUR, cwd=BARN, model=HAIKU),
        ],
    }  # fmt: skip


def write(root: Path, keep: Callable[[str], bool] = lambda _path: True) -> None:
    """Write the files whose path is to be kept below `root`."""
    for path, records in files().items():
        if keep(path):
            write_file(root / path, records)


def write_file(file: Path, records: list[Row]) -> None:
    """Write one session file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
