"""Find and read the SQL files: inside the installed package, else beside it in a checkout."""

import tomllib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple


class Column(NamedTuple):
    """One column of a table: its name, its DuckDB type and what it holds."""

    name: str
    type: str
    about: str


class Table(NamedTuple):
    """One table of the archive, as `sql/dictionary.toml` describes it."""

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


def view_names() -> list[str]:
    """Return the names of the published views, in the order of their files' names."""
    folder = sql_folder().joinpath("views")
    return sorted(file.name.removesuffix(".sql") for file in folder.iterdir() if file.is_file())


@cache
def dictionary() -> dict[str, Table]:
    """Return every stored table with its columns, the contract between etl and sql."""
    text = sql_folder().joinpath("dictionary.toml").read_text(encoding="utf-8")
    return {
        name: Table(
            name,
            entry["about"],
            tuple(Column(column, *described) for column, described in entry["columns"].items()),
        )
        for name, entry in tomllib.loads(text).items()
    }
