"""The index: words as questions fold them, the extension's scores, equal answers however built."""

import shutil
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from etl import indexing, words
from etl.indexing import kept
from etl.vacuum import vacuum
from etl.words import Words, cut
from sjduck import index
from sjduck.archive import Archive, View
from sjduck.errors import SjduckError
from sjduck.fulltext import load_extension
from sjduck.index import of_each_file, prepare
from sjduck.recall import recall
from sjduck.settings import load
from sjduck.snapshots import IndexFile, read_snapshot
from sjduck.sqlfiles import sql
from sjduck.words import fold, pieces, relevance_text
from tests.conftest import SAMPLES, Fill, Quiet
from tests.trees import write_session

QUESTIONS = ["flaky test", "postgres migration index", "backup nas", "prompt 3", "grep -rn", "备份"]


def cut_words(text: str) -> set[str]:
    """Return the words that the index takes of a text."""
    frame = pl.DataFrame({"place": pl.Series([0], dtype=pl.UInt64), "text": [text]})
    return set(cut(frame)["word"].to_list())


def postings(*texts: tuple[int, int, str]) -> dict[tuple[str, int], list[int]]:
    """Return the lines of each word and document, of texts at (document, line)."""
    with duckdb.connect() as connection:
        connection.execute("attach ':memory:' as out")
        index = Words(connection)
        for ordinal, line, text in texts:
            index.take(ordinal, line, text)
        index.write()
        rows = connection.execute(
            "select word, ordinal, list_sort(flatten(list(lines))) from out.postings join "
            "(select first_id + unnest(range(len(split))) as word_id, unnest(split) as word from "
            "(select first_id, string_split(words, chr(10)) as split from out.lexicon)) "
            "using (word_id) group by all"
        ).fetchall()
    return {(word, ordinal): lines for word, ordinal, lines in rows}


def test_text_and_question_are_folded_alike_for_every_character() -> None:
    characters = [chr(n) for n in range(sys.maxunicode + 1) if not 0xD800 <= n <= 0xDFFF]
    text = "\n".join(f"x{c}x" for c in characters if c != "\n")
    taken = cut_words(text)

    missing = [c for c in characters if c.isalnum() and fold(f"x{c}x") not in taken]
    assert missing == []


@given(st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=40), st.data())
def test_every_piece_of_a_term_lies_inside_one_word_of_the_text(text: str, data: Any) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    taken = cut_words(text)

    for piece in pieces(fold(text)[start:end]):
        assert any(piece in word for word in taken)


def test_a_very_long_word_is_found_by_any_part_of_64_characters() -> None:
    word = "".join(chr(97 + n * n % 26) for n in range(1_000))
    taken = cut_words(word)

    assert all(len(piece) <= 256 for piece in taken)
    assert all(any(word[n : n + 64] in piece for piece in taken) for n in range(937))


def test_postings_give_each_line_once_in_order() -> None:
    found = postings((0, 1, "b a a\nb\n\nA"), (1, 5, "a"), (0, 10, "a"))

    assert found == {("a", 0): [1, 4, 10], ("b", 0): [1, 2], ("a", 1): [5]}


@pytest.mark.parametrize(("name", "value"), [("_RUN_KEYS", 3), ("_CUT_CHARACTERS", 4)])
def test_postings_are_the_same_in_many_runs(
    name: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [(n % 5, 1 + 3 * n, f"word{n} same\nother{n % 3}") for n in range(40)]
    whole = postings(*texts)
    monkeypatch.setattr(words, name, value)

    assert postings(*texts) == whole


def test_words_of_most_documents_come_first_and_postings_lie_in_that_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rare words, which most words are, then lie in few row groups."""
    monkeypatch.setattr(words, "_RUN_KEYS", 3)
    with duckdb.connect() as connection:
        connection.execute("attach ':memory:' as out")
        index = Words(connection)
        for ordinal, text in enumerate(("rare common", "common often", "often common", "late")):
            index.take(ordinal, 1, text)
        index.write()
        lexicon = connection.execute("select words from out.lexicon").fetchall()
        lying = connection.execute("select word_id, ordinal from out.postings").fetchall()

    assert lexicon == [("common\noften\nrare\nlate",)]
    assert lying == [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 0), (3, 3)]


def test_documents_of_more_lines_and_runs_of_more_documents_than_a_slot_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = [(0, 1, "\n".join(f"w{n % 7}" for n in range(100))), (1, 1, "w1"), (2, 900, "w2")]
    whole = postings(*texts)
    monkeypatch.setattr(words, "_MAX_LINES", 16)
    monkeypatch.setattr(words, "_LINE_BITS", 4)
    monkeypatch.setattr(words, "_MAX_SLOTS", 4)
    monkeypatch.setattr(words, "_SLOT_BITS", 2)

    assert postings(*texts) == whole
    assert whole["w0", 0] == [1 + 7 * n for n in range(15)]


def test_unspaced_scripts_are_written_as_overlapping_pairs() -> None:
    assert relevance_text("plain words") == "plain words"
    assert relevance_text("把备份做好ok").split() == ["把备", "备份", "份做", "做好", "ok"]
    assert relevance_text("好").split() == ["好"]


@pytest.fixture
def filled(tmp_path: Path, archive: Archive, fill: Fill) -> Archive:
    """Return an archive without copies, in which every row of relevance counts."""
    shutil.copytree(SAMPLES / "claude" / "projects", tmp_path / "claude" / "projects")
    fill(f"claude={tmp_path}/claude")
    return archive


@contextmanager
def extensions_index(view: View) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give what was said as the full-text extension indexes it by itself."""
    rows = view.rows(
        "select said.id, coalesce(blocks.text, catalogue.topic) as text from said "
        "join ordinals using (file, ordinal) "
        "left join blocks on blocks.document = ordinals.document and blocks.seq = said.seq "
        "and said.kind <> 'topic' left join catalogue on said.kind = 'topic' "
        "and catalogue.document = ordinals.document and catalogue.line = said.line"
    )
    with duckdb.connect() as connection:
        connection.execute("create table said (id integer, text varchar)")
        connection.executemany(
            "insert into said values (?, ?)",
            [(row["id"], relevance_text(row["text"])) for row in rows],
        )
        load_extension(connection)
        connection.execute(
            "pragma create_fts_index('said', 'id', 'text', stemmer = 'porter', "
            "stopwords = 'none', ignore = '[^\\p{L}\\p{N}]+', strip_accents = 1, lower = 1)"
        )
        yield connection


def odd_prompts() -> Iterator[str]:
    """Yield characters of every script, alone and in runs; those that any Unicode version knows."""
    known = unicodedata.ucd_3_2_0.category
    odd = [chr(n) for n in range(1, 0x30000) if known(chr(n)) not in ("Cc", "Cn", "Co", "Cs")]
    kept = odd[:9000] + odd[9000::40]
    for at in range(0, len(kept), 60):
        some = kept[at : at + 60]
        yield f"odd {' '.join(some)} {''.join(some)}"


def test_what_is_indexed_is_what_the_extension_indexes(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    write_session(tmp_path / "claude", 1, [*odd_prompts(), "Running ran RUNS İstanbul ΣΊΣΥΦΟΣ"])
    fill(f"claude={tmp_path}/claude")

    def compare(view: View) -> None:
        prepare(view)
        with extensions_index(view) as connection:
            terms = connection.execute(
                "select docs.name, term, count(*) from fts_main_said.terms "
                "join fts_main_said.dict using (termid) join fts_main_said.docs using (docid) "
                "group by all order by all"
            ).fetchall()
            lengths = connection.execute("select name, len from fts_main_said.docs").fetchall()
        uses = view.rows(
            "select said_id, stem, uses from uses join stems using (file, stem_id) order by all"
        )
        assert [tuple(row.values()) for row in uses] == terms
        said = view.rows("select id, length from said")
        assert {row["id"]: row["length"] for row in said} == dict(lengths)

    archive.ask(compare)


def test_block_scores_are_those_of_the_extension(filled: Archive) -> None:
    """One index file without dead rows: the largest difference to match_bm25 is rounding."""

    def ours(view: View, text: str) -> dict[int, float]:
        prepare(view)
        view.table("found_stems", sql("recall/stems"), text=relevance_text(text))
        view.table("found_uses", of_each_file(view, "recall/uses"))
        return {row["id"]: row["score"] for row in view.rows(sql("recall/score_blocks"))}

    def theirs(view: View) -> Iterator[dict[int, float]]:
        with extensions_index(view) as connection:
            for text in QUESTIONS:
                scored = connection.execute(
                    "select id, score from (select id, fts_main_said.match_bm25(id, $q) as score "
                    "from said) where score is not null",
                    {"q": relevance_text(text)},
                ).fetchall()
                yield dict(scored)

    def compare(view: View) -> float:
        worst = 0.0
        ranked = {text: ours(view, text) for text in QUESTIONS}
        dropped = {r["id"] for r in view.rows("select id from said anti join spoken using (id)")}
        assert not dropped
        for text, expected in zip(QUESTIONS, theirs(view), strict=True):
            assert ranked[text].keys() == expected.keys(), text
            worst = max([worst, *(abs(ranked[text][n] - s) for n, s in expected.items())])
        return worst

    assert filled.ask(compare) < 1e-9


def answers(archive: Archive) -> list[Any]:
    """Return what recall answers to some questions."""
    return [recall(archive, text, also="retry wait") for text in QUESTIONS]


@pytest.mark.parametrize("files", [1, 8, 60])
def test_answers_do_not_depend_on_how_many_index_files_there_are(
    tmp_path: Path, root: Path, archive: Archive, fill: Fill, files: int
) -> None:
    home = tmp_path / "claude"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexing, "MAX_FILES", files)
        for number in range(files):
            prompts = [f"prompt {n} about the flaky test" for n in range(1 + number % 5)]
            for other in range(3):
                write_session(home, 3 * number + other, prompts, day=1 + number % 28)
            if number % 4 == 3:
                write_session(home, 3 * number - 1, [*prompts, "and a backup to the nas"])
            fill(f"claude={home}")
    before = answers(archive)
    count = len(read_snapshot(root).manifests[0].indexes)
    fill(f"claude={home}", archive=tmp_path / "at-once")

    assert count == files
    assert answers(Archive(tmp_path / "at-once", timezone="UTC")) == before


@pytest.mark.parametrize("large", [0, 600_000])
def test_answers_do_not_depend_on_which_index_files_are_joined_alone(
    tmp_path: Path, archive: Archive, fill: Fill, large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "claude"
    for number, sessions in enumerate((1, 30, 1)):
        for other in range(sessions):
            prompts = [f"prompt {n} about the flaky test{n}" for n in range(40)]
            write_session(home, 40 * number + other, prompts)
        fill(f"claude={home}")
    before = answers(archive)
    monkeypatch.setattr(index, "_LARGE_BYTES", large)
    archive.close()

    assert answers(archive) == before


def test_answers_are_the_same_after_a_merge_and_after_reindexing(
    tmp_path: Path, root: Path, archive: Archive, fill: Fill
) -> None:
    from etl.pipeline import run
    from sjduck.settings import load
    from tests.conftest import Quiet

    home = tmp_path / "claude"
    for number in range(12):
        write_session(home, number, [f"prompt {n} of the backup" for n in range(number + 1)])
        fill(f"claude={home}")
    before = answers(archive)
    settings = load(archive=str(root), sources=[f"claude={home}"])
    report = run(settings, "tester", Quiet(), reindex=True)

    assert report.indexed == 12
    assert len(read_snapshot(root).manifests[0].indexes) == 1
    assert answers(archive) == before


@pytest.mark.parametrize("damage", ["missing", "empty", "torn", "garbage", "one block"])
def test_a_damaged_index_file_is_a_warning_and_the_rest_answers(
    tmp_path: Path, root: Path, archive: Archive, fill: Fill, damage: str
) -> None:
    home = tmp_path / "claude"
    write_session(home, 1, ["a backup to the nas"])
    fill(f"claude={home}")
    write_session(home, 2, ["another backup"])
    fill(f"claude={home}")
    file = root / read_snapshot(root).manifests[0].indexes[0].path
    content = file.read_bytes()
    file.unlink()
    if damage != "missing":
        broken = {
            "empty": b"",
            "torn": content[:5_000],
            "garbage": b"\0" * len(content),
            "one block": content[:40_000] + b"\7" * (len(content) - 50_000) + content[-10_000:],
        }
        file.write_bytes(broken[damage])

    answer = recall(archive, "backup")

    assert [result["topic"] for result in answer["results"]] == ["another backup"]
    assert "run 'sjduck etl --reindex'" in answer["notes"][0]


def test_a_lost_index_file_is_made_again_by_the_next_run(
    tmp_path: Path, root: Path, archive: Archive, fill: Fill
) -> None:
    home = tmp_path / "claude"
    write_session(home, 1, ["a backup to the nas"])
    fill(f"claude={home}")
    before = recall(archive, "backup")
    (root / read_snapshot(root).manifests[0].indexes[0].path).unlink()

    fill(f"claude={home}")

    assert recall(archive, "backup") == before


def test_index_files_that_are_small_or_mostly_dead_are_folded_into_the_new_one() -> None:
    files = [IndexFile(f"i{n}", 10, 100 * (n + 1), "") for n in range(9)]
    dead = IndexFile("dead", 10, 5_000, "", frozenset(range(6)))

    assert len(kept(files, is_adding=False)) == 7
    assert [f.path for f in kept(files[:8], is_adding=True)] == [f"i{n}" for n in range(7, 0, -1)]
    assert kept([*files[:2], dead], is_adding=False) == [files[1], files[0]]
    assert kept(files[:8], is_adding=False) == files[7::-1]


def test_a_preparation_that_failed_half_way_is_made_anew(
    tmp_path: Path, archive: Archive, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_session(tmp_path / "claude", 1, ["a backup to the nas"])
    fill(f"claude={tmp_path}/claude")
    with monkeypatch.context() as patch:
        patch.setitem(index._DERIVED, "units", "index/turns")
        patch.setattr(index, "sql", lambda name: sql(name) if name != "index/turns" else "oops")
        with pytest.raises(SjduckError):
            recall(archive, "backup")

    assert recall(archive, "backup")["total"] == 1


def test_a_large_fill_is_indexed_in_several_files(
    tmp_path: Path, root: Path, archive: Archive, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So much of the words is held in memory as one file has, and no more."""
    home = tmp_path / "claude"
    for number in range(6):
        write_session(home, number, [f"prompt {n} about the flaky test" for n in range(4)])
    fill(f"claude={home}", archive=tmp_path / "at-once")
    size = sum(file.stat().st_size for file in home.rglob("*.jsonl"))
    monkeypatch.setattr(indexing, "GROUP_BYTES", size // 3 + 1)
    fill(f"claude={home}")

    indexes = read_snapshot(root).manifests[0].indexes
    assert [index.documents for index in indexes] == [2, 2, 2]
    assert answers(archive) == answers(Archive(tmp_path / "at-once", timezone="UTC"))
    # Nothing is to be indexed again, by a run or by vacuum.
    assert fill(f"claude={home}").indexed == 0
    vacuum(load(archive=str(root)), "tester", Quiet(), drop_history=False)
    after = read_snapshot(root).manifests[0].indexes
    assert [index.path for index in after] == [index.path for index in indexes]
