"""Codex's counts: a call is an increase of the totals, and the same one in every copy."""

from pathlib import Path
from typing import Any

import pytest

from sjduck.archive import Archive
from sjduck.usage import usage
from tests.conftest import Fill
from tests.flattened import Flat, Row
from tests.rollouts import (
    answered,
    counted,
    event,
    header,
    id_at,
    item,
    message,
    opened,
    record,
    rollout,
    tokens,
    tool,
    turn,
    typed,
)

ID = id_at(0)


def spent(flat: Flat) -> list[tuple[int, int]]:
    """Return input (cached too) and output of each call."""
    return [
        (call["input_tokens"] + call["cache_read_tokens"], call["output_tokens"])
        for call in flat.calls
    ]


def once(*flats: Flat) -> dict[int, Row]:
    """Return the calls as an archive of these files counts them: the earliest of each key."""
    rows = [call for flat in flats for call in flat.calls]
    return {row["call_key"]: row for row in sorted(rows, key=_sent_at, reverse=True)}


def _sent_at(row: Row) -> Any:
    return row["sent_at"]


# -- one file ------------------------------------------------------------------------------


def test_totals_that_are_repeated_are_one_call(tmp_path: Path) -> None:
    total = tokens(100, 10)

    flat = rollout(tmp_path, header(ID), [counted(total, total, at=at) for at in (1, 2, 3)])

    assert spent(flat) == [(100, 10)]
    assert str(flat.calls[0]["sent_at"]) == "2026-05-02 08:00:01"


def test_a_call_is_the_increase_of_the_totals_whatever_the_last_counts_say(
    tmp_path: Path,
) -> None:
    flat = rollout(
        tmp_path,
        header(ID),
        counted(tokens(100, 10, 50, 5), tokens(100, 10, 50, 5)),
        counted(tokens(350, 30, 200, 12), tokens(120, 9, 80, 4)),
    )

    assert spent(flat) == [(100, 10), (250, 20)]
    assert (flat.calls[1]["input_tokens"], flat.calls[1]["cache_read_tokens"]) == (100, 150)
    assert flat.calls[1]["reasoning_tokens"] == 7


def test_counts_that_are_none_are_no_calls(tmp_path: Path) -> None:
    zero = tokens(0, 0)

    flat = rollout(tmp_path, header(ID), event("token_count", info=None), counted(zero, zero))

    assert flat.calls == []
    assert flat.file.unknown == {}


def test_totals_that_fall_begin_a_new_count_by_the_last_response(tmp_path: Path) -> None:
    flat = rollout(
        tmp_path,
        header(ID),
        counted(tokens(900, 90), tokens(900, 90)),
        counted(tokens(700, 70), tokens(100, 10)),
        counted(tokens(750, 75), tokens(50, 5)),
        counted(tokens(40, 4), tokens(60, 6)),
        counted(tokens(30, 3)),
    )

    assert spent(flat) == [(900, 90), (100, 10), (50, 5), (40, 4), (30, 3)]


def test_a_window_that_was_overrun_is_no_call_and_the_next_one_counts(tmp_path: Path) -> None:
    full = tokens(0, 0) | {"total_tokens": 258_400}

    flat = rollout(
        tmp_path,
        header(ID),
        counted(tokens(900, 90), tokens(900, 90)),
        counted(full, tokens(0, 0) | {"total_tokens": 99}),
        counted(tokens(50, 5) | {"total_tokens": 258_455}, tokens(50, 5)),
    )

    assert spent(flat) == [(900, 90), (50, 5)]


def test_what_the_first_totals_hold_beyond_the_last_response_is_in_another_file(
    tmp_path: Path,
) -> None:
    first = tokens(3_000_000_000, 9_000_000, 2_900_000_000)

    flat = rollout(tmp_path, header(ID), counted(first, tokens(9_000, 35)))
    without_last = rollout(tmp_path, header(ID), counted(tokens(500, 5)))

    assert spent(flat) == [(9_000, 35)]
    assert spent(without_last) == [(500, 5)]


def test_a_count_after_the_last_message_counts(tmp_path: Path) -> None:
    flat = rollout(
        tmp_path,
        header(ID),
        turn(id_at(1)),
        answered("Done.", at=2),
        event("task_complete", turn_id=id_at(1), at=2),
        counted(tokens(100, 10), at=3),
    )

    assert spent(flat) == [(100, 10)]


def test_more_cached_than_input_is_all_cached(tmp_path: Path) -> None:
    total = tokens(100, 10, 140, cache_write_input_tokens=30)

    (call,) = rollout(tmp_path, header(ID), counted(total)).calls

    assert (call["input_tokens"], call["cache_read_tokens"]) == (0, 100)
    assert call["cache_write_5m_tokens"] == 0


def test_what_was_written_to_the_cache_is_no_plain_input(tmp_path: Path) -> None:
    total = tokens(100, 10, 40, cache_write_input_tokens=25)

    (call,) = rollout(tmp_path, header(ID), counted(total)).calls

    assert (call["input_tokens"], call["cache_read_tokens"]) == (35, 40)
    assert call["cache_write_5m_tokens"] == 25


@pytest.mark.parametrize("odd", [None, "12", -5, True, [3], {}, 1e300, 2**60, float("inf")])
def test_a_count_that_is_none_is_zero(tmp_path: Path, odd: Any) -> None:
    total = tokens(odd, 7, odd, odd, cache_write_input_tokens=odd)

    (call,) = rollout(tmp_path, header(ID), counted(total, odd)).calls

    assert call["output_tokens"] == 7
    assert call["input_tokens"] == call["cache_read_tokens"] == call["reasoning_tokens"] == 0


def test_reasoning_is_unknown_where_it_is_not_logged(tmp_path: Path) -> None:
    total = {"input_tokens": 10, "output_tokens": 1}

    (call,) = rollout(tmp_path, header(ID), counted(total)).calls

    assert call["reasoning_tokens"] is None


@pytest.mark.parametrize("info", ["odd", {}, {"total_token_usage": None}, {"prompt": 5}])
def test_counts_of_another_shape_are_counted_as_unknown(tmp_path: Path, info: Any) -> None:
    flat = rollout(tmp_path, header(ID), event("token_count", info=info))

    assert flat.calls == []
    assert flat.file.unknown == {"token_count without totals": 1}


def test_a_call_has_the_model_folder_provider_and_tier_of_its_turn(tmp_path: Path) -> None:
    flat = rollout(
        tmp_path,
        header(ID, cwd="/before", model_provider="openai"),
        turn(id_at(1), model="gpt-5.5", cwd="/one"),
        counted(tokens(100, 10)),
        event("thread_settings_applied", thread_settings={"service_tier": "priority"}),
        turn(id_at(2), model="gpt-5.4-mini", cwd="/two", model_provider="azure"),
        counted(tokens(300, 20)),
    )

    facts = [
        (call["model"], call["cwd"], call["provider"], call["service_tier"]) for call in flat.calls
    ]
    assert facts == [
        ("gpt-5.5", "/one", "openai", None),
        ("gpt-5.4-mini", "/two", "azure", "priority"),
    ]
    assert flat.document["models"] == ["gpt-5.5", "gpt-5.4-mini"]


def test_tools_are_the_calls_whether_it_is_counted_before_or_after_its_items(
    tmp_path: Path,
) -> None:
    reads, writes = tool("read", {}, "a"), tool("write", {}, "b")
    thought = event("agent_reasoning", text="hm")
    search = item("web_search_call", action={"type": "search", "query": "slugs"})

    after = rollout(
        tmp_path,
        header(ID),
        [typed("go"), reads, search, counted(tokens(1, 1))],
        [writes[0], counted(tokens(2, 2)), writes[1]],
        [answered("done"), counted(tokens(3, 3))],
    )
    before = rollout(
        tmp_path,
        header(ID),
        [typed("go"), thought, counted(tokens(1, 1)), reads, search],
        [thought, counted(tokens(2, 2)), writes],
        [event("agent_message", message="done"), counted(tokens(3, 3))],
    )

    for flat in (after, before):
        assert [call["tools"] for call in flat.calls] == [["read", "web_search"], ["write"], []]
        assert [call["web_searches"] for call in flat.calls] == [1, 0, 0]


# -- several files -------------------------------------------------------------------------


def test_a_copy_of_a_session_has_the_same_keys(tmp_path: Path) -> None:
    for turn_id in (None, id_at(5)):
        session = [header(ID), turn(turn_id), counted(tokens(100, 10), at=6)]

        here = rollout(tmp_path, session, name=f"sessions/rollout-2026-05-02T08-00-00-{ID}.jsonl")
        there = rollout(tmp_path, session, name=f"archived_sessions/rollout-x-{ID}.jsonl")
        renamed = rollout(tmp_path, session, name="kept.jsonl")

        assert len(once(here, there, renamed)) == 1


def test_a_session_taken_up_again_in_its_file_goes_on_counting(tmp_path: Path) -> None:
    flat = rollout(
        tmp_path,
        header(ID),
        [turn(id_at(1), at=1), counted(tokens(100, 10), tokens(100, 10), at=2)],
        header(ID, at=90_000),
        [turn(id_at(90_001), at=90_001), counted(tokens(100, 10), tokens(100, 10), at=90_001)],
        counted(tokens(160, 15), tokens(60, 5), at=90_002),
    )

    assert spent(flat) == [(100, 10), (60, 5)]
    assert {call["session_id"] for call in flat.calls} == {ID}


def work(turn_id: str | None, total: Row, last: Row, *, at: float) -> list[Row]:
    """Return a turn with one response."""
    ended = {"turn_id": turn_id} if turn_id else {}
    return opened(
        [
            turn(turn_id, at=at),
            typed("And now?", at=at),
            answered("So.", at=at),
            counted(total, last, at=at),
            event("task_complete", at=at, **ended),
        ]
    )


def family(folder: Path, *, has_turn_ids: bool) -> tuple[Flat, Flat, Flat]:
    """Return a session and two forks of it that each do equal work."""
    one, two = tokens(100, 10), tokens(250, 20)
    third = tokens(400, 30)

    def ids(at: float, tail: int) -> str | None:
        return id_at(at, tail) if has_turn_ids else None

    def past(at: float | None) -> list[Row]:
        return [
            *work(ids(10, 1), one, one, at=10 if at is None else at),
            *work(ids(20, 2), two, tokens(150, 10), at=20 if at is None else at),
        ]

    parent = rollout(folder, header(ID), past(None), name="parent.jsonl")
    forks = []
    for tail in (3, 4):
        fork = id_at(1_000, tail)
        forks.append(
            rollout(
                folder,
                header(fork, at=1_000, forked_from_id=ID),
                header(ID, at=1_000),
                past(1_000),
                work(ids(1_060, tail), third, tokens(150, 10), at=1_060),
                name=f"{fork}.jsonl",
            )
        )
    return parent, forks[0], forks[1]


@pytest.mark.parametrize("has_turn_ids", [True, False])
def test_a_fork_counts_only_what_it_did_after_the_copy(
    tmp_path: Path, *, has_turn_ids: bool
) -> None:
    parent, fork, _ = family(tmp_path, has_turn_ids=has_turn_ids)

    calls = once(parent, fork)

    assert spent(fork) == [(100, 10), (150, 10), (150, 10)]
    assert len(calls) == 3
    owners = [call["document"] for call in calls.values()]
    assert owners.count(parent.document["document"]) == 2
    assert [call["session_id"] for call in fork.calls] == [ID, ID, id_at(1_000, 3)]


@pytest.mark.parametrize("has_turn_ids", [True, False])
def test_equal_work_of_two_forks_is_two_works(tmp_path: Path, *, has_turn_ids: bool) -> None:
    parent, fork, other = family(tmp_path, has_turn_ids=has_turn_ids)

    assert len(once(fork, other)) == 4
    assert sum(call["output_tokens"] for call in once(parent, fork, other).values()) == 40


@pytest.mark.parametrize("has_turn_ids", [True, False])
def test_a_fork_of_a_fork_counts_each_response_once(tmp_path: Path, *, has_turn_ids: bool) -> None:
    parent, fork, _ = family(tmp_path, has_turn_ids=has_turn_ids)
    lines = (tmp_path / f"{id_at(1_000, 3)}.jsonl").read_bytes().splitlines()
    copied = [line.replace(b"2026-05-02T08:17:40", b"2026-05-02T08:33:20") for line in lines]
    nested = id_at(2_000, 5)

    grandchild = rollout(
        tmp_path,
        header(nested, at=2_000, forked_from_id=id_at(1_000, 3)),
        [line.replace(b"2026-05-02T08:16:40", b"2026-05-02T08:33:20") for line in copied],
        work(id_at(2_060, 5) if has_turn_ids else None, tokens(500, 35), tokens(100, 5), at=2_060),
        name=f"{nested}.jsonl",
    )
    calls = once(parent, fork, grandchild)

    assert sum(call["output_tokens"] for call in calls.values()) == 35
    assert len(calls) == 4
    # Without ids of turns nothing tells which ancestor's a copied count is: their files have it.
    missing = {} if has_turn_ids else {"token_count copied from another session": 3}
    assert grandchild.file.unknown == missing
    if has_turn_ids:
        assert [call["session_id"] for call in grandchild.calls] == [
            ID, ID, id_at(1_000, 3), nested,
        ]  # fmt: skip


@pytest.mark.parametrize("has_turn_ids", [True, False])
def test_an_archive_counts_a_family_and_its_copies_once(
    tmp_path: Path, fill: Fill, archive: Archive, *, has_turn_ids: bool
) -> None:
    home = tmp_path / "codex"
    parent, *_ = family(home / "sessions", has_turn_ids=has_turn_ids)
    kept = home / "archived_sessions" / "kept.jsonl"
    kept.parent.mkdir()
    kept.write_bytes(Path(parent.file.claim.file).read_bytes())

    fill(f"codex={home}")
    answer = usage(archive, by="session")

    counts = [(row["sid"], row["calls"], row["output_tokens"]) for row in answer["rows"]]
    assert sorted(counts) == [("019de7b3", 2, 20), ("019de7c2", 1, 10), ("019de7c2", 1, 10)]


def test_a_fork_of_the_last_turns_has_its_parents_keys(tmp_path: Path) -> None:
    parent, *_ = family(tmp_path, has_turn_ids=True)
    fork = id_at(3_000)

    cut = rollout(
        tmp_path,
        header(fork, at=3_000, forked_from_id=ID),
        typed("And now?", at=3_000),
        counted(tokens(250, 20), tokens(150, 10), at=3_000),
        event("task_complete", turn_id=id_at(20, 2), at=3_000),
        work(id_at(3_001), tokens(300, 25), tokens(50, 5), at=3_001),
        name=f"{fork}.jsonl",
    )

    assert spent(cut) == [(150, 10), (50, 5)]
    assert len(once(parent, cut)) == 3


def test_a_subagent_that_counts_from_zero_has_work_of_its_own(tmp_path: Path) -> None:
    parent, *_ = family(tmp_path, has_turn_ids=True)
    agent = id_at(1_500)

    spawned = rollout(
        tmp_path,
        header(agent, at=1_500, forked_from_id=ID, source={"subagent": {"thread_spawn": {}}}),
        header(ID, at=1_500),
        work(id_at(1_501), tokens(100, 10), tokens(100, 10), at=1_501),
        name=f"{agent}.jsonl",
    )

    assert len(once(parent, spawned)) == 3
    assert [call["session_id"] for call in spawned.calls] == [agent]
    assert {call["is_sidechain"] for call in spawned.calls} == {True}


def test_numbered_records_say_where_a_subagents_own_begin(tmp_path: Path) -> None:
    parent, *_ = family(tmp_path, has_turn_ids=True)
    agent, source = id_at(1_500), {"subagent": {"thread_spawn": {"parent_thread_id": ID}}}
    seed = counted(tokens(250, 20), tokens(150, 10), at=1_500)
    records = [
        header(agent, at=1_500, source=source, subagent_history_start_ordinal=4),
        seed,
        record("turn_context", {"turn_id": id_at(20, 2)}, at=1_500),
        seed,
        *work(id_at(1_501), tokens(260, 21), tokens(10, 1), at=1_501),
    ]
    numbered = [{**entry, "ordinal": place} for place, entry in enumerate(records)]

    flat = rollout(tmp_path, numbered, name=f"{agent}.jsonl")

    assert [call["session_id"] for call in flat.calls] == [agent]
    assert spent(flat) == [(10, 1)]
    assert flat.file.unknown == {"token_count copied from another session": 1}
    assert len(once(parent, flat)) == 3


def test_a_copy_with_its_old_times_ends_where_the_new_ones_begin(tmp_path: Path) -> None:
    fork = id_at(5_000)

    flat = rollout(
        tmp_path,
        header(fork, at=5_000, forked_from_id=ID),
        [work(None, tokens(100 * n, n), tokens(100, 1), at=100 * n) for n in (1, 2, 3)],
        work(None, tokens(400, 4), tokens(100, 1), at=5_010),
        name=f"{fork}.jsonl",
    )

    assert [call["session_id"] for call in flat.calls] == [ID, ID, ID, fork]
    assert str(flat.document["started_at"]) == "2026-05-02 09:23:20"


def test_turns_whose_ids_are_not_unique_are_told_by_their_session(tmp_path: Path) -> None:
    flats = [
        rollout(tmp_path, header(id_at(n)), turn("1"), counted(tokens(100, 10)), name=f"{n}.jsonl")
        for n in (1, 2)
    ]

    assert len(once(*flats)) == 2


def test_the_same_totals_twice_in_a_turn_are_two_calls(tmp_path: Path) -> None:
    total, none = tokens(100, 10), tokens(0, 0)
    session = [header(ID), turn(id_at(1)), counted(total), counted(none), counted(total)]

    flat = rollout(tmp_path, session)
    copy = rollout(tmp_path, session, name="copy.jsonl")

    assert len(once(flat)) == 2
    assert len(once(flat, copy)) == 2


def test_a_message_of_the_user_is_no_item_of_the_model(tmp_path: Path) -> None:
    flat = rollout(
        tmp_path, header(ID), message("user", "go"), counted(tokens(1, 1)), tool("read", {}, "a")
    )

    assert flat.calls[0]["tools"] == ["read"]
