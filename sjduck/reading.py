"""Read a slice of a document: the readable, condensed, or the raw source."""

import os
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from sjduck.archive import Row, View, question
from sjduck.bounds import MAX_REPLY_BYTES, Answer, lowered_note
from sjduck.condensed import Condensed
from sjduck.confine import allowed_roots, is_within
from sjduck.errors import SjduckError, UsageError
from sjduck.readable import HEADER_LINES, Block, header, numbered_lines
from sjduck.refs import is_answer, path_of, resolve
from sjduck.slices import END, Cut, Span, cut, line_ref, parse_lines, parse_turns
from sjduck.sqlfiles import sql

FORMATS = ("readable", "condensed", "raw")
MAX_CHARS = 24_000
CONDENSED_MAX_CHARS = 48_000
# A reply carries more than its content.
_FRAME_BYTES = 3_000


@question
def get(
    view: View,
    ref: str,
    *,
    format: str = "readable",
    turns: str | None = None,
    lines: str | None = None,
    max_chars: int | None = None,
) -> Answer:
    """Return a document or a slice of it, cut at a line's end where it is longer than the cap.

    `hint` then names the slice that goes on; followed to the end, every character is given
    once. An answer that carries `error` says why there is no document.
    """
    if format not in FORMATS:
        raise UsageError(f"unknown format {format!r}; one of: {', '.join(FORMATS)}")
    if turns and lines:
        raise UsageError("give turns or lines, not both")
    span = parse_lines(lines) if lines else None
    turn_range = parse_turns(turns) if turns else None
    document = resolve(view, ref)
    if is_answer(document):
        return document
    if max_chars is None:
        max_chars = CONDENSED_MAX_CHARS if format == "condensed" else MAX_CHARS
    if document["type"] in ("log", "file"):
        format = "raw"
    reader = _Raw(view, document) if format == "raw" else _Readable(view, document, format)
    return _answer(reader, span, turn_range, max_chars)


def readable_lines(
    view: View, document: Row, first: int = 1, last: int = END
) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a document's readable within a range."""
    yield from _Readable(view, document, "readable").lines(first, last)


def _answer(
    reader: "_Readable | _Raw",
    span: Span | None,
    turn_range: tuple[int, int] | None,
    max_chars: int,
) -> Answer:
    document = reader.document
    mark = ""
    if turn_range:
        total = document["turns"]
        first, last = turn_range[0], min(turn_range[1], max(total, 1))
        found = reader.of_turns(first, last)
        if found is None:
            return {**reader.head(), "content": "", "hint": f"it has {total} turns"}
        span = found
        mark = f"[turns {first}-{last} of {total}]\n"
    elif span:
        total = reader.total_lines()
        if span.first > max(total, 1):
            return {**reader.head(), "content": "", "hint": f"it has {total} lines"}
        span = span._replace(last=min(span.last, total))
        mark = f"[lines {line_ref(span.first, span.character, span.last)} of {total}]\n"
    whole = span or Span(1, reader.total_lines())
    found_lines = reader.lines(whole.first, whole.last)
    taken = _fit(cut(found_lines, whole, max_chars), whole, max_chars)
    answer: Answer = {**reader.head(), "content": mark + taken.content, **reader.notes()}
    if taken.rest:
        rest = line_ref(*taken.rest, whole.last)
        answer |= {
            "truncated": True,
            "total_lines": reader.total_lines(),
            "total_turns": document["turns"],
            "hint": f'cut at max_chars; go on with lines="{rest}"',
        }
    if max_chars > MAX_REPLY_BYTES:
        answer["note"] = lowered_note()
    return answer


def _fit(taken: Cut, span: Span, max_chars: int) -> Cut:
    """Cut further where the content as sent would pass what one reply may have."""
    while max_chars > 0 and len(orjson.dumps(taken.content)) > MAX_REPLY_BYTES - _FRAME_BYTES:
        sent = len(orjson.dumps(taken.content))
        room = len(taken.content) * (MAX_REPLY_BYTES - _FRAME_BYTES) // sent - 1
        numbered = enumerate(
            taken.content.split("\n")[: -1 if taken.content.endswith("\n") else None], span.first
        )
        shorter = cut(numbered, Span(span.first, END), room)
        rest = shorter.rest or taken.rest
        if shorter.rest and shorter.rest[0] == span.first:
            rest = span.first, shorter.rest[1] + span.character - 1
        taken = Cut(shorter.content, shorter.last, rest)
    return taken


class _Readable:
    """The readable of one document, whole or condensed, written from its stored blocks."""

    def __init__(self, view: View, document: Row, format: str) -> None:
        self.document = document
        self._view = view
        self._format = format
        self._condensed = (
            Condensed()
            if format == "condensed" and document["type"] in ("transcript", "subagent")
            else None
        )

    def head(self) -> Answer:
        """Return what every answer begins with."""
        head = {"path": path_of(self.document), "format": self._format}
        if self.document["also_on"]:
            head["also_on"] = self.document["also_on"]
        return head

    def notes(self) -> Answer:
        """Return what is to be said besides."""
        if self._condensed is None or not self._condensed.folded:
            return {}
        return {"folded": self._condensed.folded}

    def total_lines(self) -> int:
        """Lines of the readable."""
        return int(self.document["lines"])

    def of_turns(self, first: int, last: int) -> Span | None:
        """Return the lines of a range of turns, the first one's heading included."""
        row = self._row("reading/turns", first_turn=first, last_turn=last)
        if row is None or row["first_line"] is None:
            return None
        above = 0 if self.document["source_format"] in ("readable", "markdown") else 2
        return Span(max(row["first_line"] - above, 1), row["last_line"])

    def lines(self, first: int, last: int) -> Iterator[tuple[int, str]]:
        """Yield numbered lines within a range."""
        blocks = self._blocks(first, last)
        if self._condensed is not None:
            lines: Iterable[tuple[int, str]] = self._condensed.lines(blocks)
        else:
            lines = ((line.number, line.text) for line in numbered_lines(blocks))
        if first <= HEADER_LINES and self.document["source_format"] not in ("readable", "markdown"):
            yield from self._header(first, last)
        for number, text in lines:
            if number > last:
                return
            if number >= first:
                yield number, text

    def _header(self, first: int, last: int) -> Iterator[tuple[int, str]]:
        prompt = self._row("reading/first_prompt") or {"text": None}
        top = header(prompt["text"], self.document["turns"])
        for number, text in enumerate(top, 1):
            if first <= number <= last:
                yield number, text

    def _blocks(self, first: int, last: int) -> Iterator[Block]:
        file = self._view.file_of("blocks", self.document)
        if file is None:
            return
        # Two lines more: whether the block there opens its turn shows in the one before.
        rows = self._view.rows(
            sql("reading/blocks"),
            file=file,
            document=self.document["document"],
            first=max(first - 2, 0),
            last=last,
        )
        for row in rows:
            yield Block(**row)

    def _row(self, name: str, **values: Any) -> Row | None:
        file = self._view.file_of("blocks", self.document)
        if file is None:
            return None
        return self._view.row(sql(name), file=file, document=self.document["document"], **values)


class _Raw:
    """The lines of a document's source file, or its stored blocks where that is gone."""

    def __init__(self, view: View, document: Row) -> None:
        self.document = document
        self._readable = _Readable(view, document, "raw")
        self._view = view
        self._source = _source_file(document)
        self._stored = None if self._source else self._stored_lines()
        self._total: int | None = None

    def head(self) -> Answer:
        """Return what every answer begins with."""
        return self._readable.head()

    def notes(self) -> Answer:
        """Return what is to be said besides."""
        if self._stored is None:
            return {}
        return {
            "source": "the source file is not there; these are the archive's blocks, one a line"
        }

    def total_lines(self) -> int:
        """Lines of the source."""
        if self._total is None:
            self._total = sum(1 for _ in self._all())
        return self._total

    def of_turns(self, first: int, last: int) -> Span | None:
        """Return the source lines of a range of turns."""
        if self._stored is not None:
            numbers = [
                n for n, b in enumerate(self._stored, 1) if first <= (b["turn"] or 0) <= last
            ]
            return Span(numbers[0], numbers[-1]) if numbers else None
        row = self._readable._row("reading/source_lines", first_turn=first, last_turn=last)
        if row is None or row["first_line"] is None:
            return None
        return Span(row["first_line"], row["last_line"])

    def lines(self, first: int, last: int) -> Iterator[tuple[int, str]]:
        """Yield numbered lines within a range."""
        for number, text in self._all():
            if number > last:
                return
            if number >= first:
                yield number, text

    def _all(self) -> Iterator[tuple[int, str]]:
        if self._stored is not None:
            for number, block in enumerate(self._stored, 1):
                yield number, orjson.dumps(block).decode()
            return
        assert self._source is not None
        try:
            with open(self._source, "rb") as file:
                for number, raw in enumerate(file, 1):
                    yield number, raw.removesuffix(b"\n").decode("utf-8", "replace")
        except OSError as error:
            raise SjduckError(f"can't read {self._source}: {error.strerror}") from error

    def _stored_lines(self) -> list[Row]:
        file = self._view.file_of("blocks", self.document)
        if file is None:
            return []
        return self._view.rows(sql("reading/stored"), file=file, document=self.document["document"])


def _source_file(document: Row) -> str | None:
    """Return the path of a document's source where it is there and inside its source's tree."""
    root = document["source_root"]
    path = os.path.join(root, document["source_path"])
    if os.path.isfile(path) and is_within(path, allowed_roots(root)):
        return path
    return None
