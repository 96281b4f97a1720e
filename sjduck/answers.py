"""What the Python API answers with: the tools' answers, whose rows turn into tables."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from sjduck.archive import Row
from sjduck.errors import SjduckError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

RowsOf = Literal["results", "hits", "items", "rows", "passages", "blocks"]
_MAX_SHOWN = 100
# What is longer is folded in a table; the row itself holds it whole.
_MAX_CELL = 300
_STYLE = "text-align:left;vertical-align:top;white-space:pre-wrap"


class Answer(dict[str, Any]):
    """An answer as the MCP tool of its name gives it: the same fields, as a dict.

    `rows` are its rows; `pl()`, `arrow()` and `df()` turn them into a table. In Jupyter it shows
    as one.
    """

    def __init__(self, fields: dict[str, Any], rows_of: RowsOf | None = None) -> None:
        super().__init__(fields)
        self._rows_of = rows_of

    @property
    def rows(self) -> list[Row]:
        """The rows, whatever the tool calls them; none where the answer carries `error`."""
        return list(self.get(self._rows_of, ())) if self._rows_of else []

    def pl(self) -> polars.DataFrame:
        """Return the rows as a polars DataFrame, a column for each field that any row has."""
        import polars

        return polars.DataFrame(self._even_rows(), infer_schema_length=None, strict=False)

    def arrow(self) -> pyarrow.Table:
        """Return the rows as an Arrow table."""
        import pyarrow

        return pyarrow.Table.from_pylist(self._even_rows())

    def df(self) -> pandas.DataFrame:
        """Return the rows as a pandas DataFrame; raises SjduckError without pandas."""
        try:
            import pandas
        except ModuleNotFoundError as error:
            raise SjduckError(
                "pandas is not installed; pip install pandas, or use pl() or arrow()"
            ) from error
        return pandas.DataFrame(self._even_rows())

    def _even_rows(self) -> list[Row]:
        """Return the rows with the same fields each: some are left out where they are empty."""
        names = _names(self.rows)
        return [{name: row.get(name) for name in names} for row in self.rows]

    def _repr_html_(self) -> str:
        if "content" in self:
            return f"<pre style='{_STYLE}'>{escape(self['content'])}</pre>{_remarks(self)}"
        return _table(self.rows) + _remarks(self)


def _names(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _table(rows: Sequence[Row]) -> str:
    """Return rows as an HTML table; what transcripts hold is text in it, never markup."""
    if not rows:
        return ""
    names = _names(rows)
    head = "".join(f"<th style='{_STYLE}'>{escape(name)}</th>" for name in names)
    body = "".join(
        f"<tr>{''.join(f'<td style={_STYLE!r}>{_cell(row.get(name))}</td>' for name in names)}</tr>"
        for row in rows[:_MAX_SHOWN]
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        value = "\n".join(_piece(piece) for piece in value)
    text = value if isinstance(value, str) else f"{value:,}" if type(value) is int else str(value)
    return escape(text if len(text) <= _MAX_CELL else text[: _MAX_CELL - 1] + "…")


def _piece(piece: Any) -> str:
    """Return one element of a list: a snippet by its line and text."""
    if isinstance(piece, dict) and "text" in piece:
        return f"{piece.get('line', piece.get('source', ''))}: {piece['text']}"
    return str(piece)


def _remarks(answer: Answer) -> str:
    """Return what an answer says beside its rows: how many there are, what it left out."""
    cut = f"{_MAX_SHOWN} of {len(answer.rows):,} rows are shown"
    said = [cut] if len(answer.rows) > _MAX_SHOWN else []
    said += [
        f"{name}: {_cell(answer[name])}"
        for name in ("error", "total", "matches", "totals", "corrected", "notes", "more", "hint")
        if answer.get(name) not in (None, [], "")
    ]
    return f"<p><small>{'<br>'.join(said)}</small></p>" if said else ""
