"""The text of single lines of readables and logs, for any number of documents at once."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from sjduck.archive import Row, View
from sjduck.readable import shown_text, title
from sjduck.sqlfiles import sql

# Documents read by a query a file, which unpacks only what is around them; more by one scan of all.
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
    places = view.rows(sql("recall/places"))
    if any(place["type"] == "log" for place in places):
        for row in view.rows(sql("recall/wanted_topics")):
            yield LineText(row["document"], row["line"], row["text"], None)
    lines = {(row["document"], row["line"]) for row in rows}
    yield from _titles(view, places, lines)
    yield from _lines(view, places, lines, needle)


def held_lines(view: View, wanted: Mapping[int, Sequence[int]]) -> dict[int, list[int]]:
    """Return of each document the wanted lines that a block holds, in their order: no headings."""
    rows = [{"document": document, "line": 0} for document in wanted]
    view.table_of("wanted", {"document": "bigint", "line": "integer"}, rows)
    each = _by_file(view, view.rows(sql("recall/places")))
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


def _by_file(view: View, places: Iterable[Row]) -> list[Row]:
    """Return each file that holds blocks of some documents, and which documents those are."""
    by_file: dict[str, list[int]] = {}
    for place in places:
        if file := view.file_of("blocks", place):
            by_file.setdefault(file, []).append(place["document"])
    return [{"file": file, "documents": held} for file, held in sorted(by_file.items())]


def _titles(view: View, places: Iterable[Row], wanted: set[tuple[int, int]]) -> Iterator[LineText]:
    """Yield the wanted first lines: the title, which no block holds, of what we render."""
    rendered = [
        place
        for place in places
        if place["source_format"] not in ("readable", "markdown")
        and (place["document"], 1) in wanted
    ]
    for start in range(0, len(rendered), MOST_AT_ONCE):
        each = _by_file(view, rendered[start : start + MOST_AT_ONCE])
        titles = {
            row["document"]: row["text"] for row in view.rows_of_each(sql("reading/titles"), each)
        }
        for place in rendered[start : start + MOST_AT_ONCE]:
            yield LineText(place["document"], 1, title(titles.get(place["document"])), None)


def _lines(
    view: View, places: Sequence[Row], wanted: set[tuple[int, int]], needle: str | None
) -> Iterator[LineText]:
    """Yield the wanted lines of blocks."""
    if len(places) <= MOST_AT_ONCE:
        rows = view.rows_of_each(sql("recall/blocks_of_lines"), _by_file(view, places))
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
