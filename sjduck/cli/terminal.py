"""What reaches a terminal: text without control characters, tables that fit, JSON."""

import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

from sjduck.bounds import Answer, compact

_PIPE_WIDTH = 160
_NARROW_WIDTH = 24
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_UNESCAPED = re.compile(r"[\x7f-\x9f]")


def clean(text: str) -> str:
    """Return text that can't steer a terminal: control characters become U+FFFD, CRLF is LF."""
    return _CONTROLS.sub("\ufffd", text.replace("\r\n", "\n"))


def print_json(answer: Any) -> None:
    """Print an answer as one line of JSON."""
    text = _UNESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", compact(answer))
    click.echo(text)


def print_text(text: str) -> None:
    """Print text as it is, less control characters."""
    click.echo(clean(text), nl=not text.endswith("\n"))


def narrate(text: str) -> None:
    """Say something on stderr."""
    click.echo(clean(text), err=True)


def print_table(rows: Iterable[Mapping[str, Any]], columns: Sequence[str], *, wide: str) -> None:
    """Print rows as a table that fits the terminal; the `wide` column takes what is left."""
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells = [{name: _cell(row.get(name)) for name in columns} for row in rows]
    shown = [name for name in columns if any(row[name] for row in cells)]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in shown:
        needed = max(cell_len(text) for text in (name, *(row[name] for row in cells)))
        table.add_column(
            name.replace("_", " "),
            no_wrap=True,
            overflow="ellipsis",
            ratio=1 if name == wide else None,
            width=None if name == wide else min(needed, _NARROW_WIDTH),
            justify="right" if name in _NUMBERS else "left",
        )
    for row in cells:
        table.add_row(*(Text(row[name]) for name in shown))
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _PIPE_WIDTH
    Console(width=width, highlight=False).print(table)


_NUMBERS = {"turns", "size", "lines", "documents", "segments", "generation", "bytes", "lacking"}


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, dict):
        value = ", ".join(f"{name} {count:,}" for name, count in value.items())
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    if isinstance(value, int) and not isinstance(value, bool):
        value = f"{value:,}"
    return " ".join(clean(str(value)).split())


def print_error_answer(answer: Answer) -> int:
    """Print an answer that carries `error`; return the exit code: 0 for a pointer."""
    if "hint" in answer:
        print_text(f"{answer['sid']}: {answer['error']}\n")
        print_table([answer], ("date", "host", "topic", "cwd"), wide="topic")
        narrate(answer["hint"])
        return 0
    narrate(f"sjduck: {answer['error']}" + (f" ({answer['ref']})" if "ref" in answer else ""))
    if candidates := answer.get("candidates"):
        print_table(candidates, ("type", "host", "project", "topic", "session_id"), wide="topic")
    return 1
