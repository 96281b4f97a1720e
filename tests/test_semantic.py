"""Recall and search by meaning: what is embedded, what is found by it, and what answers say."""

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from etl.embedding import Embedding, embed, needs_reindex
from etl.files import Modes
from etl.manifests import publish
from etl.pipeline import run
from etl.prune import prune
from etl.repair import repair
from etl.selection import Filters
from etl.single import claim
from etl.vacuum import vacuum
from sjduck import localcopy, upkeep
from sjduck.archive import Archive, Row, View
from sjduck.doctor import diagnose
from sjduck.errors import UsageError
from sjduck.index import prepare
from sjduck.integrity import verify
from sjduck.recall import recall
from sjduck.search import search
from sjduck.semantic import place
from sjduck.semantic.place import NoModel
from sjduck.settings import Semantic, load
from sjduck.snapshots import newest_manifest
from sjduck.status import status
from tests.conftest import Quiet
from tests.trees import session_id, write_session

TWICE = "The order form posts twice when somebody taps the button in a hurry."
SOIL = "The soil sensor says 100 % all night and 3 % at noon."
QUEEN = "The chess bot blunders its queen in won positions."
# None of its words stands in any session.
CHARGED = "customers pay two times pressing again"
KILLS = 5


class Home:
    """An archive of some sessions, and how it is filled, embedded and asked."""

    def __init__(self, sessions: Path, root: Path, semantic: Semantic) -> None:
        self.sessions = sessions
        source = [f"claude={sessions}"]
        self.sessions.joinpath("projects").mkdir(parents=True)
        self.settings = replace(load(archive=str(root), sources=source), semantic=semantic)
        self.archive = Archive(root, timezone="UTC", semantic=semantic)

    def fill(self, *prompts: str) -> None:
        """Take in a session a prompt, numbered from 0."""
        for number, prompt in enumerate(prompts):
            write_session(self.sessions, number, [prompt], day=number + 1)
        run(self.settings, "tester", Quiet())

    def embed(self) -> Embedding:
        """Embed what has no vector."""
        return embed(self.settings, "tester", Quiet())

    def contents(self) -> list[int]:
        """Return what has a vector, in every file that is live."""
        manifest = newest_manifest(self.settings.archive, "tester")
        assert manifest is not None
        files = [self.settings.archive / file.path for file in manifest.vectors]
        return [c for file in files for c in pq.read_table(file)["content"].to_pylist()]

    def said(self) -> set[int]:
        """Return what is said."""
        found = self.archive.ask(_said)
        return {row["content"] for row in found}


def _said(view: View) -> list[Row]:
    prepare(view)
    return view.rows(
        "select content from passages join spoken on spoken.id = said_id "
        "and spoken.file = passages.file"
    )


@pytest.fixture
def semantic(minilm: Path) -> Semantic:
    """Return the settings of the model that is here."""
    return Semantic(path=minilm)


@pytest.fixture
def there(tmp_path: Path, root: Path, semantic: Semantic) -> Home:
    """Return an archive of three sessions, embedded."""
    made = Home(tmp_path / "claude", root, semantic)
    made.fill(TWICE, SOIL, QUEEN)
    made.embed()
    return made


def sids(answer: dict[str, Any], name: str = "results") -> list[str]:
    """Return the handles of an answer's results."""
    return [result["sid"] for result in answer[name]]


def test_a_paraphrase_finds_what_shares_no_word_with_it(there: Home) -> None:
    by_words = recall(there.archive, CHARGED, mode="words")
    by_meaning = recall(there.archive, CHARGED, mode="meaning")
    hybrid = recall(there.archive, CHARGED)

    assert by_words["total"] == 0
    assert sids(by_meaning)[0] == sids(hybrid)[0] == session_id(0)[:8]
    assert (by_words["mode"], by_meaning["mode"], hybrid["mode"]) == ("words", "meaning", "hybrid")
    assert "notes" not in hybrid
    assert hybrid["results"][0]["why"].startswith("0/6 terms · meaning 0.")


def test_the_passage_that_matched_is_a_snippet_with_its_line(there: Home) -> None:
    result = recall(there.archive, CHARGED)["results"][0]

    assert result["snippets"] == [{"line": 7, "turn": 1, "text": TWICE}]


def test_words_that_were_said_are_found_as_before(there: Home) -> None:
    query = "soil sensor noon"

    assert (
        sids(recall(there.archive, query))[0] == sids(recall(there.archive, query, mode="words"))[0]
    )
    assert recall(there.archive, query)["results"][0]["snippets"][0]["text"] == SOIL


def test_search_finds_the_message_that_means_it(there: Home) -> None:
    by_words = search(there.archive, CHARGED, mode="words")
    hit = search(there.archive, CHARGED, role="user")["hits"][0]

    assert by_words["total"] == 0
    assert (hit["sid"], hit["role"], hit["line"]) == (session_id(0)[:8], "user", 7)
    assert hit["snippet"] == TWICE
    assert search(there.archive, CHARGED, mode="meaning")["mode"] == "meaning"


def test_filters_and_periods_hold_by_meaning_too(there: Home) -> None:
    assert recall(there.archive, CHARGED, mode="meaning", host="elsewhere")["total"] == 0
    assert recall(there.archive, CHARGED, mode="meaning", since="2026-03-02")["total"] == 0
    assert search(there.archive, CHARGED, mode="meaning", until="2026-02-01")["total"] == 0
    assert search(there.archive, CHARGED, mode="meaning", role="system")["total"] == 0


def test_slips_are_corrected_also_where_something_is_near(there: Home) -> None:
    answer = search(there.archive, "chess bot blundres")

    assert answer["hits"][0]["sid"] == session_id(2)[:8]
    assert search(there.archive, "blundres")["corrected"] == {"blundres": "blunders"}


def test_phrases_and_windows_go_by_words_and_say_so_where_asked_otherwise(there: Home) -> None:
    quoted = search(there.archive, '"order form"', mode="hybrid")
    windows = recall(there.archive, "order form", rank="windows", mode="meaning")

    assert (quoted["mode"], windows["mode"]) == ("words", "words")
    assert quoted["notes"] == ["answered by words alone: phrases and exclusions go by words"]
    assert windows["notes"] == ["answered by words alone: rank=windows goes by words"]
    assert "notes" not in recall(there.archive, "order form", rank="windows")


def test_an_unknown_mode_is_bad_usage(there: Home) -> None:
    with pytest.raises(UsageError, match="unknown mode 'vibes'; one of: words, meaning, hybrid"):
        recall(there.archive, "order", mode="vibes")
    with pytest.raises(UsageError, match="unknown mode"):
        search(there.archive, "order", mode="vibes")


@pytest.mark.parametrize("query", ["?!", "x" * 10_000, "pay " * 2_500, "\0", "备份 🦔"])
def test_odd_questions_are_answered(there: Home, query: str) -> None:
    for mode in ("meaning", "hybrid", None):
        assert recall(there.archive, query, mode=mode)["total"] >= 0
        assert search(there.archive, query, mode=mode)["total"] >= 0


def test_without_vectors_answers_are_those_of_before(
    tmp_path: Path, root: Path, semantic: Semantic
) -> None:
    made = Home(tmp_path / "claude", root, semantic)
    made.fill(TWICE)

    assert "mode" not in recall(made.archive, "order form")
    asked = recall(made.archive, "order form", mode="hybrid")
    assert asked["mode"] == "words"
    (note,) = asked["notes"]
    assert note.startswith("answered by words alone: nothing is embedded with all-MiniLM-L6-v2")
    assert note.endswith("'sjduck etl --semantic' embeds them")


def test_without_a_model_words_answer_and_the_reason_is_said_where_meaning_is_asked_for(
    there: Home,
) -> None:
    lacking = Archive(there.archive.root, timezone="UTC")

    unasked = recall(lacking, "order form")
    asked = recall(lacking, "order form", mode="meaning")

    assert (unasked["mode"], asked["mode"]) == ("words", "words")
    assert "notes" not in unasked
    assert asked["notes"] == [
        "answered by words alone: no model all-MiniLM-L6-v2 here yet: sjduck semantic fetch"
    ]


def test_without_the_extra_words_answer(there: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "_PACKAGES", ("no_such_package",))

    asked = search(there.archive, "order form", mode="hybrid")

    assert asked["notes"] == [
        "answered by words alone: the extra is not installed: pip install 'sjduck[semantic]'"
    ]
    assert asked["hits"]
    with pytest.raises(NoModel, match=r"pip install 'sjduck\[semantic\]'"):
        there.embed()


def test_what_is_not_embedded_yet_is_said(there: Home) -> None:
    there.fill(TWICE, SOIL, QUEEN, "Umlauts are boxes in the PDF")

    answer = recall(there.archive, CHARGED)
    state = status(there.archive, sources=())["semantic"]

    assert answer["notes"] == [
        "2 of 8 passages have no vector yet; 'sjduck etl --semantic' embeds them"
    ]
    assert (state["passages"], state["embedded"]) == (8, 6)
    there.embed()
    assert "notes" not in recall(there.archive, CHARGED)
    assert status(there.archive, sources=())["semantic"]["embedded"] == 8


def test_a_passage_is_embedded_once_however_often_it_is_said(there: Home) -> None:
    before = there.contents()
    there.fill(TWICE, SOIL, QUEEN, TWICE, SOIL)
    done = there.embed()

    assert done.passages == 0
    assert there.contents() == before
    assert len(before) == len(set(before)) == done.total == 6


def test_few_files_are_left_however_often_something_new_is_embedded(there: Home) -> None:
    for number in range(6):
        write_session(there.sessions, 9, [f"question {n} of the day" for n in range(number + 1)])
        run(there.settings, "tester", Quiet())
        there.embed()
    manifest = newest_manifest(there.settings.archive, "tester")

    assert manifest is not None
    assert len(manifest.vectors) <= 3
    assert Counter(there.contents()).most_common(1)[0][1] == 1
    assert set(there.contents()) == there.said()
    assert verify(there.settings.archive)["damaged"] == []


def test_another_model_embeds_anew_and_is_compared_with_its_own_alone(
    there: Home, semantic: Semantic
) -> None:
    other = replace(semantic, passage_prefix="passage: ", query_prefix="query: ")
    asked = Archive(there.archive.root, timezone="UTC", semantic=other)
    before = recall(asked, CHARGED, mode="hybrid")
    embed(replace(there.settings, semantic=other), "tester", Quiet())
    manifest = newest_manifest(there.settings.archive, "tester")

    assert before["mode"] == "words"
    assert recall(asked, CHARGED)["mode"] == "hybrid"
    assert manifest is not None
    assert len({file.model for file in manifest.vectors}) == 1
    assert recall(there.archive, CHARGED, mode="meaning")["mode"] == "words"


def test_a_past_snapshot_has_the_vectors_of_its_time(there: Home, semantic: Semantic) -> None:
    manifest = newest_manifest(there.settings.archive, "tester")
    assert manifest is not None
    there.fill(TWICE, SOIL, QUEEN, "Umlauts are boxes in the PDF")
    there.embed()
    past = Archive(there.archive.root, timezone="UTC", as_of=manifest.created_at, semantic=semantic)

    answer = recall(past, "special characters show as squares", mode="meaning")

    assert answer["mode"] == "meaning"
    assert session_id(3)[:8] not in sids(answer)
    assert session_id(3)[:8] in sids(recall(there.archive, "special characters show as squares"))


def test_what_is_pruned_leaves_no_vector_behind(there: Home) -> None:
    pruned = {session_id(0)}
    held = set(there.contents())
    filters = Filters(sids=tuple(pruned))
    prune(there.settings, "tester", Quiet(), filters, is_dry=False)

    left = {
        content
        for file in (there.settings.archive / "embeddings").rglob("*.parquet")
        for content in pq.read_table(file)["content"].to_pylist()
    }
    assert left == there.said() < held
    assert session_id(0)[:8] not in sids(recall(there.archive, CHARGED, mode="meaning"))


def test_what_is_pruned_while_it_is_embedded_gets_no_vector(
    tmp_path: Path, root: Path, semantic: Semantic
) -> None:
    made = Home(tmp_path / "claude", root, semantic)
    made.fill(TWICE, SOIL)

    class Pruning(Quiet):
        def waiting(self, message: str) -> None:
            if message.startswith("embedding: 4 passages"):
                filters = Filters(sids=(session_id(0),))
                prune(made.settings, "tester", Quiet(), filters, is_dry=False)

    embed(made.settings, "tester", Pruning())

    assert len(made.contents()) == 2
    assert set(made.contents()) == made.said()


def test_local_copies_of_vectors_go_with_what_was_pruned(
    there: Home, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(localcopy, "is_remote", lambda path: True)
    assert recall(there.archive, CHARGED)["mode"] == "hybrid"
    copies = home / ".cache" / "sjduck" / "index"
    before = set(copies.glob("*.parquet"))
    upkeep.prune(there.settings.archive, tz="UTC", sids=(session_id(0),), is_dry=False)

    assert len(before) == 1
    assert not set(copies.glob("*.parquet")) & before


def test_a_vacuum_drops_the_vectors_of_what_is_not_said_any_more(there: Home) -> None:
    write_session(there.sessions, 0, ["something else altogether"])
    run(there.settings, "tester", Quiet())
    vacuum(there.settings, "tester", Quiet(), drop_history=True)

    assert set(there.contents()) < there.said()
    assert there.embed().passages == 2
    assert set(there.contents()) == there.said()


def test_a_damaged_file_of_vectors_is_named_and_embedded_again(there: Home) -> None:
    root = there.settings.archive
    (file,) = (root / "embeddings").rglob("*.parquet")
    file.write_bytes(b"x" * file.stat().st_size)
    name = file.relative_to(root).as_posix()

    asked = recall(Archive(root, timezone="UTC", semantic=there.settings.semantic), "order form")
    findings = {finding["where"]: finding for finding in diagnose(str(root))["findings"]}
    repaired = repair(there.settings, "tester", Quiet())

    assert asked["results"]
    assert asked["mode"] == "words"
    assert "recall lacks the meaning" in findings[name]["what"]
    assert repaired["quarantined"] == [name]
    assert there.embed().passages == 6
    assert recall(there.archive, CHARGED)["mode"] == "hybrid"


def test_a_damaged_file_keeps_neither_embedding_nor_meaning_from_going_on(
    there: Home, semantic: Semantic
) -> None:
    root = there.settings.archive
    (damaged,) = (root / "embeddings").rglob("*.parquet")
    there.fill(TWICE, SOIL, QUEEN, "Umlauts are boxes in the PDF")
    damaged.unlink()

    embedded = there.embed()
    answer = recall(there.archive, CHARGED)

    assert embedded.passages == 8
    assert damaged.name in embedded.warnings[0]
    assert (answer["mode"], sids(answer)[0]) == ("hybrid", session_id(0)[:8])
    assert "some vectors can't be read" in answer["notes"][0]
    assert there.embed().passages == 0


def test_an_index_of_an_older_sjduck_answers_and_is_made_anew_before_embedding(
    tmp_path: Path, root: Path, semantic: Semantic
) -> None:
    made = Home(tmp_path / "claude", root, semantic)
    made.fill(TWICE, SOIL)
    made.archive.close()
    before = newest_manifest(root, "tester")
    assert before is not None
    (index,) = before.indexes
    with duckdb.connect(root / index.path) as connection:
        connection.execute("drop table passages")
    content = (root / index.path).read_bytes()
    older = replace(index, bytes=len(content), sha256=sha256(content).hexdigest())
    later = replace(before, generation=before.generation + 1, indexes=(older,))
    publish(root, later, Modes.of(root))

    assert recall(made.archive, "order form")["total"] == 1
    assert "notes" not in recall(made.archive, "order form")
    assert needs_reindex(root, "tester")
    run(made.settings, "tester", Quiet(), reindex=True)
    assert not needs_reindex(root, "tester")
    assert made.embed().passages == 4


def test_a_second_process_leaves_embedding_to_the_first(there: Home) -> None:
    turn = claim("embedding", there.settings.archive, "tester")
    assert turn is not None

    assert there.embed().warnings == ["another process embeds for this writer"]
    turn.release()


def test_embedding_that_is_killed_goes_on_where_it_was(
    tmp_path: Path, root: Path, semantic: Semantic
) -> None:
    made = Home(tmp_path / "claude", root, semantic)
    made.fill(*(f"{TWICE} It is order number {number}." for number in range(120)))
    script = (
        "import sys; from pathlib import Path; from dataclasses import replace; "
        "from etl.embedding import embed; from sjduck.settings import Semantic, load; "
        "from tests.conftest import Quiet; settings = load(archive=sys.argv[1]); "
        "settings = replace(settings, semantic=Semantic(path=Path(sys.argv[2]))); "
        "print('begun', flush=True); embed(settings, 'tester', Quiet(), round_s=0.05)"
    )
    chance, kills = random.Random(3), 0
    for _ in range(KILLS):
        command = [sys.executable, "-c", script, str(root), str(semantic.path)]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, cwd=Path(__file__).parent.parent
        )
        assert process.stdout is not None
        process.stdout.readline()
        try:
            process.wait(chance.uniform(0.3, 1.5))
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            kills += 1
        process.stdout.close()
        assert len(made.contents()) == len(set(made.contents()))
    made.embed()

    assert kills
    assert sorted(made.contents()) == sorted(made.said())
