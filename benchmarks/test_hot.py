"""The functions that runs and questions spend their time in.

pytest benchmarks/test_hot.py
"""

from pathlib import Path

import duckdb
import polars as pl
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks import generated
from etl.discover import discover
from etl.flatten import flatten_task, tasks
from etl.naming import named
from etl.pipeline import run
from etl.words import cut
from sjduck.archive import Archive, connect
from sjduck.recall import recall
from sjduck.search import search
from sjduck.settings import Settings, load
from sjduck.snapshots import read_snapshot
from tests.conftest import Quiet

_SESSIONS = 60


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a small generated tree."""
    target = tmp_path_factory.mktemp("tree")
    generated.make(target, _SESSIONS)
    return target


@pytest.fixture(scope="module")
def settings(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Return settings of an archive that is filled from the tree."""
    root = tmp_path_factory.mktemp("archive")
    sources = tuple(f"claude={home}" for _, home in generated.homes(tree))
    made = load(archive=str(root), sources=sources)
    run(made, "bench", Quiet())
    return made


@pytest.fixture(scope="module")
def opened(settings: Settings) -> Archive:
    """Return the archive, opened."""
    return Archive(settings.archive, timezone="UTC")


def test_flatten(benchmark: BenchmarkFixture, settings: Settings, tmp_path: Path) -> None:
    """Session files into Arrow batches, in one process."""
    trees = [discover(source) for source in named(settings.sources, {}).values()]
    work = list(tasks([(claim, file, False) for tree in trees for claim, file in tree.files]))

    benchmark(lambda: [flatten_task(task, str(tmp_path / "spill")) for task in work])


def test_cut_into_words(benchmark: BenchmarkFixture, opened: Archive) -> None:
    """Text into words, each with its line."""
    query = "select text from blocks where line_start is not null"
    texts = [row["text"] for row in opened.ask(lambda view: view.rows(query))]
    places = pl.Series([number << 22 for number in range(len(texts))], dtype=pl.UInt64)

    benchmark(cut, pl.DataFrame({"place": places, "text": texts}))


def test_open_a_snapshot(benchmark: BenchmarkFixture, settings: Settings) -> None:
    """A snapshot into a connection with its views."""
    snapshot = read_snapshot(settings.archive)

    def opened_and_closed() -> None:
        connection: duckdb.DuckDBPyConnection = connect(snapshot)
        connection.close()

    benchmark(opened_and_closed)


def test_recall(benchmark: BenchmarkFixture, opened: Archive) -> None:
    """A question of four words."""
    benchmark(recall, opened, "passed INFO return self")


def test_search(benchmark: BenchmarkFixture, opened: Archive) -> None:
    """Messages by two words."""
    benchmark(search, opened, "passed self")
