"""Rows of any DuckDB types as JSON has them: numbers, texts, lists and objects."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sjduck.bounds import short
from sjduck.freesql.gate import enclosed

if TYPE_CHECKING:
    import duckdb

_AS_THEY_ARE = frozenset(
    {
        "boolean", "tinyint", "smallint", "integer", "bigint", "hugeint", "utinyint", "usmallint",
        "uinteger", "ubigint", "uhugeint", "float", "double", "decimal",
    }
)  # fmt: skip
_NESTED = frozenset({"list", "array", "struct", "map", "union", "variant"})
# What Arrow or Parquet can't hold, or not as it is: they would fail, or say another value.
_NOT_IN_PARQUET = frozenset(
    {"bignum", "bit", "interval", "time with time zone", "uhugeint", "union", "variant"}
)
# Beyond these no reader of JSON keeps a whole number exact that takes 64 bits.
_LEAST, _MOST = -(2**63), 2**64 - 1
# Values that are nested deeper are shown as a text.
_DEPTH = 100


@dataclass(frozen=True, slots=True)
class Column:
    """One column of an answer."""

    name: str
    type: str
    kind: str
    # Also those of what is in it.
    kinds: frozenset[str]

    @property
    def is_nested(self) -> bool:
        """Whether its values are lists or objects."""
        return self.kind in _NESTED or self.type == "JSON"


def columns(described: Sequence[tuple[Any, ...]]) -> list[Column]:
    """Return the columns that DuckDB describes."""
    return [
        Column(name, str(type_), getattr(type_, "id", ""), frozenset(_kinds(type_)))
        for name, type_, *_ in described
    ]


def _kinds(type_: Any) -> Iterator[str]:
    kind = getattr(type_, "id", "")
    yield kind
    if kind in _NESTED - {"variant"}:
        for _, part in type_.children:
            yield from _kinds(part)


def in_parquet(text: str, columns: Sequence[Column]) -> str:
    """Return the SELECT of a statement's rows in types that Parquet has; other values as texts."""
    if not any(column.kinds & _NOT_IN_PARQUET for column in columns):
        return enclosed(text)
    names = [f"c{number}" for number in range(len(columns))]
    values = []
    for name, column in zip(names, columns, strict=True):
        value = _as_text(name, column) if column.kinds & _NOT_IN_PARQUET else name
        quoted = column.name.replace('"', '""')
        values.append(f'{value} as "{quoted}"')
    return f"select {', '.join(values)} {enclosed(text)} as answer({', '.join(names)})"


def written(text: str, columns: Sequence[Column], limit: int | None, cut: int | None) -> str:
    """Return the SELECT of a statement's rows in values that `shown` takes.

    `limit` bounds the rows; of a text no more than `cut` characters, and one, are fetched.
    """
    names = [f"c{number}" for number in range(len(columns))]
    values = ", ".join(_written(name, c, cut) for name, c in zip(names, columns, strict=True))
    rows = f"select {values} {enclosed(text)} as answer({', '.join(names)})"
    return rows if limit is None else f"{rows} limit {limit}"


def _written(name: str, column: Column, cut: int | None) -> str:
    if column.kind in _AS_THEY_ARE:
        return name
    text = _as_text(name, column)
    return text if cut is None else f"left({text}, {cut + 1})"


def _as_text(name: str, column: Column) -> str:
    return f"to_json({name})::varchar" if column.kind in _NESTED else f"{name}::varchar"


def shown(row: Sequence[Any], columns: Sequence[Column], cut: int | None) -> list[Any]:
    """Return a row as JSON has it, texts cut at `cut` characters."""
    return [_shown(value, column, cut) for value, column in zip(row, columns, strict=True)]


def _shown(value: Any, column: Column, cut: int | None) -> Any:
    if isinstance(value, str):
        if cut is not None and len(value) > cut:
            return short(value, cut)
        return _loaded(value) if column.is_nested else value
    return _plain(value)


def _loaded(text: str) -> Any:
    """Return what a JSON text says; the text itself where no reader could be sure of it."""
    try:
        return _plain(json.loads(text, object_pairs_hook=_object))
    except (ValueError, RecursionError):
        return text


def _object(pairs: list[tuple[str, Any]]) -> Any:
    """Return an object, or where names stand twice in it its values: a row without names."""
    named = dict(pairs)
    return named if len(named) == len(pairs) else [value for _, value in pairs]


def _plain(value: Any, room: int = _DEPTH) -> Any:
    """Return a value that any reader of JSON takes: what no number can hold is a text.

    Raises ValueError for what has more than `room` levels.
    """
    if not room:
        raise ValueError("nested too deeply")
    match value:
        case bool() | None:
            return value
        case int():
            return value if _LEAST <= value <= _MOST else str(value)
        case Decimal():
            number = float(value)
            return number if Decimal(repr(number)) == value else str(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case list():
            return [_plain(item, room - 1) for item in value]
        case dict():
            return {name: _plain(item, room - 1) for name, item in value.items()}
    return value


def described(
    connection: duckdb.DuckDBPyConnection, text: str, values: dict[str, Any]
) -> list[Column]:
    """Return the columns that a statement has."""
    return columns(connection.execute(f"{enclosed(text)} limit 0", values).description)
