"""The text of single blocks and topics, for any number of documents at once."""

from collections.abc import Iterable

from sjduck.archive import Row, View
from sjduck.readable import shown_text
from sjduck.sqlfiles import sql

# A block: its document and its place there.
Place = tuple[int, int]


def block_texts(view: View, wanted: Iterable[Row]) -> dict[Place, Row]:
    """Return the blocks of rows with `document`, `seq` and `kind`; of kind topic: lines of logs."""
    places: list[Place] = []
    topics: list[Place] = []
    for row in wanted:
        (topics if row["kind"] == "topic" else places).append((row["document"], row["seq"]))
    found = [*_blocks(view, places), *_topics(view, topics)]
    return {(row["document"], row["seq"]): row for row in found}


def snippet_of(block: Row, text: str, lines_above: int) -> Row:
    """Return the snippet of a block that shows `text`, below so many of its lines."""
    if block["kind"] == "topic":
        return {"source": "log", "text": text}
    if block["line_start"] is None:
        return {"turn": block["turn"], "text": text}
    line = min(block["line_start"] + lines_above, block["line_end"])
    return {"line": line, "turn": block["turn"], "text": text}


def shown(block: Row) -> str:
    """Return the text of a block as it is shown where it was said: a command verbatim."""
    return shown_text(
        block["kind"], block["text"], tool_name=block["tool_name"], is_error=block["is_error"]
    )


def _blocks(view: View, places: list[Place]) -> list[Row]:
    """Read blocks by one SELECT a file, which unpacks only what is around them."""
    if not places:
        return []
    _keep_wanted(view, places)
    documents = sorted({document for document, _ in places})
    by_file: dict[str, list[int]] = {}
    for row in view.rows(sql("search/places"), documents=documents):
        if file := view.file_of("blocks", row):
            by_file.setdefault(file, []).append(row["document"])
    each = [{"file": file, "documents": held} for file, held in sorted(by_file.items())]
    return view.rows_of_each(sql("search/texts"), each)


def _topics(view: View, lines: list[Place]) -> list[Row]:
    if not lines:
        return []
    _keep_wanted(view, lines)
    return view.rows(sql("search/topics"))


def _keep_wanted(view: View, places: list[Place]) -> None:
    rows = [{"document": document, "seq": seq} for document, seq in places]
    view.table_of("wanted", {"document": "bigint", "seq": "integer"}, rows)
