"""Bounds: every answer fits, says what it left out, and paging always goes on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sjduck.bounds import (
    MAX_FIELD_CHARACTERS,
    MAX_REPLY_BYTES,
    Answer,
    bound,
    compact,
    page,
)
from sjduck.errors import UsageError


def paged(rows: list[Answer], max_chars: int, offset: int = 0) -> Answer:
    """Return the page of `rows` that begins at `offset`."""
    return page(
        {"q": "x"},
        rows[offset:],
        name="items",
        total=len(rows),
        offset=offset,
        max_chars=max_chars,
        tail={"tz": "UTC"},
    )


def test_a_page_says_what_it_left_out_and_how_to_get_it() -> None:
    rows = [{"n": n, "text": "x" * 100} for n in range(50)]

    answer = paged(rows, 2_000)

    assert list(answer) == [
        "q", "total", "offset", "shown", "items", "tz", "next_offset", "more", "capped",
    ]  # fmt: skip
    assert answer["shown"] == len(answer["items"]) == answer["next_offset"]
    assert answer["more"] == f"{50 - answer['shown']} more: repeat with offset={answer['shown']}"
    assert len(compact(answer)) <= 2_000


def test_a_page_with_nothing_left_out_says_nothing_of_it() -> None:
    assert paged([{"n": 1}], 2_000) == {
        "q": "x",
        "total": 1,
        "offset": 0,
        "shown": 1,
        "items": [{"n": 1}],
        "tz": "UTC",
    }


def test_one_row_is_shown_whatever_its_size_with_its_fields_cut() -> None:
    answer = paged([{"text": "漢" * 10_000, "n": 1}, {"text": "y", "n": 2}], 500)

    assert [row["n"] for row in answer["items"]] == [1]
    assert len(answer["items"][0]["text"]) == MAX_FIELD_CHARACTERS
    assert answer["items"][0]["text"].endswith("…")
    assert answer["next_offset"] == 1


@pytest.mark.parametrize("max_chars", [MAX_REPLY_BYTES, MAX_REPLY_BYTES + 1, 10**9])
@pytest.mark.parametrize("letter", ["a", "é", "漢", "🦆", '"', "\n"])
def test_no_reply_is_larger_than_75_000_bytes(letter: str, max_chars: int) -> None:
    rows = [{"text": letter * 1_000} for _ in range(200)]

    answer = paged(rows, max_chars)

    assert 60_000 < len(compact(answer).encode()) <= MAX_REPLY_BYTES
    assert ("note" in answer) == (max_chars > MAX_REPLY_BYTES)


def test_0_asks_for_no_bound() -> None:
    rows = [{"text": "漢" * 1_000} for _ in range(200)]

    answer = paged(rows, 0)

    assert answer["shown"] == 200
    assert "more" not in answer


@given(
    texts=st.lists(st.text(max_size=400), max_size=30),
    max_chars=st.integers(1, 3_000),
)
def test_following_next_offset_gives_every_row_once(texts: list[str], max_chars: int) -> None:
    rows = [{"n": n, "text": text} for n, text in enumerate(texts)]
    given_rows: list[Answer] = []
    offset: int | None = 0

    while offset is not None:
        answer = paged(rows, max_chars, offset)
        given_rows += answer["items"]
        offset = answer.get("next_offset")
        if answer["shown"] > 1:
            assert len(compact(answer)) <= max_chars

    assert given_rows == rows


def test_a_bound_is_as_asked_else_from_the_environment_else_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SJMCP_GET_MAX_CHARS", " 700 ")

    assert bound(5, 100, "SJMCP_GET_MAX_CHARS") == 5
    assert bound(0, 100, "SJMCP_GET_MAX_CHARS") == 0
    assert bound(None, 100, "SJMCP_GET_MAX_CHARS") == 700
    assert bound(None, 100, "SJMCP_LIST_MAX_CHARS") == 100
    assert bound(None, 100) == 100


@pytest.mark.parametrize("written", ["many", "-1", "1e4", "٧"])
def test_a_bound_in_the_environment_that_is_no_number_is_named(
    monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    monkeypatch.setenv("SJMCP_GET_MAX_CHARS", written)

    with pytest.raises(UsageError, match=r"SJMCP_GET_MAX_CHARS='.*'; write a number"):
        bound(None, 100, "SJMCP_GET_MAX_CHARS")


def test_a_bound_below_0_is_refused() -> None:
    with pytest.raises(UsageError, match="max_chars=-1; write 0 for no bound"):
        bound(-1, 100)
