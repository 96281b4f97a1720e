"""`sjduck sql`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any

import click

from sjduck.cli.opening import Opened, opens_archive
from sjduck.cli.sqlformats import FORMATS, SUFFIXES, lines, write_parquet
from sjduck.cli.terminal import counted, echo, narrate, print_json, print_table
from sjduck.errors import SjduckError, UsageError
from sjduck.freesql import LIMIT, MAX_CHARS, Result, bounded, running
from sjduck.freesql.setup import MEMORY_MB, SECONDS, Limits
from sjduck.sqlfiles import functions, published

_ALL = "all"
_QUERY = (
    "QUERY: one SELECT of the views that --schema lists, in DuckDB's SQL; - or nothing reads it "
    "from stdin, nothing at a terminal opens a shell."
)


@click.command(name="sql", epilog=_QUERY)
@click.argument("query", required=False)
@click.option(
    "-f",
    "--file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Read the statement from a file.",
)
@click.option(
    "-p",
    "--param",
    "params",
    multiple=True,
    metavar="NAME=VALUE",
    help="Value of $NAME, as a text; may be repeated.",
)
@click.option("--format", "format_", type=click.Choice(FORMATS), help="[default: as -o, or table]")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to a file; its suffix tells the format.",
)
@click.option(
    "--limit",
    type=click.IntRange(0),
    metavar="N",
    help=f"Rows; 0: all.  [default: {LIMIT}; in csv, json, ndjson, parquet and files: all]",
)
@click.option(
    "--max-chars",
    type=click.IntRange(0),
    default=MAX_CHARS,
    metavar="N",
    help="Bound under --json; 0: none.",
)
@click.option(
    "--seconds",
    type=click.IntRange(0),
    default=int(SECONDS),
    show_default=True,
    metavar="N",
    help="How long it may take; 0: any time.",
)
@click.option(
    "--memory",
    type=click.IntRange(64),
    default=MEMORY_MB,
    show_default=True,
    metavar="MB",
    help="What it may take besides the archive's own tables.",
)
@click.option(
    "--schema",
    is_flag=False,
    flag_value=_ALL,
    metavar="[VIEW]",
    help="List the views and functions, or the columns of one.",
)
@click.option("--open", "program", is_flag=True, help="Open harlequin or the DuckDB CLI.")
@opens_archive
def sql_command(
    opened: Opened,
    *,
    query: str | None,
    file: Path | None,
    params: tuple[str, ...],
    format_: str | None,
    output: Path | None,
    limit: int | None,
    max_chars: int,
    seconds: int,
    memory: int,
    schema: str | None,
    program: bool,
    as_json: bool,
) -> int | None:
    """Ask your own question in SQL, of published views; nothing else can be read or changed."""
    if schema:
        print_schema(None if schema == _ALL else schema, as_json=as_json)
        return None
    if program:
        from sjduck.cli.sqlopen import open_program

        return open_program(opened.archive)
    limits = Limits(float(seconds), memory)
    statement = _statement(query, file)
    if statement is None:
        from sjduck.cli.sqlshell import run_shell

        return run_shell(opened.archive, limits)
    asked = partial(
        running, opened.archive, statement, values=dict(map(_value, params)), limits=limits
    )
    if not as_json:
        _answer(asked, format_ or _format_of(output), output, limit)
        return None
    if format_ or output:
        raise UsageError("give --json, or --format and -o, not both")
    print_json(bounded(asked, LIMIT if limit is None else limit, max_chars))
    return None


def _answer(
    asked: Callable[..., AbstractContextManager[Result]],
    format_: str,
    output: Path | None,
    limit: int | None,
) -> None:
    """Print what a statement answers in a format, or write it to a file."""
    if limit is None:
        limit = 0 if output or format_ not in ("table", "markdown") else LIMIT
    is_parquet = format_ == "parquet"
    # One row more tells whether there are more; a file of Parquet has nobody to tell it.
    most = limit + (not is_parquet) if limit else None
    with _target(output, format_) as target, asked(limit=most, as_arrow=is_parquet) as result:
        if is_parquet:
            write_parquet(result, target or sys.stdout.buffer)
        else:
            print_result(result, format_, limit, target)


def print_result(result: Result, format_: str, limit: int, target: IO[bytes] | None) -> None:
    """Print what a statement answers, or write it to a file; say how many rows there are."""
    rows = _Counted(result.rows, limit)
    for text in lines(replace(result, rows=iter(rows)), format_, plainly=target is not None):
        if target is None:
            echo(text, nl=False)
        else:
            target.write(text.encode("utf-8", "replace"))
    more = "; there are more: --limit 0" if rows.is_more else ""
    if format_ == "table" or more:
        narrate(f"{counted(rows.shown, 'row')}{more}")


class _Counted:
    """Rows up to a limit (0: all of them): how many, and whether there are more."""

    def __init__(self, rows: Iterator[Any], limit: int) -> None:
        self._rows = rows
        self._limit = limit
        self.shown = 0
        self.is_more = False

    def __iter__(self) -> Iterator[Any]:
        for row in islice(self._rows, self._limit or None):
            self.shown += 1
            yield row
        self.is_more = next(self._rows, None) is not None


def _statement(query: str | None, file: Path | None) -> str | None:
    """Return the statement that was given; None where a person is to type it."""
    if query and query != "-":
        if file:
            raise UsageError("give a QUERY or a --file, not both")
        return query
    if file:
        try:
            return file.read_text(encoding="utf-8-sig", errors="replace")
        except OSError as error:
            raise SjduckError(f"can't read {file}: {error.strerror}") from error
    if query is None and sys.stdin.isatty():
        return None
    return sys.stdin.buffer.read().decode("utf-8-sig", "replace")


def _value(param: str) -> tuple[str, str]:
    name, is_given, value = param.partition("=")
    if not is_given or not name:
        raise UsageError(f"can't take --param {param!r}; write NAME=VALUE")
    return name.removeprefix("$"), value


def _format_of(output: Path | None) -> str:
    if output is None:
        return "table"
    if output.suffix.lower() not in SUFFIXES:
        known = ", ".join(SUFFIXES)
        raise UsageError(f"can't tell the format of {output}; end it in {known}, or give --format")
    return SUFFIXES[output.suffix.lower()]


@contextmanager
def _target(output: Path | None, format_: str) -> Iterator[IO[bytes] | None]:
    """Give the file to write to, which is there when it is whole; None: stdout."""
    if output is None:
        if format_ == "parquet" and sys.stdout.isatty():
            raise UsageError("Parquet is nothing for a terminal; name a file with -o")
        yield None
        return
    aside = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        with aside.open("xb") as file:
            yield file
        os.replace(aside, output)
    except OSError as error:
        raise SjduckError(f"can't write {output}: {error.strerror or error}") from error
    finally:
        aside.unlink(missing_ok=True)


def print_schema(name: str | None, *, as_json: bool = False) -> None:
    """List what there is to select from, or the columns of one of it."""
    described = {**published(), **functions()}
    if name is None:
        rows = [{"name": table.name, "about": table.about} for table in described.values()]
    elif table := described.get(name.lower()):
        rows = [column._asdict() for column in table.columns]
    else:
        raise UsageError(f"no view {name!r}; there are: {', '.join(described)}")
    if as_json:
        print_json(rows)
    else:
        print_table(rows, ("name", "type", "about"))
