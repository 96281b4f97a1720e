"""The text of single lines of readables and logs, for any number of documents at once."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sjduck.archive import Row, View
from sjduck.readable import Block, numbered_lines, title
from sjduck.sqlfiles import sql


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
    places = view.rows(sql("recall/places"))
    files = sorted({file for place in places if (file := view.file_of("blocks", place))})
    if files:
        yield from _titles(view, places, files)
        yield from _lines(view, {(row["document"], row["line"]) for row in rows}, files, needle)


def _titles(view: View, places: Iterable[Row], files: list[str]) -> Iterator[LineText]:
    """Yield the wanted first lines: the title, which no block holds, of what we render."""
    rendered = {
        place["document"]
        for place in places
        if place["source_format"] not in ("readable", "markdown")
    }
    for row in view.rows(sql("recall/wanted_titles"), files=files):
        if row["document"] in rendered:
            yield LineText(row["document"], 1, title(row["text"]), None)


def _lines(
    view: View, wanted: set[tuple[int, int]], files: list[str], needle: str | None
) -> Iterator[LineText]:
    for row in view.rows(sql("recall/wanted_blocks"), files=files, needle=needle):
        document = row.pop("document")
        block = Block(**row)
        for line in numbered_lines([block]):
            if line.block is not None and (document, line.number) in wanted:
                yield LineText(document, line.number, line.text, block.turn)
