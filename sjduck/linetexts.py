"""The text of single lines of readables and logs, for any number of documents at once."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from sjduck.archive import Row, View
from sjduck.readable import Block, numbered_lines, title
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


def _titles(view: View, places: Iterable[Row], wanted: set[tuple[int, int]]) -> Iterator[LineText]:
    """Yield the wanted first lines: the title, which no block holds, of what we render."""
    each = [
        {"document": place["document"], "file": place["file"]}
        for place in places
        if place["source_format"] not in ("readable", "markdown")
        and (place["document"], 1) in wanted
    ]
    for start in range(0, len(each), MOST_AT_ONCE):
        for row in view.rows_of_each(sql("recall/title"), each[start : start + MOST_AT_ONCE]):
            yield LineText(row["document"], 1, title(row["text"]), None)


def _lines(
    view: View, places: Sequence[Row], wanted: set[tuple[int, int]], needle: str | None
) -> Iterator[LineText]:
    """Yield the wanted lines of blocks; of many documents by one scan of their files."""
    if len(places) <= MOST_AT_ONCE:
        each = [{"document": place["document"], "file": place["file"]} for place in places]
        rows = view.rows_of_each(sql("recall/wanted_blocks"), each, needle=needle)
    else:
        files = sorted({place["file"] for place in places})
        rows = view.rows(sql("recall/wanted_blocks_of_many"), files=files, needle=needle)
    for row in rows:
        document = row.pop("document")
        block = Block(**row)
        for line in numbered_lines([block]):
            if line.block is not None and (document, line.number) in wanted:
                yield LineText(document, line.number, line.text, block.turn)
