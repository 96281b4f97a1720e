"""Fetch a model's files: only what has the SHA-256 that is known of them gets its name."""

import os
import urllib.error
import urllib.request
from collections.abc import Callable
from hashlib import file_digest
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from sjduck import __version__
from sjduck.errors import SjduckError, UsageError
from sjduck.semantic.models import MODELS, File, known
from sjduck.semantic.place import folder
from sjduck.settings import Semantic

_PIECE = 256 * 1024
_TIMEOUT_S = 30.0

# Is told the file, and how much of it is there.
Heard = Callable[[File, int], None]


def fetch(semantic: Semantic, *, source: str | None, heard: Heard) -> tuple[Path, int]:
    """Fetch the files of the configured model that are not here; return where, and their bytes.

    `source` is a URL or a folder in the place of the hub; proxies are those of the environment.
    What came before a failure is kept, and the next call goes on from there. Raises UsageError
    for a model that is not known, SjduckError where a file can't be had, or is another.
    """
    use = known(semantic)
    if not use.files:
        names = ", ".join(MODELS)
        raise UsageError(f"unknown model {semantic.model!r}; fetch knows: {names}")
    if semantic.path is not None:
        raise UsageError(
            f"[semantic] path names {semantic.path}; take it out to use a fetched model instead"
        )
    place = folder(semantic)
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        missing = [file for file in use.files if _digest(place / file.name) != file.sha256]
        for file in missing:
            _get(source or use.base, file, place, heard)
    except OSError as error:
        raise SjduckError(f"can't write the model to {place}: {error.strerror}") from error
    return place, sum(file.bytes for file in missing)


def _get(source: str, file: File, place: Path, heard: Heard) -> None:
    """Get one file aside, and give it its name where it is the one that is known."""
    aside = place / f".{file.name}.part"
    if urlsplit(source).scheme in ("http", "https"):
        origin = f"{source.rstrip('/')}/{file.path}"
        _download(origin, file, aside, heard)
    else:
        origin = str(_in_folder(Path(source).expanduser(), file))
        with open(origin, "rb") as given, aside.open("wb") as kept:
            _copy(given, kept, file, heard)
    found = _digest(aside)
    if found != file.sha256:
        aside.unlink(missing_ok=True)
        raise SjduckError(
            f"{origin} is not the {file.name} that is known: its SHA-256 is {found}, not "
            f"{file.sha256}; nothing of it was kept"
        )
    os.replace(aside, place / file.name)


def _in_folder(source: Path, file: File) -> Path:
    """Return where a folder has a file, or the file itself that is named."""
    places = [source / file.path, source / Path(file.path).name, source / file.name]
    for place in places:
        if place.is_file():
            return place
    raise UsageError(f"no {file.name} in {source}; name a URL, or a folder that has the files")


def _download(url: str, file: File, aside: Path, heard: Heard) -> None:
    """Download the rest of a file; what a server sends beyond its size is not read."""
    there = aside.stat().st_size if aside.exists() else 0
    if there >= file.bytes:
        aside.unlink()
        there = 0
    headers = {"User-Agent": f"sjduck/{__version__}"}
    if there:
        headers["Range"] = f"bytes={there}-"
    try:
        request = urllib.request.Request(url, headers=headers)
        with urllib.request.build_opener().open(request, timeout=_TIMEOUT_S) as answer:
            with aside.open("ab" if answer.status == 206 else "wb") as kept:
                _copy(answer, kept, file, heard)
            size = aside.stat().st_size
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        raise SjduckError(
            f"can't fetch {url}: {reason}; try again (what came is kept), or --from a folder"
        ) from error
    if size < file.bytes:
        raise SjduckError(f"{url} ended after {size:,} of {file.bytes:,} bytes; try again")


def _copy(given: BinaryIO, kept: BinaryIO, file: File, heard: Heard) -> None:
    there = kept.tell()
    heard(file, there)
    # One byte more tells a file that is too long.
    while there <= file.bytes and (piece := given.read(min(_PIECE, file.bytes + 1 - there))):
        kept.write(piece)
        there += len(piece)
        heard(file, there)


def _digest(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None
