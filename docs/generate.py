"""Write the pages that come from the code: `python docs/generate.py`.

`docs/cli.md` is what each command's `--help` says, `docs/data-dictionary.md` what
`sql/dictionary.toml` says. A test fails where they are stale.
"""

from collections.abc import Iterator
from pathlib import Path

import click

from etl.command import command as etl_command
from sjduck.cli import cli
from sjduck.sqlfiles import Table, dictionary, functions, published

_WIDTH = 80
_HELP = ["-h", "--help"]


def cli_page() -> str:
    """Return `docs/cli.md`."""
    group = click.Context(cli, None, "sjduck", terminal_width=_WIDTH, help_option_names=_HELP)
    parts = ["# Commands\n", "Written from `--help` by `docs/generate.py`.\n", _help(group)]
    for name in cli.list_commands(group):
        command = etl_command if name == "etl" else cli.get_command(group, name)
        assert command is not None
        context = click.Context(command, group, name, terminal_width=_WIDTH)
        parts += [f"## sjduck {name}\n", _help(context)]
        for below in command.commands.values() if isinstance(command, click.Group) else ():
            inner = click.Context(below, context, below.name, terminal_width=_WIDTH)
            parts += [f"### sjduck {name} {below.name}\n", _help(inner)]
    return "\n".join(parts)


def dictionary_page() -> str:
    """Return `docs/data-dictionary.md`."""
    intro = (
        "# Data dictionary\n\n"
        "Written from `sql/dictionary.toml` by `docs/generate.py`.\n\n"
        "Instants are UTC and end in `_at`; a unit stands in the column's name. `document` joins "
        "the tables.\n\n"
        "## What questions see\n\n"
        "The relations of a snapshot: without dead rows, of several copies the one that is read.\n"
    )
    macros = (
        "## Table functions\n\n`from recall('…')` in SQL, beside DuckDB's own; their columns.\n"
    )
    stored = (
        "## What is stored\n\n"
        "The Parquet files: each row as its own source file says it, copies and all.\n"
    )
    views = [part for table in published().values() for part in _table(table)]
    tables = [part for table in dictionary().values() for part in _table(table)]
    called = [part for table in functions().values() for part in _table(table)]
    return "\n".join([intro, *views, macros, *called, stored, *tables])


def _help(context: click.Context) -> str:
    return f"```text\n{context.get_help()}\n```\n"


def _table(table: Table) -> Iterator[str]:
    yield f"### {table.name}\n"
    yield f"{table.about}\n"
    yield "| column | type | |"
    yield "|---|---|---|"
    for column in table.columns:
        yield f"| `{column.name}` | {column.type} | {column.about} |"
    yield ""


PAGES = {"cli.md": cli_page, "data-dictionary.md": dictionary_page}

if __name__ == "__main__":
    for name, page in PAGES.items():
        Path(__file__).with_name(name).write_text(page(), encoding="utf-8")
