"""What DuckDB says of a statement, in one line that says what to do."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from sjduck.errors import SjduckError, UsageError
from sjduck.freesql.gate import TOO_DEEP
from sjduck.sqlfiles import functions, published

if TYPE_CHECKING:
    import duckdb

_MAX_CHARACTERS = 300
_COLUMN = re.compile(r'(?:column|named) "([^"]+)"')
_VALUE = re.compile(r"^Values were not provided for .* parameters: (.+)")
_LACKING = re.compile(r"(?:not found|does not have a column|was not found)")
_KIND = re.compile(r"^[A-Z][\w /]*? Error: ")
_UDF = re.compile(r"^Python exception occurred while executing the UDF: \w+: ")
_PLACE = re.compile(r"""['"]?(?:/|[A-Za-z]:\\)[^'"\s]*\.(?:parquet|duckdb|json)[^'"\s]*['"]?""")


def complaint(error: duckdb.Error, said: str, names: Collection[str]) -> SjduckError:
    """Return what went wrong in one line: a column that is near, or what to change.

    `said` is the text of the error as it may be shown; `names` are the views and macros that the
    statement names.
    """
    import duckdb

    line = _UDF.sub("", _KIND.sub("", said.split("\n", 1)[0]))
    if isinstance(error, duckdb.InternalException | duckdb.FatalException):
        return SjduckError("DuckDB failed at this statement; write it in another way")
    if "expression depth" in line:
        return UsageError(TOO_DEEP)
    if value := _VALUE.search(line):
        return UsageError(f"no value was given for ${value[1].replace(', ', ', $')}")
    column = _COLUMN.search(line)
    if column and _LACKING.search(line):
        return UsageError(_no_column(column[1], names))
    line = _PLACE.sub("a file", line).rstrip("!")
    if len(line) > _MAX_CHARACTERS:
        line = line[: _MAX_CHARACTERS - 1] + "…"
    return UsageError(line)


def out_of_memory(memory_mb: int) -> SjduckError:
    """Return what to say of a statement that took too much."""
    return SjduckError(
        f"it needs more than {memory_mb:,} MB of memory; filter more, select fewer columns, "
        "or sum up"
    )


def _no_column(name: str, names: Collection[str]) -> str:
    relations = {**published(), **functions()}
    named = sorted(relations.keys() & set(names))
    columns = {c.name for relation in named for c in relations[relation].columns}
    near = difflib.get_close_matches(name.lower(), columns, n=3, cutoff=0.6)
    where = f" in {', '.join(named)}" if named else ""
    hint = f"; nearest: {', '.join(near)}" if near else ""
    also = f"; DESCRIBE {named[0]} lists its columns" if named and not near else ""
    return f"no column `{name[:60]}`{where}{hint}{also}"
