"""Read a JSONL file line by line and salvage what can be salvaged of a broken line."""

import json
import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, BinaryIO, NamedTuple

import orjson

# Taking in a line needs four times its size; one over 1 MB is rare.
MAX_LINE_BYTES = 128 * 1024 * 1024
# Looking for what is whole behind a tear costs time: a line with more tears is given up.
MAX_TEARS = 50
_BOM = b"\xef\xbb\xbf"
_LFS_POINTER = "version https://git-lfs"
# What may stand between two records: padding after a crash, white space, a BOM.
_GAP = re.compile(r"[\0\s\ufeff]*")
# Inside a text the quote would be escaped.
_OBJECT_START = re.compile(r'\{\s*"\w+"\s*:')
_RECORD_KEYS = frozenset({"uuid", "sessionId", "timestamp", "leafUuid", "messageId"})


def _whole_number(digits: str) -> int | float:
    """Return a number as orjson does: over 64 bits as a float."""
    return int(digits) if len(digits) < 19 else float(digits)


_DECODER = json.JSONDecoder(
    strict=False, parse_int=_whole_number, parse_constant=lambda _constant: None
)


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
        """Yield each line; one over MAX_LINE_BYTES is yielded in pieces."""
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
        value = orjson.loads(line.raw)
    except orjson.JSONDecodeError:
        return _salvage(line)
    if isinstance(value, dict):
        return [value], []
    records = _records(value)
    if records is None:
        return [], [
            Reject(
                line.offset, "not a JSON object", _sample(line.raw[:400].decode("utf-8", "replace"))
            )
        ]
    return records, []


def _records(value: Any) -> list[Any] | None:
    """Return a JSON object, or an array of them, as records; None for anything else."""
    records = value if isinstance(value, list) else [value]
    return records if records and all(isinstance(item, dict) for item in records) else None


def _salvage(line: RawLine) -> tuple[list[Any], list[Reject]]:
    text = line.raw.decode("utf-8", "surrogateescape")
    if text.startswith(_LFS_POINTER):
        return [], [Reject(line.offset, "git-lfs pointer", _sample(text))]
    records: list[Any] = []
    rejects: list[Reject] = []
    offset, counted = line.offset, 0
    at = _after_gap(text, 0)
    if at == len(text) and "\0" in text:
        return [], [Reject(offset, "NUL bytes", "")]
    while at < len(text):
        found, reason, end = _piece(text, at)
        records += found
        if reason:
            end = end if len(rejects) < MAX_TEARS else len(text)
            offset += len(text[counted:at].encode("utf-8", "surrogateescape"))
            counted = at
            rejects.append(Reject(offset, reason, _sample(text[at : min(end, at + 200)])))
        at = _after_gap(text, end)
    return records, rejects


def _piece(text: str, at: int) -> tuple[list[Any], str | None, int]:
    """Return the records that begin at a place, or why there are none, and where they end."""
    try:
        value, end = _DECODER.raw_decode(text, at)
        records = _records(_whole_text(value))
    except RecursionError:
        return [], "nested too deeply", len(text)
    except ValueError:
        reason = "torn line" if text[at] == "{" else "not JSON"
        return [], reason, _next_record(text, at)
    if records is None:
        return [], "not a JSON object", end
    return records, None, end


def _next_record(text: str, at: int) -> int:
    """Return where the next whole record begins after a tear, else the text's end.

    An object inside a torn one is no record: it is followed by more of the torn one.
    """
    tears = 0
    while tears < MAX_TEARS and (match := _OBJECT_START.search(text, at + 1)):
        at = match.start()
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            tears += 1
            continue
        follows = _after_gap(text, end)
        is_inside = text[follows : follows + 1] in (",", "}", "]")
        if not is_inside and not _RECORD_KEYS.isdisjoint(value):
            return at
        at = end - 1
    return len(text)


def _after_gap(text: str, at: int) -> int:
    match = _GAP.match(text, at)
    return match.end() if match else at


def _sample(text: str) -> str:
    return str(_whole_text(text[:200].rstrip("\0 \t\r\n")))


def _whole_text(value: Any) -> Any:
    """Return a JSON value whose texts can be written: half a surrogate pair becomes U+FFFD."""
    if isinstance(value, str):
        if value.isascii():
            return value
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_whole_text(key): _whole_text(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole_text(item) for item in value]
    return value
