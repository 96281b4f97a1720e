"""Read a slice of a document: the readable, condensed, or the raw source."""

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any, Protocol

import orjson

from sjduck import unrolled
from sjduck.archive import Row, View, question
from sjduck.bounds import MAX_REPLY_BYTES, Answer, bound, lowered_note
from sjduck.condensed import Condensed
from sjduck.confine import allowed_roots, is_within
from sjduck.errors import SjduckError, UsageError
from sjduck.jsontext import line_of
from sjduck.mounts import folders
from sjduck.readable import HEADER_LINES, Block, header, numbered_lines
from sjduck.redaction import masked_lines
from sjduck.refs import is_answer, path_of, resolve, source_path
from sjduck.slices import END, Span, cut, line_ref, parse_lines, parse_turns
from sjduck.sqlfiles import sql

FORMATS = ("readable", "condensed", "raw")
MAX_CHARS = 24_000
CONDENSED_MAX_CHARS = 48_000
# A reply carries more than its content.
_FRAME_BYTES = 3_000
# Lines of a document that are fetched at once; each fetch takes twice as many as the last.
_WINDOW_LINES = 4_096


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
    cap = _cap(format, max_chars)
    document = resolve(view, ref)
    if is_answer(document):
        return document
    source = _source(view, document, format)
    asked = _of_turns(source, document, turn_range) if turn_range else _of_lines(source, span)
    if isinstance(asked, str):
        return {**_head(document, source), "content": "", "hint": asked}
    return _answer(document, source, *asked, cap)


def _cap(format: str, max_chars: int | None) -> int:
    if format == "condensed":
        return bound(max_chars, CONDENSED_MAX_CHARS, "SJMCP_GET_CONDENSED_MAX_CHARS")
    return bound(max_chars, MAX_CHARS, "SJMCP_GET_MAX_CHARS")


def _answer(document: Row, source: "_Lines", span: Span, mark: str, max_chars: int) -> Answer:
    """Return what fits of a range of lines, and how to go on."""
    room = max(max_chars - len(mark), 1) if max_chars else 0
    size = MAX_REPLY_BYTES - _FRAME_BYTES if max_chars else 0
    taken = cut(source.lines(span.first, span.last), span, room, size)
    answer: Answer = {
        **_head(document, source),
        "content": mark + taken.content,
        **source.notes(),
    }
    if taken.rest:
        rest = line_ref(*taken.rest, span.last)
        answer |= {
            "truncated": True,
            "total_lines": source.total_lines(),
            "total_turns": document["turns"],
            "hint": f'cut at max_chars; go on with lines="{rest}"',
        }
    if max_chars > MAX_REPLY_BYTES:
        answer["note"] = lowered_note()
    return answer


def _head(document: Row, source: "_Lines") -> Answer:
    also_on = document["also_on"]
    head = {"path": path_of(document), "format": source.format}
    return {**head, "also_on": also_on} if also_on else head


def _of_lines(source: "_Lines", span: Span | None) -> tuple[Span, str] | str:
    """Return a range of lines and the mark that says so, or why there is none."""
    total = source.total_lines()
    if span is None:
        return Span(1, total), ""
    if span.first > total:
        return f"it has {total} lines"
    span = span._replace(last=min(span.last, total))
    return span, f"[lines {line_ref(span.first, span.character, span.last)} of {total}]\n"


def _of_turns(source: "_Lines", document: Row, turns: tuple[int, int]) -> tuple[Span, str] | str:
    """Return the lines of a range of turns and the mark that says so, or why there are none."""
    total = document["turns"]
    first, last = turns[0], min(turns[1], total)
    span = source.of_turns(first, last) if first <= last else None
    if span is None:
        return f"it has {total} turns"
    return span, f"[turns {first}-{last} of {total}]\n"


# -- where the lines come from -------------------------------------------------------------


class _Lines(Protocol):
    """A document as numbered lines."""

    format: str

    def total_lines(self) -> int:
        """How many there are."""

    def lines(self, first: int, last: int) -> Iterator[tuple[int, str]]:
        """Yield those within a range."""

    def of_turns(self, first: int, last: int) -> Span | None:
        """Return the range that some turns cover; None where there is nothing of them."""

    def notes(self) -> Answer:
        """Return what is to be said besides, once lines were yielded."""


def _source(view: View, document: Row, format: str) -> _Lines:
    """Return the lines to read: a log and a file of rejects have raw ones only."""
    if format != "raw" and document["type"] not in ("log", "file"):
        return Readable(view, document, format)
    if document["source_format"] in ("readable", "markdown") and document["type"] != "file":
        return Readable(view, document, "raw")
    read = _reader(document)
    return _Source(view, document, read) if read else _Stored(view, document)


class Readable:
    """The readable of one document, whole or condensed, written from its stored blocks."""

    def __init__(self, view: View, document: Row, format: str = "readable") -> None:
        self.format = format
        self._view = view
        self._document = document
        self._file = view.file_of("blocks", document)
        self._has_header = document["source_format"] not in ("readable", "markdown")
        self._condensed = (
            Condensed()
            if format == "condensed" and document["type"] in ("transcript", "subagent")
            else None
        )

    def notes(self) -> Answer:
        """Return how many blocks were folded."""
        folded = self._condensed.folded if self._condensed else 0
        return {"folded": folded} if folded else {}

    def total_lines(self) -> int:
        """Lines of the readable."""
        return int(self._document["lines"])

    def of_turns(self, first: int, last: int) -> Span | None:
        """Return the lines of a range of turns, the first one's heading included."""
        if self._file is None:
            return None
        row = self._view.row(
            sql("reading/turns"),
            file=self._file,
            document=self._document["document"],
            first_turn=first,
            last_turn=last,
        )
        if row is None or row["first_line"] is None:
            return None
        above = 2 if self._has_header else 0
        return Span(max(row["first_line"] - above, 1), row["last_line"])

    def lines(self, first: int, last: int) -> Iterator[tuple[int, str]]:
        """Yield numbered lines within a range."""
        blocks = self.blocks(first, last)
        if first <= HEADER_LINES:
            begun = list(_up_to_prompt(blocks))
            yield from ((n, text) for n, text in self.header(begun) if first <= n <= last)
            blocks = chain(begun, blocks)
        if self._condensed is not None:
            lines: Iterable[tuple[int, str]] = self._condensed.lines(blocks)
        else:
            lines = ((line.number, line.text) for line in numbered_lines(blocks))
        for number, text in lines:
            if number > last:
                return
            if number >= first:
                yield number, text

    def header(self, blocks: Iterable[Block]) -> Iterator[tuple[int, str]]:
        """Yield the numbered lines above the first turn; `blocks` are those first to be shown."""
        if self._has_header:
            prompt = next((block.text for block in blocks if _is_prompt(block)), None)
            if prompt is None:
                prompt = self._title()
            yield from enumerate(header(prompt, self._document["turns"]), 1)

    def blocks(self, first: int = 1, last: int = END) -> Iterator[Block]:
        """Yield the blocks that stand in a range of lines, fetched in growing windows."""
        # Two lines more at either end: a heading is written with the block below it, and
        # whether a block opens its turn shows in the one before.
        last = min(last + 2, self.total_lines())
        edges, step = [0, first - 1], _WINDOW_LINES
        while edges[-1] < last:
            edges.append(min(edges[-1] + step, last))
            step *= 2
        del edges[1]
        for after, upto in pairwise(edges):
            yield from self._window(first - 2, after, upto)

    def whole(self) -> list[Block]:
        """Return all blocks, fetched at once: a document is looked through once a window."""
        return list(self._window(0, 0, self.total_lines()))

    def _window(self, first: int, after: int, upto: int) -> Iterator[Block]:
        """Yield the blocks that end at `first` or later and begin after `after`, up to `upto`."""
        if self._file is not None:
            rows = self._view.rows(
                sql("reading/blocks"),
                file=self._file,
                document=self._document["document"],
                first=first,
                after=after,
                upto=upto,
            )
            yield from (Block(**row) for row in rows)

    def _title(self) -> str | None:
        if self._file is None:
            return None
        documents = [self._document["document"]]
        row = self._view.row(sql("reading/titles"), file=self._file, documents=documents)
        return row["text"] if row else None


def _up_to_prompt(blocks: Iterator[Block]) -> Iterator[Block]:
    for block in blocks:
        yield block
        if _is_prompt(block):
            return


def _is_prompt(block: Block) -> bool:
    return block.role == "user" and block.kind in ("text", "summary")


class _Source:
    """The lines of a document's source, as `read` gives them."""

    format = "raw"

    def __init__(self, view: View, document: Row, read: "_Reader") -> None:
        self._view = view
        self._document = document
        self._read = read
        self._is_hidden = view.redaction.hides(document)
        self._total: int | None = None

    def notes(self) -> Answer:
        """Return nothing: it is the source."""
        return {}

    def total_lines(self) -> int:
        """Lines of the source."""
        if self._total is None:
            self._total = sum(1 for _ in self._read())
        return self._total

    def of_turns(self, first: int, last: int) -> Span | None:
        """Return the source lines of a range of turns."""
        file = self._view.file_of("blocks", self._document)
        if file is None:
            return None
        row = self._view.row(
            sql("reading/source_lines"),
            file=file,
            document=self._document["document"],
            first_turn=first,
            last_turn=last,
        )
        if row is None or row["first_line"] is None:
            return None
        return Span(row["first_line"], row["last_line"])

    def lines(self, first: int, last: int) -> Iterator[tuple[int, str]]:
        """Yield numbered lines within a range."""
        lines: Iterable[str] = islice(self._read(), first - 1, last)
        yield from enumerate(masked_lines(lines) if self._is_hidden else lines, first)


class _Stored:
    """What the archive holds of a document, one JSON object a line: its source is not there."""

    format = "raw"

    def __init__(self, view: View, document: Row) -> None:
        table = {"log": "catalogue", "file": "rejects"}.get(document["type"], "blocks")
        file = view.file_of(table, document)
        self._table = table
        self._rows = (
            view.rows(sql(f"reading/stored_{table}"), file=file, document=document["document"])
            if file
            else []
        )

    def notes(self) -> Answer:
        """Return where the lines come from."""
        return {"source": f"not the source file: the archive's {self._table}, one a line"}

    def total_lines(self) -> int:
        """Rows that are stored."""
        return len(self._rows)

    def of_turns(self, first: int, last: int) -> Span | None:
        """Return the rows of a range of turns."""
        turns = enumerate((row.get("turn") or 0 for row in self._rows), 1)
        numbers = [number for number, turn in turns if first <= turn <= last]
        return Span(numbers[0], numbers[-1]) if numbers else None

    def lines(self, first: int, last: int) -> Iterator[tuple[int, str]]:
        """Yield numbered rows within a range."""
        for number, row in enumerate(self._rows[first - 1 : last], first):
            yield number, orjson.dumps(row, default=str).decode()


_Reader = Callable[[], Iterator[str]]


def _reader(document: Row) -> _Reader | None:
    """Return what reads a document's source; None where that is not there."""
    if not folders([Path(document["source_root"])]):
        return None
    format = document["source_format"]
    path = _source_file(document)
    if unrolled.is_unrolled(format) and (path or unrolled.is_gathered(format)):
        try:
            if _objects(document) is not None:
                return partial(_object_lines, document)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unreadable(document, error) from error
    return partial(_file_lines, document, path) if path else None


def _objects(document: Row) -> Iterator[Any] | None:
    return unrolled.records(
        document["source_format"], document["source_root"], document["source_path"]
    )


def _object_lines(document: Row) -> Iterator[str]:
    """Yield the objects of a source that is not lines, one a line."""
    try:
        for value in _objects(document) or ():
            yield line_of(value)
    except OSError as error:
        raise _unreadable(document, error) from error


def _file_lines(document: Row, path: str) -> Iterator[str]:
    """Yield the lines of a source file."""
    try:
        with open(path, "rb") as file:
            for line in file:
                yield line.removesuffix(b"\n").decode("utf-8", "replace")
    except OSError as error:
        raise _unreadable(document, error) from error


def _unreadable(document: Row, error: OSError) -> SjduckError:
    return SjduckError(f"can't read {source_path(document)}: {error.strerror or error}")


def _source_file(document: Row) -> str | None:
    """Return the path of a document's source where it is there and inside its source's tree.

    A history is read from the archive: its path is the same on every machine, and on this one
    another's history would lie there.
    """
    if document["source_format"] in ("history", "codex-history"):
        return None
    root = document["source_root"]
    path = os.path.join(root, document["source_path"])
    if os.path.isfile(path) and is_within(path, allowed_roots(root, document["source_kind"])):
        return path
    return None
