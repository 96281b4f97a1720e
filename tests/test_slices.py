"""Slices: what they name, and cutting so that nothing is lost or given twice."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sjduck.errors import UsageError
from sjduck.slices import END, Span, cut, line_ref, parse_lines, parse_turns, sent_bytes


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("670", Span(670, 670)),
        ("670-700", Span(670, 700)),
        (" 670 - 700 ", Span(670, 700)),
        ("670-", Span(670, END)),
        ("670:24001-700", Span(670, 700, 24001)),
        ("670:24001", Span(670, 670, 24001)),
        ("1:0-2", Span(1, 2, 1)),
        ("1-99999999999999999999", Span(1, END)),
    ],
)
def test_lines_name_a_range(text: str, span: Span) -> None:
    assert parse_lines(text) == span


@pytest.mark.parametrize("text", ["", "x", "0", "-5", "5-3", "5--7", "1,2", "1-2-3", "5:", ":5"])
def test_what_is_no_range_of_lines_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="can't take lines="):
        parse_lines(text)


def test_turns_name_a_range() -> None:
    assert parse_turns("5") == (5, 5)
    assert parse_turns("5-10") == (5, 10)
    assert parse_turns("5-") == (5, END)


@pytest.mark.parametrize("text", ["", "x", "0-3", "10-5", "5:2"])
def test_what_is_no_range_of_turns_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="can't take turns="):
        parse_turns(text)


def test_the_cut_is_at_a_lines_end() -> None:
    lines = [(1, "aaaa"), (2, "bbbb"), (3, "cccc")]

    assert cut(lines, Span(1, 3), 12, 0) == ("aaaa\nbbbb\n", (3, 1))
    assert cut(lines, Span(1, 3), 15, 0) == ("aaaa\nbbbb\ncccc\n", None)
    assert cut(lines, Span(1, 3), 0, 0) == ("aaaa\nbbbb\ncccc\n", None)


def test_a_line_longer_than_a_whole_answer_is_cut_inside_at_once() -> None:
    lines = [(1, "aaaa"), (2, "b" * 100)]

    assert cut(lines, Span(1, 2), 12, 0) == ("aaaa\nbbbbbbb", (2, 8))


texts = st.lists(
    st.text(st.sampled_from('ab"\\\0\té漢🦆\u2028'), max_size=60)
    | st.integers(0, 400).map("🦆漢x".__mul__),
    max_size=12,
)


@given(texts=texts, max_chars=st.integers(1, 300), max_bytes=st.integers(12, 400))
def test_following_the_rest_gives_every_character_once(
    texts: list[str], max_chars: int, max_bytes: int
) -> None:
    lines = list(enumerate(texts, 1))
    span: Span | None = Span(1, END)
    content = ""

    while span is not None:
        taken = cut(lines[span.first - 1 :], span, max_chars, max_bytes)
        content += taken.content
        assert len(taken.content) <= max_chars
        assert sent_bytes(taken.content) <= max_bytes
        span = parse_lines(line_ref(*taken.rest, END)) if taken.rest else None

    assert content == "".join(text + "\n" for text in texts)
