"""A watcher has what is new embedded, in a process of its own."""

from collections.abc import Callable
from pathlib import Path

import pytest

from etl import embedder
from sjduck.archive import Archive
from sjduck.recall import recall
from sjduck.settings import Settings, load
from tests.trees import write_session
from tests.watchers import hasty as hasty
from tests.watchers import watched


@pytest.fixture
def read(
    tmp_path: Path, home: Path, root: Path, minilm: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], Settings]:
    """Return what reads the settings: one source, and a model that embeds."""
    monkeypatch.setattr(embedder, "_REST_S", 0.1)
    configuration = home / ".config" / "sjduck" / "config.toml"
    configuration.parent.mkdir(parents=True)
    configuration.write_text(f'[semantic]\npath = "{minilm}"\n')
    write_session(tmp_path / "claude", 0, ["The order form posts twice"])
    return lambda: load(archive=str(root), sources=[f"claude={tmp_path}/claude"])


def finds(root: Path, settings: Settings, query: str) -> bool:
    """Tell whether something is found by meaning alone."""
    archive = Archive(root, timezone="UTC", semantic=settings.semantic)
    try:
        answer = recall(archive, query, mode="meaning")
        return bool(answer["mode"] == "meaning" and answer["total"])
    finally:
        archive.close()


@pytest.mark.usefixtures("hasty")
def test_a_watcher_embeds_what_it_took_in(
    tmp_path: Path, root: Path, read: Callable[[], Settings]
) -> None:
    with watched(read) as inside:
        inside.wait(lambda: finds(root, read(), "customers pay two times"))
        write_session(tmp_path / "claude", 1, ["The chess bot blunders its queen"])
        inside.wait(lambda: finds(root, read(), "bad moves in a board game"))

    assert inside.said == []


@pytest.mark.usefixtures("hasty")
def test_a_watcher_says_where_embedding_fails_and_goes_on(
    tmp_path: Path, home: Path, root: Path, read: Callable[[], Settings]
) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    for name in ("model.onnx", "tokenizer.json"):
        (broken / name).write_text("no model")
    (home / ".config" / "sjduck" / "config.toml").write_text(f'[semantic]\npath = "{broken}"\n')

    with watched(read) as inside:
        inside.wait(lambda: bool(inside.said))
        write_session(tmp_path / "claude", 1, ["something new"])
        inside.wait(lambda: sum(report.new for report in inside.reports) == 2)

    assert inside.said == [
        "embedding ended with 1; run 'sjduck etl --semantic' to see why, tried again in an hour"
    ]
