"""The archive as readers see it: whole snapshots, newer ones noticed, past ones read."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from threading import Event

import pytest

from sjduck.archive import Archive, View
from sjduck.errors import ArchiveUnusable, NewerFormat, SjduckError
from sjduck.listing import list_documents
from sjduck.periods import as_of_moment
from sjduck.reading import get
from sjduck.snapshots import manifest_folder, manifest_name, read_snapshot
from sjduck.sqlfiles import dictionary, published
from sjduck.status import snapshots
from sjduck.views import publish
from sjduck.within import search_within
from tests.conftest import Fill
from tests.trees import session_id, write_session

PROMPTS = "select text from blocks where role = 'user' order by text"


@pytest.fixture
def sources(tmp_path: Path) -> str:
    """Return a Claude Code home of one session as a source."""
    write_session(tmp_path / "claude", 1, ["one"])
    return f"claude={tmp_path}/claude"


def prompts(view: View) -> list[str]:
    """Return what users asked."""
    return [row["text"] for row in view.rows(PROMPTS)]


def remove_segments(root: Path) -> None:
    """Remove every file that holds rows."""
    for file in root.rglob("*.parquet"):
        file.unlink()


def test_a_newer_snapshot_is_seen_by_the_next_question(
    tmp_path: Path, archive: Archive, sources: str, fill: Fill
) -> None:
    fill(sources)
    before = archive.ask(prompts), archive.snapshot.manifests[0].generation
    write_session(tmp_path / "claude", 1, ["one", "two"])
    fill(sources)

    after = archive.ask(prompts), archive.snapshot.manifests[0].generation

    assert before == (["one"], 1)
    assert after == (["one", "two"], 2)


def test_a_question_sees_one_snapshot_whatever_is_published_meanwhile(
    tmp_path: Path, archive: Archive, sources: str, fill: Fill
) -> None:
    fill(sources)

    def asked(view: View) -> tuple[list[str], list[str]]:
        first = prompts(view)
        write_session(tmp_path / "claude", 1, ["one", "two"])
        fill(sources)
        archive.ask(prompts)
        return first, prompts(view)

    assert archive.ask(asked) == (["one"], ["one"])
    assert archive.ask(prompts) == ["one", "two"]


def test_a_question_starts_over_when_a_file_vanishes_in_the_middle(
    tmp_path: Path, root: Path, archive: Archive, sources: str, fill: Fill
) -> None:
    fill(sources)
    seen: list[int] = []

    def asked(view: View) -> list[str]:
        seen.append(view.snapshot.manifests[0].generation)
        if len(seen) == 1:
            remove_segments(root)
            write_session(tmp_path / "claude", 1, ["one", "two"])
            fill(sources)
        return prompts(view)

    assert archive.ask(asked) == ["one", "two"]
    assert seen == [1, 2]


def test_a_file_that_vanishes_before_it_is_opened_is_looked_for_again(
    tmp_path: Path, root: Path, archive: Archive, sources: str, fill: Fill,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    fill(sources)
    reads = count()

    def read(place: Path, *, as_of: datetime | None = None) -> object:
        found = read_snapshot(place, as_of=as_of)
        if next(reads) == 0:
            remove_segments(root)
            write_session(tmp_path / "claude", 1, ["one", "two"])
            fill(sources)
        return found

    monkeypatch.setattr("sjduck.archive.read_snapshot", read)

    assert archive.ask(prompts) == ["one", "two"]


def test_a_file_that_is_gone_for_good_is_one_clear_error(
    root: Path, archive: Archive, sources: str, fill: Fill
) -> None:
    fill(sources)
    remove_segments(root)

    with pytest.raises(SjduckError, match=r"the archive can't answer: IO Error: .*parquet"):
        archive.ask(prompts)


def test_an_archive_that_is_away_is_an_error_and_no_empty_one(
    root: Path, archive: Archive, sources: str, fill: Fill
) -> None:
    fill(sources)
    archive.ask(prompts)
    aside = root.with_name("aside")
    root.rename(aside)

    for _ in range(2):
        with pytest.raises(ArchiveUnusable, match="is gone: it had a snapshot before"):
            archive.ask(prompts)
    root.mkdir()
    with pytest.raises(ArchiveUnusable, match="is gone"):
        list_documents(archive)
    root.rmdir()
    aside.rename(root)

    assert archive.ask(prompts) == ["one"]


def test_a_damaged_file_is_one_clear_error(
    root: Path, archive: Archive, sources: str, fill: Fill
) -> None:
    fill(sources)
    for file in root.rglob("*.parquet"):
        file.write_bytes(file.read_bytes()[:-20])

    with pytest.raises(SjduckError, match=r"the archive can't answer: .*parquet") as caught:
        archive.ask(prompts)

    assert "\n" not in str(caught.value)


def test_a_past_snapshot_is_read_by_any_moment_of_its_time(
    tmp_path: Path, root: Path, sources: str, fill: Fill
) -> None:
    fill(sources)
    write_session(tmp_path / "claude", 1, ["one", "two"])
    fill(sources)
    newest, oldest = snapshots(root, "Asia/Tokyo")

    def at(moment: datetime | None) -> list[str]:
        archive = Archive(root, timezone="UTC", as_of=moment)
        try:
            return archive.ask(prompts)
        finally:
            archive.close()

    assert at(datetime.fromisoformat(oldest["created_at"])) == ["one"]
    assert at(datetime.fromisoformat(newest["created_at"])) == ["one", "two"]
    assert at(as_of_moment(newest["created"], "Asia/Tokyo")) == ["one", "two"]
    assert at(as_of_moment(newest["created"][:-3], "Asia/Tokyo")) == ["one", "two"]
    assert at(datetime.now(UTC) + timedelta(days=1)) == ["one", "two"]
    assert at(datetime.fromisoformat(oldest["created_at"]) - timedelta(microseconds=1)) == []


def test_a_past_snapshot_stays_past(tmp_path: Path, root: Path, sources: str, fill: Fill) -> None:
    fill(sources)
    archive = Archive(root, timezone="UTC", as_of=datetime.now(UTC))
    before = archive.ask(prompts)
    write_session(tmp_path / "claude", 1, ["one", "two"])
    fill(sources)

    assert archive.ask(prompts) == before == ["one"]
    archive.close()


def test_an_archive_that_was_never_filled_has_every_table_and_no_row(archive: Archive) -> None:
    assert archive.is_empty
    archive.ask(publish)
    for table in (*published(), *(f"stored_{name}" for name in dictionary())):
        query = f"select count(*) as n from {table}"
        assert archive.ask(lambda view, q=query: view.rows(q)) == [{"n": 0}]  # type: ignore[misc]


def test_questions_to_an_archive_that_was_never_filled_are_answered(archive: Archive) -> None:
    assert list_documents(archive)["total"] == 0
    assert get(archive, "x")["error"] == "not found or outside the archive"
    assert search_within(archive, "x", "y")["error"] == "not found or outside the archive"


def test_reading_makes_no_file(
    tmp_path: Path, root: Path, archive: Archive, sources: str, fill: Fill
) -> None:
    fill(sources)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}

    list_documents(archive)
    get(archive, session_id(1))
    search_within(archive, session_id(1), "one")

    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
    Archive(root / "none", timezone="UTC").ask(prompts)
    assert not (root / "none").exists()


def test_an_archive_is_used_again_after_it_was_closed(
    archive: Archive, sources: str, fill: Fill
) -> None:
    fill(sources)
    archive.ask(prompts)

    archive.close()
    archive.close()

    assert archive.ask(prompts) == ["one"]


def test_many_threads_ask_while_runs_publish(
    tmp_path: Path, archive: Archive, sources: str, fill: Fill
) -> None:
    fill(sources)
    stop = Event()

    def reader(number: int) -> list[int]:
        turns = []
        while not stop.is_set():
            if number % 2:
                turns.append(list_documents(archive, fields="full")["items"][0]["turns"])
            else:
                text = get(archive, session_id(1), max_chars=0)["content"]
                turns.append(int(text.split("\n")[2].strip("_").split()[0]))
        return turns

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(reader, number) for number in range(4)]
        for number in range(2, 7):
            write_session(tmp_path / "claude", 1, [f"prompt {n}" for n in range(number)])
            fill(sources)
        stop.set()
        answers = [reader.result() for reader in readers]

    for turns in answers:
        assert turns == sorted(turns)
        assert set(turns) <= {2 * number for number in range(1, 7)}
    assert archive.ask(prompts) == sorted(f"prompt {n}" for n in range(6))


def test_an_error_of_the_question_itself_rises_as_it_is(
    archive: Archive, sources: str, fill: Fill
) -> None:
    fill(sources)

    def asked(view: View) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        archive.ask(asked)
    assert archive.ask(prompts) == ["one"]


def test_an_archive_path_with_quotes_and_globs_is_only_a_path(
    tmp_path: Path, sources: str, fill: Fill
) -> None:
    place = tmp_path / "it's [a] *?{place}"
    fill(sources, archive=place)
    archive = Archive(place, timezone="UTC")

    assert archive.ask(prompts) == ["one"]
    assert get(archive, session_id(1))["content"].startswith("# one\n")
    archive.close()


def test_a_file_is_no_archive(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")

    with pytest.raises(ArchiveUnusable, match="is not a folder; name a folder as archive"):
        Archive(tmp_path / "file", timezone="UTC").ask(prompts)


def test_a_newer_format_says_so(root: Path, archive: Archive, sources: str, fill: Fill) -> None:
    fill(sources)
    manifest = manifest_folder(root, "tester") / manifest_name(1)
    manifest.write_bytes(manifest.read_bytes().replace(b'"format":1', b'"format":99'))

    with pytest.raises(NewerFormat, match="holds format 99, this sjduck knows 1; upgrade sjduck"):
        archive.ask(prompts)


def test_a_generation_that_is_not_whole_yet_is_looked_at_again(
    tmp_path: Path, root: Path, archive: Archive, fill: Fill
) -> None:
    """Without links a manifest has its name before its content."""
    write_session(tmp_path / "claude", 1, ["one"])
    fill(f"claude={tmp_path}/claude")
    write_session(tmp_path / "claude", 2, ["two"])
    fill(f"claude={tmp_path}/claude")
    newest = manifest_folder(root, "tester") / manifest_name(2)
    content = newest.read_bytes()
    newest.write_bytes(content[:100])
    before = archive.snapshot.key
    newest.write_bytes(content)

    assert before == (("tester", 1),)
    assert archive.snapshot.key == (("tester", 2),)


def test_a_search_for_pandas_fails_at_once_and_as_everyone_expects(
    tmp_path: Path, root: Path, fill: Fill
) -> None:
    """Arrow, too, asks for pandas, and takes no other failure than that of an import."""
    write_session(tmp_path / "claude", 1, ["one"])
    fill(f"claude={tmp_path}/claude")
    code = (
        "import sjduck\n"
        "from importlib.machinery import PathFinder\n"
        "real = PathFinder.find_spec\n"
        "def without(name, *rest): return None if name == 'pandas' else real(name, *rest)\n"
        "PathFinder.find_spec = without\n"
        f"print(sjduck.open({str(root)!r}).list()['total'])\n"
        "import numpy, pyarrow\n"
        "print(pyarrow.table({'n': numpy.arange(3)}).num_rows)\n"
        "try: import pandas\n"
        "except ModuleNotFoundError: print('none')\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert ran.stdout.split() == ["1", "3", "none"], ran.stderr


@pytest.mark.parametrize("numbers", [[], [1], [-(2**62), 2**62, 7]])
def test_a_list_of_numbers_is_given_to_a_question_as_it_is(
    archive: Archive, numbers: list[int]
) -> None:
    rows = archive.ask(
        lambda view: view.rows("select unnest($numbers::bigint[]) as n", numbers=numbers)
    )

    assert [row["n"] for row in rows] == numbers


def test_what_is_set_for_the_archive_is_set_for_every_question(archive: Archive) -> None:
    """A question has a cursor of its own, which takes over what is set for all."""
    from sjduck.archive import _SETTINGS

    for setting in _SETTINGS:
        _, _, name, _, value = setting.replace("'", "").split()
        asked = f"select current_setting('{name}') as value"
        found = archive.ask(partial(View.row, query=asked))
        assert found is not None
        assert str(found["value"]).lower() == value.lower(), name
