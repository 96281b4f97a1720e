"""Within: every line that holds a text, with the lines around it and where it stands."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from sjduck.archive import Archive
from sjduck.bounds import MAX_REPLY_BYTES, compact
from sjduck.errors import UsageError
from sjduck.reading import get
from sjduck.within import EXCERPT_CHARACTERS, MAX_PASSAGES, search_within
from tests.conftest import Fill
from tests.storage import Storage, log_row, whole
from tests.test_reading import RENDERED, said, tool_results
from tests.trees import session_id, write_session

ONE, TWO = session_id(1), session_id(2)


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    """Return an empty storage tree."""
    return Storage(tmp_path)


@pytest.fixture
def filled(storage: Storage, archive: Archive, fill: Fill) -> Archive:
    """Return the archive with one session of two prompts, and a rendered one."""
    more = [*said("Straße ODER Gasse"), *tool_results("a\tb\nUser\nc\n")]
    storage.session("atlas", ONE, ["where is the till?", "and the key?"], more=more)
    storage.readable("atlas", "2026-03-01_a__feedbeef.md", RENDERED)
    fill(*storage.sources)
    return archive


def test_an_answer_says_where_the_text_stands(filled: Archive) -> None:
    answer = search_within(filled, ONE, "TILL", context=1)

    assert list(answer) == ["path", "query", "matches", "passages"]
    assert (answer["query"], answer["matches"]) == ("TILL", 4)
    assert answer["passages"] == [
        {"line": 1, "turn": None, "excerpt": "# where is the till?\n"},
        {"line": 7, "turn": 1, "excerpt": "\nwhere is the till?\n## Assistant"},
        {
            "line": 10,
            "turn": 2,
            "excerpt": "\nLooking into: where is the till?\n",
        },
        {"line": 21, "turn": 2, "excerpt": "```text\nwhere is the till?!\n```"},
    ]


def test_headings_are_lines_too_with_the_turn_they_open(filled: Archive) -> None:
    for ref in (ONE, "feedbeef"):
        answer = search_within(filled, ref, "## user", context=0)

        for passage in answer["passages"]:
            number, turn = passage["line"], passage["turn"]
            assert passage["excerpt"] == "## User"
            turn_text = get(filled, ref, turns=str(turn), max_chars=0)["content"]
            assert turn_text.split("\n")[1] == "## User"
            assert get(filled, ref, lines=str(number))["content"].endswith("\n## User\n")
        assert answer["matches"] == len(answer["passages"]) == 2


def test_the_turn_of_a_rendered_line_is_the_one_above_it(filled: Archive) -> None:
    (passage,) = search_within(filled, "feedbeef", "said at last", context=0)["passages"]

    assert (passage["line"], passage["turn"]) == (28, 2)
    assert "said at last" in get(filled, "feedbeef", turns="2")["content"]


@hypothesis_settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None
)
@given(
    query=st.text(st.sampled_from("teilxUSERß oa#→\t`"), min_size=1, max_size=4),
    ref=st.sampled_from([ONE, "feedbeef"]),
)
def test_matches_are_the_lines_of_the_readable_that_hold_the_text(
    filled: Archive, query: str, ref: str
) -> None:
    lines = whole(filled, ref).removesuffix("\n").split("\n")
    expected = [n for n, line in enumerate(lines, 1) if query.lower() in line.lower()]

    answer = search_within(filled, ref, query, context=0, max_chars=0)

    assert answer["matches"] == len(expected)
    shown = [passage["line"] for passage in answer["passages"]]
    assert shown == expected[:MAX_PASSAGES]
    assert [p["excerpt"] for p in answer["passages"]] == [lines[n - 1] for n in shown]


def test_matches_near_one_another_share_a_passage(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    storage.session("atlas", TWO, [], more=said("hit 1\nhit 2\nx\nx\nx\nhit 3"))
    fill(*storage.sources)

    answer = search_within(archive, TWO, "hit", context=1)

    assert answer["matches"] == 3
    assert [(p["line"], p["excerpt"]) for p in answer["passages"]] == [
        (7, "\nhit 1\nhit 2\nx"),
        (12, "x\nhit 3"),
    ]


def test_at_most_40_passages_are_shown_and_the_rest_named(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    storage.session("atlas", TWO, [], more=said("hit\nx\nx\nx\n" * 50))
    fill(*storage.sources)

    answer = search_within(archive, TWO, "hit", context=0, max_chars=0)
    following = get(archive, TWO, lines=answer["more"].split('"')[1])["content"]

    assert (answer["matches"], len(answer["passages"])) == (50, MAX_PASSAGES)
    assert answer["next_line"] == 7 + 4 * 40
    assert answer["more"] == '10 more passages: read on with lines="167-"'
    assert following.split("\n")[1] == "hit"


@pytest.mark.parametrize("max_chars", [1, 300, 2_000, 12_000])
def test_an_answer_fits_its_bound_and_shows_one_passage_at_least(
    storage: Storage, archive: Archive, fill: Fill, max_chars: int
) -> None:
    storage.session("atlas", TWO, [], more=said(("hit " + "漢" * 80 + "\nx\nx\nx\n") * 60))
    fill(*storage.sources)

    answer = search_within(archive, TWO, "hit", max_chars=max_chars)

    assert answer["matches"] == 60
    assert answer["passages"]
    assert len(answer["passages"]) == 1 or len(compact(answer)) <= max_chars
    assert "more" in answer


def test_no_reply_is_larger_than_75_000_bytes(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    storage.session("atlas", TWO, [], more=said("\n".join(["🦆" * 600, "x"] * 60)))
    fill(*storage.sources)

    answer = search_within(archive, TWO, "🦆", max_chars=10**6)

    assert len(compact(answer).encode()) <= MAX_REPLY_BYTES
    assert answer["note"] == "max_chars lowered to 75000; 0 asks for no bound"


def test_of_a_long_line_what_stands_around_the_text_is_shown(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    storage.session("atlas", TWO, [], more=said("x" * 5_000 + "NEEDLE" + "y" * 5_000))
    fill(*storage.sources)

    (passage,) = search_within(archive, TWO, "needle")["passages"]

    assert len(passage["excerpt"]) == EXCERPT_CHARACTERS
    assert "xNEEDLEy" in passage["excerpt"]


def test_a_match_stays_in_an_excerpt_that_long_lines_around_would_push_out(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    storage.session("atlas", TWO, [], more=said("x" * 599 + "\nneedle\n" + "y" * 599))
    fill(*storage.sources)

    (passage,) = search_within(archive, TWO, "needle")["passages"]

    assert passage["excerpt"].startswith("needle\ny")
    assert len(passage["excerpt"]) == EXCERPT_CHARACTERS


def test_nothing_found_is_an_answer(filled: Archive) -> None:
    answer = search_within(filled, ONE, "nowhere to be found")

    assert (answer["matches"], answer["passages"]) == (0, [])


def test_a_document_without_lines_has_no_match(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    storage.plan("atlas", "empty.md", "")
    storage.log("atlas", log_row(ONE, "A"))
    fill(*storage.sources)

    assert search_within(archive, "empty", "x")["matches"] == 0
    assert search_within(archive, "sj://log/atlas/atlas", "A")["matches"] == 0


def test_a_very_long_query_does_not_make_a_long_answer(filled: Archive) -> None:
    answer = search_within(filled, ONE, "q" * 10**6)

    assert len(compact(answer)) < 3_000


def test_no_text_to_look_for_is_refused(filled: Archive) -> None:
    with pytest.raises(UsageError, match="nothing to look for"):
        search_within(filled, ONE, "")


def test_a_ref_that_leads_nowhere_is_an_answer_that_says_so(filled: Archive) -> None:
    assert search_within(filled, "nope", "x")["error"] == "not found or outside the archive"


def test_case_is_folded_as_recall_folds_it(tmp_path: Path, archive: Archive, fill: Fill) -> None:
    write_session(tmp_path / "claude", 1, ["των οδοσημάτων", "servers in İstanbul"])
    fill(f"claude={tmp_path}/claude")

    assert search_within(archive, session_id(1), "ΟΔΟΣ")["matches"] > 0
    assert search_within(archive, session_id(1), "istanbul")["matches"] > 0
