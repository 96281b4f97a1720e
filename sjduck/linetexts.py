"""The text of single lines of readables and logs, for any number of documents at once."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from sjduck.archive import Row, View
from sjduck.readable import shown_text, title
from sjduck.sqlfiles import sql

# Documents read by a query of their own each; more are read by one scan.
MOST_AT_ONCE = 32


class LineText(NamedTuple):
    """One line: where it stands, what it says, and the turn it is of."""

    document: int
    line: int
    text: str
    turn: int | None


def line_texts(
    view: View, wanted: Iterable[tuple[int, int]], *, needle: str | None = None
) -> Iterator[LineText]:
    """Yield the wanted lines (document, line), in no order.

    `needle`, lower case, leaves out blocks that can't hold it. Headings of turns have no text.
    """
    rows = [{"document": document, "line": line} for document, line in wanted]
    if not rows:
        return
    view.table_of("wanted", {"document": "bigint", "line": "integer"}, rows)
    for row in view.rows(sql("recall/wanted_topics")):
        yield LineText(row["document"], row["line"], row["text"], None)
    places = [
        {**place, "file": file}
        for place in view.rows(sql("recall/places"))
        if (file := view.file_of("blocks", place))
    ]
    lines = {(row["document"], row["line"]) for row in rows}
    yield from _titles(view, places, lines)
    yield from _lines(view, places, lines, needle)


def held_lines(view: View, wanted: Mapping[int, Sequence[int]]) -> dict[int, list[int]]:
    """Return of each document the wanted lines that a block holds, in their order: no headings."""
    rows = [{"document": document, "line": 0} for document in wanted]
    view.table_of("wanted", {"document": "bigint", "line": "integer"}, rows)
    each = [
        {"document": place["document"], "file": file}
        for place in view.rows(sql("recall/places"))
        if (file := view.file_of("blocks", place))
    ]
    ranges: dict[int, list[tuple[int, int]]] = {}
    for row in view.rows_of_each(sql("reading/ranges"), each):
        ranges.setdefault(row["document"], []).append((row["line_start"], row["line_end"]))
    held = {}
    for document, lines in wanted.items():
        blocks = sorted(ranges.get(document, []))
        starts = [first for first, _ in blocks]
        held[document] = [
            line
            for line in lines
            if (at := bisect_right(starts, line) - 1) >= 0 and line <= blocks[at][1]
        ]
    return held


def _titles(view: View, places: Iterable[Row], wanted: set[tuple[int, int]]) -> Iterator[LineText]:
    """Yield the wanted first lines: the title, which no block holds, of what we render."""
    each = [
        {"document": place["document"], "file": place["file"]}
        for place in places
        if place["source_format"] not in ("readable", "markdown")
        and (place["document"], 1) in wanted
    ]
    for start in range(0, len(each), MOST_AT_ONCE):
        for row in view.rows_of_each(sql("reading/title"), each[start : start + MOST_AT_ONCE]):
            yield LineText(row["document"], 1, title(row["text"]), None)


def _lines(
    view: View, places: Sequence[Row], wanted: set[tuple[int, int]], needle: str | None
) -> Iterator[LineText]:
    """Yield the wanted lines of blocks; of many documents by one scan of all."""
    if len(places) <= MOST_AT_ONCE:
        by_document: dict[int, list[int]] = {}
        for document, number in sorted(wanted):
            by_document.setdefault(document, []).append(number)
        each = [
            {
                "file": place["file"],
                "document": place["document"],
                "lines": by_document[place["document"]],
            }
            for place in places
        ]
        rows = view.rows_of_each(sql("recall/blocks_of_lines"), each)
    else:
        rows = view.rows(sql("recall/wanted_blocks"), needle=needle)
    for row in rows:
        for number, text in shown_lines(row):
            if (row["document"], number) in wanted:
                yield LineText(row["document"], number, text, row["turn"])


def shown_lines(row: Row) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of one stored block, as the readable shows it."""
    shown = shown_text(
        row["kind"], row["text"], tool_name=row["tool_name"], is_error=row["is_error"]
    )
    lines = shown.split("\n")[: row["line_end"] - row["line_start"] + 1]
    yield from enumerate(lines, row["line_start"])
