"""What tests share: an isolated home, archives filled from small trees, the corpus where it is."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest

from etl.pipeline import run
from etl.report import Report
from sjduck.archive import Archive
from sjduck.settings import Settings, load

# Machines are noisy: how long an example takes says nothing.
hypothesis.settings.register_profile(
    "noisy", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("noisy")

CHECKOUT = Path(__file__).parent.parent
SAMPLES = CHECKOUT / "samples"


class Quiet:
    """Progress that nobody watches."""

    def waiting(self, message: str) -> None:
        """Take no notice."""

    def begin(self, files: int, size: int) -> None:
        """Take no notice."""

    def advance(self, files: int, size: int) -> None:
        """Take no notice."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give the test an empty home, so that nothing of this machine is read or written."""
    folder = tmp_path / "home"
    folder.mkdir()
    ours = (
        "SJDUCK_", "SJMCP_", "SCRUBJAY_", "XDG_", "CLAUDE_", "CODEX_", "COPILOT_", "GEMINI_",
    )  # fmt: skip
    for name in list(os.environ):
        if name.startswith(ours) and name != "SJDUCK_CORPUS":
            monkeypatch.delenv(name)
    # A child's output is buffered, as it is for a user.
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("SJDUCK_WRITER", "tester")
    monkeypatch.setenv("CLAUDE_HOST", "testhost")
    monkeypatch.setenv("TZ", "UTC")
    before = os.umask(0o022)
    yield folder
    os.umask(before)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return where an archive can be made."""
    return tmp_path / "archive"


Fill = Callable[..., Report]


@pytest.fixture
def fill(root: Path) -> Fill:
    """Return a function that takes `KIND=PATH` sources into the archive."""

    def filled(*sources: str, archive: Path = root, writer: str = "tester") -> Report:
        return run(load(archive=str(archive), sources=sources), writer, Quiet())

    return filled


@pytest.fixture
def settings(root: Path) -> Settings:
    """Return settings that name the archive and no source."""
    return load(archive=str(root))


@pytest.fixture
def archive(root: Path) -> Iterator[Archive]:
    """Return the archive, opened for reading."""
    opened = Archive(root, timezone="UTC")
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Return the folder of real files; skips where SJDUCK_CORPUS names none."""
    named = os.environ.get("SJDUCK_CORPUS")
    if not named or not Path(named).is_dir():
        pytest.skip("SJDUCK_CORPUS names no folder of real files")
    return Path(named)


@pytest.fixture(scope="session")
def minilm() -> Path:
    """Return the folder of the model that embeds; skips where `make minilm` could not make it."""
    folder = Path(os.environ.get("SJDUCK_MINILM") or CHECKOUT / ".venv" / "minilm")
    if not (folder / "model.onnx").is_file():
        pytest.skip(f"no model in {folder}: make minilm")
    return folder.resolve()
