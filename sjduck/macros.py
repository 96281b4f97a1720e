"""`recall('…')`, `search('…')` and `readable('…')` as table functions of SQL."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from itertools import count
from typing import TypeVar, cast
from weakref import proxy, ref

from sjduck.archive import Archive, Row, View
from sjduck.errors import SjduckError
from sjduck.sqlfiles import Table, functions, sql

# Macro → its parameters, with defaults.
_PARAMETERS = {
    "recall": "query, also := null, k := 20",
    "search": "query, k := 20",
    "readable": "ref",
}
NAMES = frozenset(_PARAMETERS)
_DEFAULT_K = 20
Answer = TypeVar("Answer")


class _Place:
    """The connection whose SQL calls a macro, for as long as somebody else keeps it."""

    def __init__(self, view: View, number: int) -> None:
        self._view = view.on(proxy(view.connection))
        self._end = ref(view.connection, lambda _: _places.pop(number, None))

    def ask(self, question: Callable[[View], Answer]) -> Answer:
        """Return what `question` finds on the snapshot, as an archive does, on its own cursor."""
        with self._view.connection.cursor() as cursor:
            return question(self._view.on(cursor))


# DuckDB keeps no more than the number of a place: a reference would keep its database open.
_places: dict[int, _Place] = {}
_numbers = count(1)


def add_macros(view: View) -> None:
    """Add the macros to the connection of a view; they answer from its snapshot."""
    import duckdb
    from duckdb.func import SPECIAL

    connection = view.connection
    number = next(_numbers)
    _places[number] = _Place(view, number)
    known = {
        row["name"] for row in view.rows("select function_name as name from duckdb_functions()")
    }
    for name, parameters in _PARAMETERS.items():
        function, types = _FUNCTIONS[name]
        if function.__name__ not in known:
            connection.create_function(
                function.__name__,
                function,
                [duckdb.sqltype(type_) for type_ in types],
                duckdb.sqltype(_rows_type(functions()[name])),
                null_handling=SPECIAL,
                # Else it would be asked once more, while the statement is planned.
                side_effects=True,
            )
        body = sql(f"macros/{name}").replace("place", str(number))
        connection.execute(f"create or replace temp macro {name}({parameters}) as table {body}")


def _rows_type(table: Table) -> str:
    return f"struct({', '.join(f'{column.name} {column.type}' for column in table.columns)})[]"


def recall_rows(place: int, query: str | None, also: str | None, k: int | None) -> list[Row]:
    """Return what `recall` answers as rows of its macro."""
    from sjduck.recall import recall

    if query is None:
        return []
    answer = recall(
        _archive(place), query, also=also, k=k or _DEFAULT_K, fields="full", max_chars=0
    )
    return [_recalled(rank, row) for rank, row in enumerate(answer["results"], 1)]


def _recalled(rank: int, row: Row) -> Row:
    best: Row = next(iter(row["snippets"]), {})
    return {
        "rank": rank,
        "score": row["score"],
        "type": row["type"],
        "date": _date(row["date"]),
        **{
            name: row.get(name)
            for name in ("host", "project", "topic", "sid", "session_id", "path")
        },
        "why": row["why"],
        "line": best.get("line"),
        "snippet": best.get("text"),
    }


def search_rows(place: int, query: str | None, k: int | None) -> list[Row]:
    """Return what `search` answers as rows of its macro."""
    from sjduck.search import search

    if query is None:
        return []
    answer = search(_archive(place), query, limit=k or _DEFAULT_K, max_chars=0)
    return [_hit(rank, row) for rank, row in enumerate(answer["hits"], 1)]


def _hit(rank: int, row: Row) -> Row:
    same = (
        "score", "type", "host", "project", "topic", "sid", "path", "line", "turn", "seq", "uuid",
        "role", "kind", "snippet",
    )  # fmt: skip
    sent = row["sent_at"]
    return {
        "rank": rank,
        "date": _date(row["date"]),
        "sent_local": datetime.fromisoformat(sent) if sent else None,
        **{name: row.get(name) for name in same},
    }


def _date(text: str | None) -> date | None:
    return date.fromisoformat(text) if text else None


def readable_rows(place: int, ref: str | None) -> list[Row]:
    """Return the lines of a document's readable."""
    from sjduck.reading import get

    if ref is None:
        return []
    answer = get(_archive(place), ref, max_chars=0)
    if "error" in answer:
        raise SjduckError(f"{answer['error']}: {ref}")
    lines = answer["content"].removesuffix("\n").split("\n")
    return [{"line": number, "text": text} for number, text in enumerate(lines, 1)]


def _archive(place: int) -> Archive:
    """Return what answers questions as an archive of one snapshot does."""
    return cast(Archive, _places[place])


_FUNCTIONS: dict[str, tuple[Callable[..., list[Row]], list[str]]] = {
    "recall": (recall_rows, ["integer", "varchar", "varchar", "integer"]),
    "search": (search_rows, ["integer", "varchar", "integer"]),
    "readable": (readable_rows, ["integer", "varchar"]),
}
