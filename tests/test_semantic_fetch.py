"""Fetching a model: only the known file is kept, and what came of it is not fetched twice."""

import threading
from collections.abc import Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sjduck.cli import cli
from sjduck.errors import SjduckError, UsageError
from sjduck.semantic.fetching import fetch
from sjduck.semantic.models import MODELS, File, Known
from sjduck.semantic.place import folder
from sjduck.settings import Semantic

WEIGHTS = bytes(range(256)) * 4_000
TOKENIZER = b'{"version": "1.0"}'
TINY = Semantic(model="tiny")


class Hub(BaseHTTPRequestHandler):
    """Serves files, from where a client asks; `cut_after` breaks answers off."""

    files: dict[str, bytes]
    asked: list[tuple[str, str | None]]
    cut_after: int | None

    def do_GET(self) -> None:
        """Answer a request."""
        ranged = self.headers.get("Range")
        self.asked.append((self.path, ranged))
        content = self.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        start = int(ranged.removeprefix("bytes=").removesuffix("-")) if ranged else 0
        rest = content[start:]
        self.send_response(206 if ranged else 200)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest if self.cut_after is None else rest[: self.cut_after])

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Hub]]:
    """Return a hub with one model, which is known as tiny."""

    class Own(Hub):
        files = {"/r/onnx/model_quantized.onnx": WEIGHTS, "/r/tokenizer.json": TOKENIZER}  # noqa: RUF012
        asked = []  # noqa: RUF012
        cut_after = None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Own)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    files = (
        File("model.onnx", "onnx/model_quantized.onnx", len(WEIGHTS), sha256(WEIGHTS).hexdigest()),
        File("tokenizer.json", "tokenizer.json", len(TOKENIZER), sha256(TOKENIZER).hexdigest()),
    )
    known = Known(f"http://127.0.0.1:{server.server_port}/r", files)
    monkeypatch.setitem(MODELS, "tiny", known)
    yield Own
    server.shutdown()
    server.server_close()


def fetched(**options: Any) -> list[tuple[str, int]]:
    """Fetch the tiny model; return what was heard on the way."""
    heard: list[tuple[str, int]] = []
    options.setdefault("source", None)
    fetch(TINY, heard=lambda file, there: heard.append((file.name, there)), **options)
    return heard


def test_a_model_is_fetched_into_the_cache_and_only_once(hub: type[Hub]) -> None:
    heard = fetched()
    again = fetched()

    assert (folder(TINY) / "model.onnx").read_bytes() == WEIGHTS
    assert (folder(TINY) / "tokenizer.json").read_bytes() == TOKENIZER
    assert heard[0] == ("model.onnx", 0)
    assert ("model.onnx", len(WEIGHTS)) in heard
    assert (again, len(hub.asked)) == ([], 2)


def test_a_broken_off_file_goes_on_from_where_it_broke_off(hub: type[Hub]) -> None:
    hub.cut_after = 300_000
    with pytest.raises(SjduckError, match="try again"):
        fetched()
    hub.cut_after = None
    fetched()

    assert (folder(TINY) / "model.onnx").read_bytes() == WEIGHTS
    assert [ranged for _, ranged in hub.asked] == [None, "bytes=300000-", None]


@pytest.mark.parametrize(
    "content", [WEIGHTS[:-1] + b"!", WEIGHTS + b"more", b"<html>Sign in to the hotel</html>"]
)
def test_another_file_is_one_clear_line_and_nothing_of_it_is_kept(
    hub: type[Hub], content: bytes
) -> None:
    hub.files["/r/onnx/model_quantized.onnx"] = content

    for _ in range(2):
        with pytest.raises(SjduckError, match=r"is not the model\.onnx|ended after"):
            fetched()

    assert not (folder(TINY) / "model.onnx").exists()


def test_a_damaged_file_is_fetched_again(hub: type[Hub]) -> None:
    fetched()
    (folder(TINY) / "model.onnx").write_bytes(b"damaged")
    fetched()

    assert (folder(TINY) / "model.onnx").read_bytes() == WEIGHTS
    assert len(hub.asked) == 3


def test_a_hub_that_lacks_it_or_is_not_there_is_one_clear_line(hub: type[Hub]) -> None:
    hub.files.clear()

    with pytest.raises(SjduckError, match=r"can't fetch http.*Not Found"):
        fetched()
    with pytest.raises(SjduckError, match="can't fetch http"):
        fetched(source="http://127.0.0.1:9/r")


def test_a_proxy_of_the_environment_is_used(
    hub: type[Hub], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = MODELS["tiny"].base
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setenv("http_proxy", place.removesuffix("/r"))
    hub.files = {f"http://hub.invalid{path}": content for path, content in hub.files.items()}
    fetched(source="http://hub.invalid/r")

    assert hub.asked[0][0] == "http://hub.invalid/r/onnx/model_quantized.onnx"
    assert (folder(TINY) / "model.onnx").read_bytes() == WEIGHTS


def test_a_folder_serves_as_well(hub: type[Hub], tmp_path: Path) -> None:
    (tmp_path / "model_quantized.onnx").write_bytes(WEIGHTS)
    (tmp_path / "tokenizer.json").write_bytes(TOKENIZER)
    fetched(source=str(tmp_path))

    assert (folder(TINY) / "model.onnx").read_bytes() == WEIGHTS
    assert hub.asked == []
    with pytest.raises(UsageError, match=r"no model\.onnx in"):
        fetch(Semantic(model="multilingual-e5-small"), source="/nowhere", heard=print)


def test_what_can_t_be_fetched_says_why(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown model 'mine'; fetch knows: all-MiniLM-L6-v2"):
        fetch(Semantic(model="mine"), source=None, heard=print)
    with pytest.raises(UsageError, match="take it out"):
        fetch(Semantic(path=tmp_path), source=None, heard=print)


def test_the_command_says_where_the_model_is(hub: type[Hub]) -> None:
    ran = CliRunner().invoke(cli, ["semantic", "fetch", "--model", "tiny"])

    assert ran.exit_code == 0, ran.output
    assert str(folder(TINY)) in ran.stdout
    assert "fetching model.onnx, 1.0 MB" in ran.stderr
    assert "fetched 1.0 MB" in ran.stderr
