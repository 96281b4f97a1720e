"""Recall: what is found, in which order, and what an answer says."""

from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from sjduck import entries
from sjduck.archive import Archive, View
from sjduck.errors import UsageError
from sjduck.index import prepare
from sjduck.ranking.order import _Candidates
from sjduck.recall import recall
from tests.conftest import SAMPLES, Fill
from tests.trees import session_id, write_session


def topics(answer: dict[str, Any]) -> list[str]:
    """Return the topics of an answer's results."""
    return [result["topic"] for result in answer["results"]]


@pytest.fixture
def samples(archive: Archive, fill: Fill) -> Archive:
    """Return an archive of the samples."""
    sources = SAMPLES / "scrubjay"
    fill(f"claude={SAMPLES}/claude", f"scrubjay={sources}/storage", f"scrubjay-logs={sources}/data")
    return archive


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("--force", "then git push --force origin main"),
        ("0x1F4", "the error code 0x1f4 again"),
        ("P2.2", "upgraded to p2.2-rc1"),
        ("etl/pipeline.py", "see src/etl/pipeline.py:40"),
        ("100%", "disk is at 100% now"),
        ("foo_bar", "call foo_bar() twice"),
        ("a_b", "the name a_b is not a-b"),
        ("备份", "请把数据备份到服务器上"),
        ("v2升级", "把v2升级完成了"),
        ("naïve", "a NAÏVE approach"),
        ("İstanbul", "servers in istanbul"),
        ("ΟΔΟΣ", "η οδός των οδοσημάτων οδοσ"),
        ("C:\\Users\\ann", "cd c:\\users\\ann\\shop"),
        ("node.js", "it needs Node.JS 20"),
        ("c++", "rewrite it in C++ maybe"),
        ("@scope/pkg", "npm i @scope/pkg"),
        ("->", "a -> b"),
        ("%", "50 % of it"),
    ],
)
def test_a_term_is_a_substring_in_any_case_and_script(
    tmp_path: Path, archive: Archive, fill: Fill, query: str, text: str
) -> None:
    write_session(tmp_path / "claude", 1, [text])
    write_session(tmp_path / "claude", 2, ["nothing of the kind, a b c v2 p2 node js force etl"])
    fill(f"claude={tmp_path}/claude")

    answer = recall(archive, query)
    found = [r["sid"] for r in answer["results"] if r["score"]]

    assert found == [session_id(1)[:8]]


def test_wildcards_are_themselves(tmp_path: Path, archive: Archive, fill: Fill) -> None:
    write_session(tmp_path / "claude", 1, ["one xay two"])
    fill(f"claude={tmp_path}/claude")

    assert recall(archive, "x%y")["total"] == 0
    assert recall(archive, "x_y")["total"] == 0


def test_short_terms_count_only_where_there_are_no_others(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    write_session(tmp_path / "claude", 1, ["go to k8"])
    fill(f"claude={tmp_path}/claude")

    assert recall(archive, "k8 missing")["results"][0]["score"] == 0
    assert recall(archive, "k8 go")["results"][0]["why"].startswith("2/2 terms")


def test_the_score_counts_terms_density_and_hits(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    write_session(tmp_path / "claude", 1, ["alpha beta", *["filler"] * 3, "gamma"])
    fill(f"claude={tmp_path}/claude")

    result = recall(archive, "alpha beta gamma")["results"][0]

    assert result["why"] == "3/3 terms · 2 in one passage"
    assert result["score"] == 10 * 3 + 6 * 1 + 6


def test_words_of_also_count_for_the_order_and_not_for_the_score(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    write_session(tmp_path / "claude", 1, ["the cache is stale"], day=2)
    write_session(tmp_path / "claude", 2, ["the cache is stale", "etag revalidation ttl"], day=1)
    fill(f"claude={tmp_path}/claude")

    alone = recall(archive, "cache stale")
    helped = recall(archive, "cache stale", also="etag ttl")

    assert [r["sid"] for r in alone["results"]] == [session_id(1)[:8], session_id(2)[:8]]
    assert [r["sid"] for r in helped["results"]] == [session_id(2)[:8], session_id(1)[:8]]
    assert helped["results"][0]["why"].endswith("· also: 2")
    assert {r["sid"]: r["score"] for r in alone["results"]} == {
        r["sid"]: r["score"] for r in helped["results"]
    }


def test_snippets_are_the_densest_lines_far_apart(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    prompts = [f"filler {n}" for n in range(60)]
    for place in (5, 6, 30, 55):
        prompts[place] = "needle here"
    prompts[40] = "needle and thread here"
    write_session(tmp_path / "claude", 1, prompts)
    fill(f"claude={tmp_path}/claude")

    shown = recall(archive, "needle thread")["results"][0]["snippets"]
    lines = [snippet["line"] for snippet in shown]

    assert "needle and thread here" in shown[0]["text"]
    assert len(lines) == 4
    assert all(abs(a - b) >= 20 for a in lines for b in lines if a != b)
    assert all(snippet["turn"] for snippet in shown)


def test_a_session_that_only_the_catalogue_knows_points_to_its_host(samples: Archive) -> None:
    known = samples.ask(
        lambda view: view.rows(
            "select * from topics anti join documents using (session_id) where not is_history"
        )
    )[0]
    words = " ".join(known["topic"].split()[:4])

    result = recall(samples, words, type="log")["results"][0]

    assert result["sid"] == known["sid"]
    assert result["note"] == (f"transcript not in this archive — recall it on {known['host']}")
    assert result["snippets"] == [{"source": "log", "text": known["topic"]}]
    assert "catalogue line" in result["why"]


def test_filters_leave_ranks_from_one_over_what_is_left(samples: Archive) -> None:
    everything = recall(samples, "backup nas test", k=50, max_chars=0)
    hosts = {result["host"] for result in everything["results"] if result["host"]}

    for host in hosts:
        only = recall(samples, "backup nas test", k=50, host=host, max_chars=0)
        assert {result["host"] for result in only["results"]} == {host}
        assert only["total"] <= everything["total"]
    assert recall(samples, "backup", since="2099-01-01")["results"] == []
    assert len(hosts) > 1


def test_more_filters_than_are_kept_are_answered_as_the_first_ones(
    samples: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions: list[dict[str, Any]] = [
        {}, {"type": "transcript"}, {"include_sidechains": True}, {"project": "a"},
        {"until": "2026-08-01"}, {"since": "2026-08-01"}, {"harness": "claude"},
        {"tz": "Asia/Tokyo"},
    ]  # fmt: skip
    monkeypatch.setattr(entries, "_MOST_KEPT", 0)
    answers = [recall(samples, "the backup", k=100, **asked) for asked in questions]
    samples.close()
    monkeypatch.setattr(entries, "_MOST_KEPT", 5)

    assert len({answer["total"] for answer in answers}) > 3
    for _ in range(2):
        assert [recall(samples, "the backup", k=100, **asked) for asked in questions] == answers


def test_subagents_are_left_out_unless_asked_for(samples: Archive) -> None:
    without = recall(samples, "the", k=100, max_chars=0)
    with_them = recall(samples, "the", k=100, include_sidechains=True, max_chars=0)

    assert "subagent" not in {result["type"] for result in without["results"]}
    assert "subagent" in {result["type"] for result in with_them["results"]}


def test_what_is_said_in_a_row_that_counts_for_nothing_is_passed_over(
    archive: Archive, fill: Fill
) -> None:
    """The last rows of relevance may count for no entry: here older prompts of a history."""
    fill(f"claude={SAMPLES}/claude", f"scrubjay={SAMPLES}/scrubjay/storage")

    def last(view: View, relation: str) -> int:
        prepare(view)
        return max(int(row["id"]) for row in view.rows(f"select id from {relation}"))

    assert archive.ask(lambda view: last(view, "said")) > archive.ask(
        lambda view: last(view, "spoken")
    )
    assert recall(archive, "rounding of fees")["count"] > 0


@pytest.mark.parametrize("rank", ["fused", "windows"])
def test_the_order_is_that_of_measuring_everything(
    samples: Archive, monkeypatch: pytest.MonkeyPatch, rank: str
) -> None:
    """Bounds decide what is measured, never what comes first."""
    queries = ["backup nas", "test", "error file the", "the a of to", "migration index lock", "備"]
    pruned = [
        recall(samples, query, also="retry timeout host", rank=rank, k=k)
        for query in queries
        for k in (1, 3, 8)
    ]
    settled = _Candidates.measure

    def everything(candidates: _Candidates, which: Any) -> None:
        settled(candidates, np.arange(len(candidates.entry)))

    monkeypatch.setattr(_Candidates, "measure", everything)
    whole = [
        recall(samples, query, also="retry timeout host", rank=rank, k=k)
        for query in queries
        for k in (1, 3, 8)
    ]

    assert pruned == whole


def test_results_beyond_the_budget_are_left_out_and_said(samples: Archive) -> None:
    answer = recall(samples, "the", max_chars=1_500)

    assert 0 < answer["count"] < 8
    assert answer["capped"] is True
    assert "larger max_chars" in answer["more"]


def test_more_that_match_are_named_with_the_argument_that_shows_them(samples: Archive) -> None:
    answer = recall(samples, "the", k=2)

    assert answer["count"] == 2
    assert answer["more"].startswith(f"{answer['total'] - 2} more match: repeat with k=4")


def test_as_many_terms_as_a_question_can_have_are_counted(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    terms = [f"term{n:03}" for n in range(70)]
    write_session(tmp_path / "claude", 1, [" ".join(terms)])
    fill(f"claude={tmp_path}/claude")

    answer = recall(archive, " ".join(terms[:40]), also=" ".join(terms[40:]))

    assert answer["results"][0]["why"] == "40/40 terms · 40 in one passage · also: 22"
    assert answer["results"][0]["score"] == 10 * 40 + 6 * 39 + 6
    assert answer["notes"] == ["8 further words were left out: at most 62 count"]


@pytest.mark.parametrize("query", ["", "   ", "\n"])
def test_a_question_without_a_word_is_refused(samples: Archive, query: str) -> None:
    with pytest.raises(UsageError, match="nothing to recall"):
        recall(samples, query)


def test_odd_questions_are_answered(samples: Archive) -> None:
    odd = ["'", '"', "\\", "$text", "(a or b", "x" * 10_000, "a " * 5_000, "🦆", "\0", "NULL --"]
    for query in [*odd, "\ud800", "y" * 50_000]:
        answer = recall(samples, query, also="\udfff")
        assert "results" in answer, query
        assert len(orjson.dumps(answer)) < 14_000, query


def test_more_than_a_question_can_show_is_reached_by_narrowing_it(
    samples: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sjduck.recall.MAX_RESULTS", 2)

    assert recall(samples, "the", k=2)["more"].endswith(
        " more match: repeat with more words, or filter by host, project or period"
    )


def test_an_empty_archive_and_no_match_are_answers(archive: Archive, samples: Archive) -> None:
    assert recall(archive, "zzzzqqqq") == {
        "query": "zzzzqqqq", "count": 0, "total": 0, "results": [], "tz": "UTC",
    }  # fmt: skip


def test_words_in_another_form_are_shown_where_no_line_has_the_term(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    file = write_session(tmp_path / "claude", 1, ["hello\n\nthe migration went well", "bye"])
    records = [orjson.loads(line) for line in file.read_bytes().splitlines()]
    thought = {"type": "thinking", "thinking": "so it was\nthe bakery that closed"}
    records[-2]["message"]["content"].insert(0, thought)
    file.write_bytes(b"\n".join(orjson.dumps(record) for record in records) + b"\n")
    fill(f"claude={tmp_path}/claude")

    (said,) = recall(archive, "migrations")["results"]
    (thinking,) = recall(archive, "bakeries")["results"]
    (as_asked,) = recall(archive, "migration bakeries")["results"]

    assert said["why"] == "0/1 terms · other forms"
    assert thinking["why"] == "0/1 terms · not in the readable"
    assert said["snippets"] == [{"line": 9, "turn": 1, "text": "hello the migration went well"}]
    assert thinking["snippets"] == [{"turn": 4, "text": "so it was the bakery that closed"}]
    assert as_asked["why"] == "1/2 terms"
    assert {"line": 9, "turn": 1, "text": "the migration went well"} in as_asked["snippets"]


def test_headings_of_turns_make_room_for_what_was_said(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    prompts = [f"filler {n}" for n in range(30)]
    prompts[20] = "the assistant framework"
    write_session(tmp_path / "claude", 1, prompts)
    fill(f"claude={tmp_path}/claude")

    shown = recall(archive, "assistant")["results"][0]["snippets"]

    assert any("the assistant framework" in snippet["text"] for snippet in shown)
    assert all(not snippet["text"].startswith("##") for snippet in shown)


def test_the_title_is_shown_only_where_nothing_else_matches(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    write_session(tmp_path / "claude", 1, ["one needle\nin two lines"])
    fill(f"claude={tmp_path}/claude")

    lines = [s["line"] for s in recall(archive, "needle")["results"][0]["snippets"]]
    across = [s["line"] for s in recall(archive, "needle in")["results"][0]["snippets"]]

    assert 1 not in lines
    assert 1 not in across


def test_a_term_of_punctuation_is_looked_for_in_so_many_lines(
    tmp_path: Path, archive: Archive, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        write_session(tmp_path / "claude", number, ["a -> b"], day=number + 1)
    fill(f"claude={tmp_path}/claude")
    everything = recall(archive, "->")
    monkeypatch.setattr("sjduck.verify.MOST_LINES", 50)
    bounded = recall(archive, "->")

    assert everything["total"] == 4
    assert "notes" not in everything
    assert bounded["total"] < 4
    assert bounded["notes"][0].startswith("'->' is punctuation only: looked for in")


@pytest.mark.parametrize("query", ["foo.bar", "=>"])
def test_text_is_checked_in_the_copy_that_lives_not_in_a_dead_one(
    tmp_path: Path, archive: Archive, fill: Fill, query: str
) -> None:
    for number in range(40):
        write_session(tmp_path / "claude", number, ["call foo.bar => now"])
    fill(f"claude={tmp_path}/claude")
    write_session(tmp_path / "claude", 0, ["call foo bar = > now"])
    fill(f"claude={tmp_path}/claude")

    answer = recall(archive, query, k=100, max_chars=0)
    found = {result["sid"] for result in answer["results"] if result["score"]}

    assert found == {session_id(number)[:8] for number in range(1, 40)}
