"""Passages: cut the same wherever they are needed, bounded, and nothing lost on the way."""

from hypothesis import given
from hypothesis import strategies as st

from sjduck.semantic.cutting import CHARACTERS, MOST_A_BLOCK, passages

WORDS = st.lists(st.text("abc déü备份\n .", min_size=1, max_size=40), max_size=400).map(" ".join)


@given(WORDS)
def test_passages_are_bounded_and_stand_where_they_say(text: str) -> None:
    found = list(passages(text))

    assert len(found) <= MOST_A_BLOCK
    for passage in found:
        stands = " ".join(text[passage.start : passage.start + CHARACTERS].split())
        assert len(passage.text) <= CHARACTERS
        assert stands.startswith(passage.text)


@given(WORDS)
def test_all_letters_of_a_short_block_are_in_a_passage(text: str) -> None:
    text = text[: 3 * CHARACTERS]

    said = "".join(passage.text for passage in passages(text))
    assert sum(map(str.isalpha, text)) - sum(map(str.isalpha, said)) < 3 * MOST_A_BLOCK


def test_a_passage_ends_at_a_paragraph_before_it_ends_in_a_word() -> None:
    text = "a" * 700 + "\n\n" + "b" * 700

    first, second = passages(text)

    assert (first.text, second.text) == ("a" * 700, "b" * 700)
    assert second.start == 702


def test_what_says_nothing_is_no_passage() -> None:
    assert list(passages("12 + 3 = 15 …\n\n---")) == []
    assert list(passages("")) == []


def test_the_same_words_are_the_same_content_however_they_are_spaced() -> None:
    one, other = next(passages("where  is\nthe key")), next(passages(" where is the key\n"))

    assert one.content == other.content
