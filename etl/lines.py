"""Read a JSONL file line by line and salvage what can be salvaged of a broken line."""

import json
import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, BinaryIO, NamedTuple

import orjson

MAX_LINE_BYTES = 256 * 1024 * 1024
_PADDING = b"\0 \t\r\n\v\f"
_BOM = b"\xef\xbb\xbf"
_RECORD_TYPES = frozenset(
    {
        "user", "assistant", "system", "summary", "attachment", "progress", "queue-operation",
        "file-history-snapshot", "ai-title", "custom-title", "last-prompt",
    }
)  # fmt: skip
_RECORD_START = re.compile(r'\{\s*"(?:parentUuid|type|uuid|sessionId|isSidechain|timestamp)"')
_DECODER = json.JSONDecoder(strict=False)


class RawLine(NamedTuple):
    """One line of a file as bytes: its number from 1 and where it begins."""

    number: int
    offset: int
    raw: bytes


class Lines:
    """The lines of an open file, split on newlines only; keeps a digest of what was read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._digest = sha256()

    def __iter__(self) -> Iterator[RawLine]:
        """Yield each line that is not blank."""
        offset = 0
        number = 0
        continued = False
        while raw := self._file.readline(MAX_LINE_BYTES):
            self._digest.update(raw)
            number += not continued
            continued = not raw.endswith(b"\n") and len(raw) == MAX_LINE_BYTES
            yield RawLine(number, offset, raw)
            offset += len(raw)

    def text(self) -> str:
        """Return the whole file as text; bytes that are no UTF-8 become U+FFFD."""
        raw = self._file.read()
        self._digest.update(raw)
        return raw.removeprefix(_BOM).decode("utf-8", "replace")

    def digest(self) -> str:
        """Return the SHA-256 of what was read so far."""
        return self._digest.hexdigest()


class Reject(NamedTuple):
    """A piece of a line that is no record."""

    offset: int
    reason: str
    sample: str


def parse(line: RawLine) -> tuple[list[Any], list[Reject]]:
    """Return the JSON objects of a line and what is left of it that is none."""
    try:
        return _records(orjson.loads(line.raw), line)
    except orjson.JSONDecodeError:
        return _salvage(line)


def _records(value: Any, line: RawLine) -> tuple[list[Any], list[Reject]]:
    if isinstance(value, dict):
        return [value], []
    if isinstance(value, list):
        records = [item for item in value if isinstance(item, dict)]
        if records and len(records) == len(value):
            return records, []
    return [], [Reject(line.offset, "not a JSON object", _sample(line.raw))]


def _salvage(line: RawLine) -> tuple[list[Any], list[Reject]]:
    raw = line.raw.removeprefix(_BOM).strip(_PADDING)
    if not raw:
        if b"\0" in line.raw:
            return [], [Reject(line.offset, "NUL bytes", "")]
        return [], []
    text = raw.decode("utf-8", "replace")
    if text.startswith("version https://git-lfs"):
        return [], [Reject(line.offset, "git-lfs pointer", text)]
    records: list[Any] = []
    rejects: list[Reject] = []
    at = 0
    while at < len(text):
        try:
            value, end = _DECODER.raw_decode(text, at)
            found, bad = _records(_without_surrogates(value), line)
            records += found
            rejects += bad
        except RecursionError:
            rejects.append(Reject(line.offset, "nested too deeply", text[at : at + 200]))
            break
        except ValueError:
            end = _next_record(text, at)
            reason = "torn line" if text.startswith("{", at) else "not JSON"
            offset = line.offset + len(text[:at].encode())
            rejects.append(Reject(offset, reason, _printable(text[at:end])))
        at = end + len(text[end:]) - len(text[end:].lstrip("\0 \t\r\n"))
    return records, rejects


def _next_record(text: str, at: int) -> int:
    """Return where the next whole record begins inside a torn line, else the line's end."""
    for match in _RECORD_START.finditer(text, at + 1):
        try:
            value, _ = _DECODER.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and value.get("type") in _RECORD_TYPES:
            return match.start()
    return len(text)


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        if value.isascii():
            return value
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    return value


def _sample(raw: bytes) -> str:
    return _printable(raw[:400].decode("utf-8", "replace"))


def _printable(text: str) -> str:
    return text[:200].encode("utf-8", "replace").decode()
