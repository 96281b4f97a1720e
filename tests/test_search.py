"""Search: which blocks are found, in which order, and what an answer says."""

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sjduck import judging, typos
from sjduck.archive import Archive, Row, View
from sjduck.bounds import compact
from sjduck.errors import UsageError
from sjduck.index import of_each_file, prepare
from sjduck.passages import bare, passage
from sjduck.phrases import folded, parse
from sjduck.readable import shown_text
from sjduck.reading import get
from sjduck.search import search
from sjduck.snapshots import read_snapshot
from sjduck.sqlfiles import sql
from tests.conftest import SAMPLES, Fill
from tests.storage import Storage, log_row
from tests.trees import session_id, write_session


def said(archive: Archive, query: str, **options: Any) -> list[str]:
    """Return the handles of the sessions in which people said what is searched for."""
    answer = search(archive, query, role="user", max_chars=0, **options)
    return [hit["sid"] for hit in answer["hits"]]


def handles(*numbers: int) -> list[str]:
    """Return the handles of sessions."""
    return [session_id(number)[:8] for number in numbers]


@pytest.fixture
def samples(archive: Archive, fill: Fill) -> Archive:
    """Return an archive of the samples."""
    sources = SAMPLES / "scrubjay"
    fill(f"claude={SAMPLES}/claude", f"scrubjay={sources}/storage", f"scrubjay-logs={sources}/data")
    return archive


# -- what a query is ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("flaky test", ["word flaky", "word test"]),
        ('"flaky test" now', ["phrase flaky test", "word now"]),
        ('"flaky test", now.', ["phrase flaky test", "word now"]),
        ("test -flaky", ["word test", "without flaky"]),
        ('test -"very flaky"', ["word test", "without very flaky"]),
        ("git push --force", ["word git", "word push", "word --force"]),
        ("exit code -1", ["word exit", "word code", "word -1"]),
        ("rm -rf", ["word rm", "without rf"]),
        ("-rf", ["word -rf"]),
        ('say "hello', ["word say", "word hello"]),
        ('five"inch', ['word five"inch']),
        ("(see it's) [there]!", ["word see", "word it's", "word there"]),
        ("a:b ^c* AND NEAR(d)", ["word a:b", "word ^c*", "word AND", "word NEAR(d"]),
        ("-> --", ["word ->", "word --"]),
        ("same same", ["word same"]),
        ('"" " "', []),
        (" \t\n", []),
    ],
)
def test_a_query_is_words_phrases_and_what_must_not_stand(query: str, parts: list[str]) -> None:
    assert [f"{part.kind} {part.text}" for part in parse(query).parts] == parts


def test_a_query_has_at_most_so_many_words() -> None:
    asked = parse(" ".join(f"w{number}" for number in range(250)))

    assert len(asked.parts) == 200
    assert asked.left_out == 50


# -- what is found ------------------------------------------------------------------------


def test_any_word_may_match_in_any_form_and_the_best_comes_first(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    write_session(tmp_path / "claude", 1, ["the cache was invalidated too early"])
    write_session(tmp_path / "claude", 2, ["we invalidate the caches of every shop"])
    write_session(tmp_path / "claude", 3, ["nothing of the kind"])
    write_session(tmp_path / "claude", 4, ["only a cache"])
    fill(f"claude={tmp_path}/claude")

    found = said(archive, "invalidating cache")

    assert set(found[:2]) == set(handles(1, 2))
    assert found[2:] == handles(4)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("parse_config", "call parse_config() here"),
        ("etl/pipeline.py", "see src/etl/pipeline.py:40"),
        ("0x1F4", "the error code 0x1f4 again"),
        ("v2.1.260", "upgraded to v2.1.260 today"),
        ("--no-verify", "commit it with --no-verify"),
        ("TypeError:", "it says TypeError: undefined"),
        ("备份", "请把数据备份到服务器上"),
        ("备", "请把数据备份到服务器上"),
        ("복원", "백업 복원 훈련"),
        ("naive", "a NAÏVE approach"),
        ("météo", "the meteo page"),
        ("well-known", "a well-known trick"),
        ("std::vector", "a std::vector<int> of them"),
        ("C:\\Users\\ann", "cd c:\\users\\ann\\shop"),
        ("the of", "of the"),
        ("->", "a -> b"),
        ("🦆", "a 🦆 quacks"),
        ("%", "50 % of it"),
    ],
)
def test_what_is_awkward_is_found(
    tmp_path: Path, archive: Archive, fill: Fill, query: str, text: str
) -> None:
    write_session(tmp_path / "claude", 1, [text])
    write_session(tmp_path / "claude", 2, ["nothing"])
    fill(f"claude={tmp_path}/claude")

    assert said(archive, query) == handles(1)
    assert said(archive, f'"{query}"') == (handles(1) if folded(query) in folded(text) else [])


def test_a_phrase_stands_literally_in_any_case_and_across_lines(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    write_session(tmp_path / "claude", 1, ["The Connection\nwas refused twice"])
    write_session(tmp_path / "claude", 2, ["was the connection refused?"])
    write_session(tmp_path / "claude", 3, ["connections was refused"])
    fill(f"claude={tmp_path}/claude")

    assert said(archive, '"connection was refused"') == handles(1)
    assert said(archive, '"connection was refus"') == handles(1)
    assert said(archive, '"connection was" "refused twice"') == handles(1)
    assert said(archive, '"connection was" "refused never"') == []


def test_what_is_excluded_does_not_stand_in_a_hit(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    write_session(tmp_path / "claude", 1, ["deploy to staging"])
    write_session(tmp_path / "claude", 2, ["deploy to production, never to staging.eu"])
    write_session(tmp_path / "claude", 3, ["deploying stagings"])
    fill(f"claude={tmp_path}/claude")

    assert said(archive, "deploy -staging") == []
    assert set(said(archive, "deploy -staging.eu")) == set(handles(1, 3))
    assert set(said(archive, 'deploy -"to production"')) == set(handles(1, 3))
    answer = search(archive, "deploy -staging.eu")
    assert answer["excluded"] == ["staging.eu"]
    assert "notes" not in answer


def test_a_word_with_punctuation_comes_first_where_it_stands_as_written(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    write_session(tmp_path / "claude", 1, ["file config, not found; config file, config"], day=2)
    write_session(tmp_path / "claude", 2, ["it raises config_file here, in a longer sentence"])
    fill(f"claude={tmp_path}/claude")

    assert said(archive, "config_file") == handles(2, 1)
    assert said(archive, "config_file", rank="bm25") == handles(1, 2)


def test_of_equal_hits_the_newer_comes_first(tmp_path: Path, archive: Archive, fill: Fill) -> None:
    for number in (1, 2, 3):
        write_session(tmp_path / "claude", number, ["the very same words"], day=5 * number)
    fill(f"claude={tmp_path}/claude")

    assert said(archive, "same words") == handles(3, 2, 1)


def test_what_was_said_counts_more_than_what_was_called(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    write_session(tmp_path / "claude", 1, ["please grep it"])
    fill(f"claude={tmp_path}/claude")

    kinds = [hit["kind"] for hit in search(archive, "grep")["hits"]]
    assert kinds == ["text", "text", "tool_use"]


def test_tool_output_joins_only_where_it_is_asked_for(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    write_session(tmp_path / "claude", 1, ["the disk quota"])
    fill(f"claude={tmp_path}/claude")

    without = search(archive, '"disk quota"')
    joined = search(archive, '"disk quota"', include_low_signal=True)

    assert [hit["kind"] for hit in without["hits"]] == ["text", "text"]
    assert [hit["kind"] for hit in joined["hits"]] == ["text", "text", "tool_result"]
    last = joined["hits"][-1]
    assert last["tool"] == "Bash"
    line = get(archive, session_id(1), lines=str(last["line"]))["content"]
    assert "the disk quota!" in line


def test_tool_output_is_searched_in_parts_of_words_and_excluded_too(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    write_session(tmp_path / "claude", 1, ["quota_exceeded on sda1"])
    write_session(tmp_path / "claude", 2, ["quota_exceeded on sdb2"])
    fill(f"claude={tmp_path}/claude")

    def results(query: str) -> list[str]:
        hits = search(archive, query, include_low_signal=True, max_chars=0)["hits"]
        return sorted(hit["sid"] for hit in hits if hit["kind"] == "tool_result")

    assert results("exceeded") == sorted(handles(1, 2))
    assert results("xceede") == sorted(handles(1, 2))
    assert results('exceeded -"on sda1"') == handles(2)
    assert results('"exceeded on sda1"') == handles(1)


def test_subagents_and_inline_sidechains_are_left_out_unless_asked_for(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    storage = Storage(tmp_path)
    storage.session("atlas", session_id(1), ["find the leak"])
    storage.subagent("atlas", session_id(1), "0a1b2c3d", ["find the leak quietly"])
    fill(*storage.sources)

    types = {hit["type"] for hit in search(archive, "leak")["hits"]}
    with_them = search(archive, "leak", include_sidechains=True)["hits"]

    assert types == {"transcript"}
    assert {hit["type"] for hit in with_them} == {"transcript", "subagent"}


def test_filters_are_those_of_listings_and_the_time_is_the_message_s_own(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    storage = Storage(tmp_path)
    storage.session("atlas", session_id(1), ["the leak"], day=1, cwd="/home/ann/shop")
    storage.session("borealis", session_id(2), ["the leak"], day=3, cwd="/home/ann/till")
    storage.memory("-home-ann-shop", "leaks.md", "# Leaks\n\nThe leak is known.\n")
    fill(*storage.sources)

    assert said(archive, "leak", host="borealis") == handles(2)
    assert said(archive, "leak", project="SHOP") == handles(1)
    assert said(archive, "leak", harness="codex") == []
    assert said(archive, "leak", since="2026-03-02") == handles(2)
    assert said(archive, "leak", until="2026-03-01") == handles(1)
    assert said(archive, "leak", since="2026-03-01T10:00:01Z", until="2026-03-02") == []
    assert said(archive, "leak", until="2026-03-01", tz="Asia/Tokyo") == handles(1)
    memory = [hit for hit in search(archive, "known leak")["hits"] if hit["type"] == "memory"]
    assert [hit["role"] for hit in memory] == [None]
    assert not search(archive, '"is known"', since="2020-01-01")["total"]


def test_the_same_session_of_several_hosts_is_searched_once(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    storage = Storage(tmp_path)
    storage.session("atlas", session_id(1), ["the leak", "again"])
    storage.session("borealis", session_id(1), ["the leak"])
    fill(*storage.sources)

    everywhere = search(archive, "leak", role="user")["hits"]

    assert [(hit["host"], hit["also_on"]) for hit in everywhere] == [("atlas", ["borealis"])]
    assert said(archive, "leak", host="borealis") == handles(1)


def test_a_session_that_only_the_catalogue_knows_points_to_its_host(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    storage = Storage(tmp_path)
    storage.session("atlas", session_id(1), ["something else"])
    storage.log(
        "frost",
        log_row(session_id(2), "The leaking valve", host="frost"),
        log_row(session_id(1), "A valve too", host="atlas"),
    )
    fill(*storage.sources)

    hits = search(archive, "valve")["hits"]

    assert [(hit["kind"], hit["host"], hit["sid"]) for hit in hits] == [
        ("topic", "frost", handles(2)[0])
    ]
    assert hits[0]["note"] == "transcript not in this archive — recall it on frost"
    assert hits[0]["snippet"] == "The leaking valve"


# -- where nothing matches ----------------------------------------------------------------


def test_misspelt_words_are_corrected_only_where_nothing_matches(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    write_session(tmp_path / "claude", 1, ["the migration of the orders", "a migration again"])
    write_session(tmp_path / "claude", 2, ["a vibration"])
    fill(f"claude={tmp_path}/claude")

    corrected = search(archive, "migratoin", role="user")
    beside_others = search(archive, "migratoin orders", role="user")

    assert corrected["corrected"] == {"migratoin": "migration"}
    assert [hit["sid"] for hit in corrected["hits"]] == handles(1, 1)
    assert "corrected" not in beside_others
    assert beside_others["unknown"] == ["migratoin"]
    assert [hit["sid"] for hit in beside_others["hits"]] == handles(1)
    assert "corrected" not in search(archive, "migration", host="nowhere")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("migratoin", "migration"),
        ("migation", "migration"),
        ("migrattion", "migration"),
        ("mogration", "migration"),
        ("imgratoin", "migration"),
        ('"ordres of"', "orders"),
        ("météoroogie", "meteorologie"),
        ("пирвет", "привет"),
    ],
)
def test_a_slip_or_two_are_corrected(
    tmp_path: Path, archive: Archive, fill: Fill, written: str, meant: str
) -> None:
    write_session(
        tmp_path / "claude", 1, ["the migration of orders of Météorologie", "привет снова"]
    )
    fill(f"claude={tmp_path}/claude")

    answer = search(archive, written)

    assert list(answer["corrected"].values()) == [meant]
    assert answer["total"] > 0


@pytest.mark.parametrize("written", ["qqqqzzzz", "teh", "E0380", "zz"])
def test_what_is_near_to_nothing_stays_as_it_is(
    tmp_path: Path, archive: Archive, fill: Fill, written: str
) -> None:
    write_session(tmp_path / "claude", 1, ["the error E0308 of the migration"])
    fill(f"claude={tmp_path}/claude")

    answer = search(archive, written)

    assert answer["total"] == 0
    assert answer["hits"] == []
    assert answer["unknown"] == [written.lower()]


def test_of_equally_near_words_the_more_frequent_is_taken(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    write_session(tmp_path / "claude", 1, ["a table", "a cable", "another cable", "a fable"])
    fill(f"claude={tmp_path}/claude")

    assert search(archive, "xable")["corrected"] == {"xable": "cable"}


@given(st.text("abcde", min_size=4, max_size=14), st.data())
def test_one_part_of_a_word_outlives_its_slips(word: str, data: Any) -> None:
    """The filter before the distance drops no word that is near enough."""
    slips = data.draw(st.sampled_from([1, 2] if len(word) >= 6 else [1]))
    written = word
    for _ in range(slips):
        at = data.draw(st.integers(0, len(written) - 1))
        written = data.draw(
            st.sampled_from(
                [
                    written[:at] + "x" + written[at:],
                    written[:at] + written[at + 1 :],
                    written[:at] + "x" + written[at + 1 :],
                    written[:at] + written[at : at + 2][::-1] + written[at + 2 :],
                ]
            )
        )
    parts = typos._parts(word, slips)

    assert parts["shortest"] <= len(written) <= parts["longest"]
    assert (
        written.startswith(parts["head"])
        or written.endswith(parts["tail"])
        or parts["middle"] in written
    )


# -- what an answer says ------------------------------------------------------------------


def test_a_hit_says_where_it_is_who_said_it_and_when(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    prompts = ["first things", "\n".join(["filler"] * 30 + ["then the flaky test"] + ["rest"] * 9)]
    write_session(tmp_path / "claude", 1, prompts)
    fill(f"claude={tmp_path}/claude")

    (hit,) = search(archive, '"flaky test"', role="user", tz="Asia/Tokyo")["hits"]

    line = get(archive, session_id(1), lines=str(hit["line"]))["content"]
    assert line.splitlines()[1] == "then the flaky test"
    assert "then the flaky test" in hit["snippet"]
    assert len(hit["snippet"]) <= 240
    assert hit["turn"] == 3
    assert hit["uuid"] == f"{session_id(1)}-u1"
    assert (hit["role"], hit["kind"]) == ("user", "text")
    assert hit["sent_at"] == "2026-03-01 19:01"
    assert (hit["date"], hit["host"], hit["project"]) == ("2026-03-01", "testhost", "shop")
    assert hit["path"].startswith("sj://transcript/testhost/shop/")


def test_pages_of_any_size_are_the_whole(samples: Archive) -> None:
    whole = search(samples, "the a of to", limit=500, max_chars=0)
    paged: list[Row] = []
    offset: int | None = 0
    while offset is not None:
        answer = search(samples, "the a of to", limit=7, offset=offset, max_chars=2_500)
        assert len(compact(answer)) <= 2_500
        paged += answer["hits"]
        offset = answer.get("next_offset")

    assert paged == whole["hits"]
    assert len(paged) == whole["total"] > 40
    assert "next_offset" not in whole


def test_a_page_is_bounded_and_says_how_to_go_on(samples: Archive) -> None:
    answer = search(samples, "the", limit=10_000, max_chars=3_000)

    assert len(compact(answer)) <= 3_000
    assert answer["capped"] is True
    assert answer["more"].endswith(f"repeat with offset={answer['next_offset']}")
    assert search(samples, "the", limit=10_000, max_chars=0)["shown"] <= 500


def test_an_unknown_choice_is_refused(samples: Archive) -> None:
    with pytest.raises(UsageError, match="unknown role 'nobody'; one of: user, assistant"):
        search(samples, "a", role="nobody")
    with pytest.raises(UsageError, match="unknown rank 'best'; one of: blended, bm25"):
        search(samples, "a", rank="best")


@pytest.mark.parametrize("query", ["", "   ", '"', '""', '" "', "\n"])
def test_a_query_without_anything_is_refused(samples: Archive, query: str) -> None:
    with pytest.raises(UsageError, match="nothing to search for"):
        search(samples, query)


def test_odd_queries_are_answered(samples: Archive) -> None:
    odd = [
        "'", '"a', "\\", "$text", "(a or b", "a:b", "a^2 b*", "NEAR(a, b)", "NOT a", "a AND b",
        "x" * 10_000, "a " * 5_000, " ".join(f"word{n}" for n in range(1_500)), "🦆", "🦆 the",
        "\0", "a\0b", "\ud800", "NULL --", "'; drop table said; --", "%s %(a)s {a} {}", "-", "--",
        "-a", '-"a b"', '"' * 99 + "a", "the of and", "_", "__init__", "\u202e", "٣٤", "ﬁne", "İ",
        "𝔘",
    ]  # fmt: skip
    for query in odd:
        answer = search(samples, query)
        assert answer["total"] >= len(answer["hits"]), query
        assert len(compact(answer)) <= 12_000, query
        json.dumps(answer)
        low = search(samples, query, include_low_signal=True)
        assert low["total"] >= answer["total"] or "corrected" in answer, query


def test_an_archive_without_sessions_answers_too(archive: Archive) -> None:
    assert search(archive, 'zzzz "qq qq"') == {
        "query": 'zzzz "qq qq"', "unknown": ["zzzz", "qq"],
        "hint": "include_low_signal=true looks in tool output too; sj_recall in parts of words",
        "total": 0, "offset": 0, "shown": 0, "hits": [], "rank": "blended", "tz": "UTC",
    }  # fmt: skip


def test_a_phrase_of_frequent_words_is_looked_for_in_so_many_blocks(
    tmp_path: Path, archive: Archive, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_session(tmp_path / "claude", 1, [f"one two {n}" for n in range(20)])
    fill(f"claude={tmp_path}/claude")
    whole = search(archive, '"one two"', limit=50, max_chars=0)
    monkeypatch.setattr(judging, "_FIRST", 10)
    monkeypatch.setattr(judging, "MOST_JUDGED", 15)

    full_page = search(archive, '"one two"', limit=9, max_chars=0)
    last_page = search(archive, '"one two"', limit=9, offset=9, max_chars=0)

    assert whole["total"] == 40
    assert "notes" not in whole
    assert full_page["hits"] == whole["hits"][:9]
    assert full_page["next_offset"] == 9
    assert full_page["notes"] == ["phrases were looked for in the best 10 of 40 blocks"]
    assert last_page["hits"] == whole["hits"][9:15]
    assert last_page["notes"] == ["phrases were looked for in the best 15 of 40 blocks"]


def test_answers_do_not_depend_on_how_the_archive_came_to_be(
    tmp_path: Path, root: Path, archive: Archive, fill: Fill
) -> None:
    home = tmp_path / "claude"
    for number in range(9):
        prompts = [f"prompt {n} of the backup, back_up.sh" for n in range(1 + number % 4)]
        write_session(home, number, prompts, day=1 + number % 3)
        if number % 3 == 2:
            write_session(home, number - 1, [*prompts, "one more backup"])
        fill(f"claude={home}")
    at_once = tmp_path / "at-once"
    fill(f"claude={home}", archive=at_once)

    for query in ("backup", '"of the backup"', "back_up.sh -more", "bakcup", "->"):
        for low in (False, True):
            grown = search(archive, query, include_low_signal=low, limit=100, max_chars=0)
            fresh = search(
                Archive(at_once, timezone="UTC"), query, include_low_signal=low, limit=100,
                max_chars=0,
            )  # fmt: skip
            assert grown == fresh, query


def test_a_damaged_index_file_is_a_note_and_the_rest_answers(
    tmp_path: Path, root: Path, archive: Archive, fill: Fill
) -> None:
    for number in (1, 2):
        write_session(tmp_path / "claude", number, ["a backup"])
        fill(f"claude={tmp_path}/claude")
    (root / read_snapshot(root).manifests[0].indexes[0].path).unlink()

    answer = search(archive, "backup", role="user")

    assert [hit["sid"] for hit in answer["hits"]] == handles(2)
    assert "run 'sjduck etl --reindex'" in answer["notes"][0]


# -- against all there is -----------------------------------------------------------------


def everything_said(archive: Archive) -> list[Row]:
    """Return every block that is searched without asking for more, as its text is shown."""
    rows = archive.ask(
        lambda view: view.rows(
            "select document, seq, kind, tool_name, is_error, text from blocks "
            "join documents using (document) where not is_replay and blocks.signal <> 'low' "
            "and documents.type <> 'subagent' and not is_sidechain and hosts is null"
        )
    )
    for row in rows:
        shown = shown_text(
            row["kind"], row["text"], tool_name=row["tool_name"], is_error=row["is_error"]
        )
        row["shown"] = folded(f"{shown}\n{row['text']}")
    return rows


def drawn_phrases(rows: list[Row], count: int) -> Iterator[str]:
    """Yield phrases of whole words that stand somewhere."""
    chance = random.Random(3)
    for _ in range(count):
        words = chance.choice(rows)["text"].split()
        start = chance.randrange(len(words)) if words else 0
        phrase = " ".join(words[start : start + chance.randint(1, 4)]).replace('"', "").strip()
        if re.search(r"\w", phrase) and len(phrase) < 200:
            yield phrase


def test_a_phrase_is_found_wherever_it_stands_word_by_word(
    samples: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = everything_said(samples)
    for phrase in drawn_phrases(rows, 80):
        answer = search(samples, f'"{phrase}"', limit=500, max_chars=0)
        hits = {
            (hit["path"], hit["seq"])
            for hit in answer["hits"]
            if hit["kind"] != "topic" and "also_on" not in hit
        }
        literal = re.compile(rf"(?<!\w){re.escape(folded(phrase))}(?!\w)")
        expected = sum(literal.search(row["shown"]) is not None for row in rows)
        anywhere = sum(folded(phrase) in row["shown"] for row in rows)

        assert expected <= len(hits) <= anywhere, phrase


def test_bm25_alone_is_the_score_that_recall_s_scorer_gives(samples: Archive) -> None:
    answer = search(samples, "retry backup", rank="bm25", include_sidechains=True, limit=500)

    def scores(view: View) -> list[float]:
        prepare(view)
        view.table("found_stems", sql("recall/stems"), text="retry backup")
        view.table("found_uses", of_each_file(view, "recall/uses"))
        return [round(row["score"], 3) for row in view.rows(sql("recall/score_blocks"))]

    theirs = samples.ask(scores)
    assert answer["hits"]
    assert {hit["score"] for hit in answer["hits"]} <= set(theirs)


# -- the passage that is shown ------------------------------------------------------------


def test_the_passage_is_where_most_of_what_was_looked_for_stands() -> None:
    text = "\n".join(["alpha"] + ["filler line"] * 50 + ["alpha and beta and gamma"] + ["x"] * 9)

    found = passage(text, ["alpha", "beta", "gamma"])

    assert "alpha and beta and gamma" in found.text
    assert found.lines_above == 51
    assert len(found.text) <= 240


@given(st.text(max_size=400), st.lists(st.text(max_size=5), max_size=4))
def test_a_passage_fits_and_stands_on_one_line(text: str, needles: list[str]) -> None:
    found = passage(text, needles, 40)

    assert len(found.text) <= 40
    assert "\n" not in found.text
    assert 0 <= found.lines_above <= text.count("\n")


def test_text_without_accents_keeps_its_places() -> None:
    assert bare("Météo ÀÉ ß 备份") == "meteo ae ß 备份"
    assert len(bare("e\u0301x")) == 3
