"""Find and read the SQL files: inside the installed package, else beside it in a checkout."""

import tomllib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, NamedTuple


class Column(NamedTuple):
    """One column of a table: its name, its DuckDB type and what it holds."""

    name: str
    type: str
    about: str


class Table(NamedTuple):
    """One table or view of the archive, as `sql/dictionary.toml` describes it."""

    name: str
    about: str
    columns: tuple[Column, ...]


@cache
def sql_folder() -> Traversable:
    """Return the folder that holds the SQL files."""
    package = files("sjduck")
    packaged = package.joinpath("sql")
    return packaged if packaged.is_dir() else package.joinpath("..", "sql")


@cache
def sql(name: str) -> str:
    """Return the one SELECT of `sql/<name>.sql`."""
    return sql_folder().joinpath(*f"{name}.sql".split("/")).read_text(encoding="utf-8")


@cache
def dictionary() -> dict[str, Table]:
    """Return every stored table with its columns, the contract between etl and sql."""
    return {
        name: Table(name, entry["about"], _columns(entry))
        for name, entry in _described().items()
        if name not in ("views", "functions")
    }


@cache
def published() -> dict[str, Table]:
    """Return the relations that a snapshot shows to questions, with all their columns."""
    shown: dict[str, Table] = {}
    for name, entry in _described()["views"].items():
        like = entry.get("like", "")
        base = shown.get(like) or dictionary().get(like)
        hidden = entry.get("without", [])
        kept = tuple(c for c in base.columns if c.name not in hidden) if base else ()
        shown[name] = Table(name, entry["about"], kept + _columns(entry))
    return shown


@cache
def functions() -> dict[str, Table]:
    """Return the table functions that SQL has besides DuckDB's own, with all their columns."""
    return {
        name: Table(name, entry["about"], _columns(entry))
        for name, entry in _described()["functions"].items()
    }


@cache
def allowed_functions() -> frozenset[str]:
    """Return the functions of DuckDB that free SQL may call."""
    return frozenset(sql_folder().joinpath("functions.txt").read_text(encoding="utf-8").split())


@cache
def _described() -> dict[str, dict[str, Any]]:
    text = sql_folder().joinpath("dictionary.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _columns(entry: dict[str, Any]) -> tuple[Column, ...]:
    columns = entry.get("columns", {})
    return tuple(Column(name, *described) for name, described in columns.items())
