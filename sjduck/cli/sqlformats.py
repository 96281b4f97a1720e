"""The rows of a statement as a table, CSV, JSON, Markdown or Parquet."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import IO, Any

from sjduck.bounds import compact
from sjduck.cli.terminal import UNESCAPED, clean, fitted, styled, terminal_width
from sjduck.freesql import Result

FORMATS = ("table", "csv", "json", "ndjson", "markdown", "parquet")
SUFFIXES = {
    ".csv": "csv", ".json": "json", ".jsonl": "ndjson", ".md": "markdown", ".ndjson": "ndjson",
    ".parquet": "parquet",
}  # fmt: skip
_GAP = "  "
_LEAST = 6
# Where so few characters are left for each column, a row is shown as lines of its own.
_NUMBERS = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DOUBLE|FLOAT|DECIMAL\(.*\)")
_ROWS_AT_ONCE = 500


def lines(result: Result, format: str, *, plainly: bool) -> Iterator[str]:
    """Yield the text of a result in a format, a line or more at once.

    `plainly` leaves control characters as they are: for files, not for terminals.
    """
    write = _WRITERS[format]
    return write(result) if plainly else (_tamed(text, format) for text in write(result))


def _tamed(text: str, format: str) -> str:
    if format in ("json", "ndjson"):
        return UNESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return text if format == "table" else clean(text)


def _csv(result: Result) -> Iterator[str]:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(result.columns)
    for number, row in enumerate(result.rows, 1):
        writer.writerow([_flat(value) for value in row])
        if number % _ROWS_AT_ONCE == 0:
            yield text.getvalue()
            text.seek(0)
            text.truncate()
    yield text.getvalue()


def _json(result: Result) -> Iterator[str]:
    names, before = _distinct(result.columns), "[\n"
    for row in result.rows:
        yield before + compact(dict(zip(names, row, strict=True)))
        before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"


def _ndjson(result: Result) -> Iterator[str]:
    names = _distinct(result.columns)
    for row in result.rows:
        yield compact(dict(zip(names, row, strict=True))) + "\n"


def _markdown(result: Result) -> Iterator[str]:
    yield _markdown_row(result.columns)
    yield _markdown_row(["--:" if _is_number(type_) else "---" for type_ in result.types])
    for row in result.rows:
        yield _markdown_row([_flat(value) for value in row])


def _markdown_row(values: Sequence[Any]) -> str:
    cells = ("" if value is None else " ".join(str(value).split()) for value in values)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _distinct(names: Sequence[str]) -> list[str]:
    """Return names of which none is there twice."""
    distinct: dict[str, None] = {}
    for name in names:
        number, other = 1, name
        while other in distinct:
            other, number = f"{name}_{number}", number + 1
        distinct[other] = None
    return list(distinct)


def _flat(value: Any) -> Any:
    """Return a value as one cell has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return compact(value) if isinstance(value, list | dict) else value


# -- a table -------------------------------------------------------------------------------


def _table(result: Result) -> Iterator[str]:
    """Yield a table that fits the terminal; where its columns don't, a block of lines a row."""
    names = [_cell(name) for name in result.columns]
    rows = [[_cell(value) for value in row] for row in result.rows]
    width = terminal_width()
    widths = _widths([names, *rows], width)
    if sum(widths) + len(_GAP) * (len(widths) - 1) > (width or 2**31):
        yield from _blocks(names, rows, width or 0)
        return
    right = [_is_number(type_) for type_ in result.types]
    yield styled(_line(names, widths, right)) + "\n"
    for row in rows:
        yield _line(row, widths, right) + "\n"


def _widths(rows: Sequence[Sequence[str]], total: int | None) -> list[int]:
    """Return how wide each column is: the widest are cut until all fit, if they can."""
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    if total is None:
        return widths
    room = total - len(_GAP) * (len(widths) - 1)
    while sum(widths) > room and max(widths) > _LEAST:
        widths[widths.index(max(widths))] -= 1
    return widths


def _line(row: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    from rich.cells import cell_len

    cells = []
    for value, width, is_right in zip(row, widths, right, strict=True):
        text = fitted(value, width)
        space = " " * (width - cell_len(text))
        cells.append(space + text if is_right else text + space)
    return _GAP.join(cells).rstrip()


def _blocks(names: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    from rich.cells import cell_len

    wide = min(max(map(cell_len, names)), width // 2)
    for number, row in enumerate(rows, 1):
        yield styled(f"row {number}") + "\n"
        for name, value in zip(names, row, strict=True):
            widths = [wide, width - wide - len(_GAP)]
            yield _line([name, value], widths, [False, False]) + "\n"


def _cell(value: Any) -> str:
    return "NULL" if value is None else " ".join(clean(str(_flat(value))).split())


def _is_number(type_: str) -> bool:
    return _NUMBERS.fullmatch(type_) is not None


_WRITERS: dict[str, Callable[[Result], Iterator[str]]] = {
    "table": _table,
    "csv": _csv,
    "json": _json,
    "ndjson": _ndjson,
    "markdown": _markdown,
}


# -- Parquet -------------------------------------------------------------------------------


def write_parquet(result: Result, target: IO[bytes]) -> None:
    """Write a result whose rows are Arrow streams."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer: pq.ParquetWriter | None = None
    # Closed also after an error: later its target is closed, and it would complain.
    with ExitStack() as opened:
        for part in result.rows:
            with pa.ipc.open_stream(part) as stream:
                if writer is None:
                    writer = pq.ParquetWriter(target, stream.schema, compression="zstd")
                    opened.enter_context(writer)
                writer.write_table(stream.read_all())
