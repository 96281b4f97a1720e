"""What reaches a terminal: text without control characters, tables that fit, JSON."""

import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import click

from sjduck.bounds import Answer, compact

_GAP = "  "
_EIGHTHS = " ▏▎▍▌▋▊▉"
_LEAST_WIDE = 24
_LEAST_NARROW = 6
_NARROW = 24
# Columns that may be cut, and those that may be left out where the terminal is narrow, first
# the one that is missed least. The first of a table, and any other, are always whole.
_CUT = frozenset({"host", "project", "also_on", "cwd", "harness"})
_LEFT_OUT = (
    "cache_write", "input", "output", "also_on", "harness", "published", "type", "cwd", "segments",
    "project", "host",
)  # fmt: skip
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
UNESCAPED = re.compile(r"[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """Return text that can't steer a terminal: control characters become U+FFFD, CRLF is LF."""
    return _CONTROLS.sub("\ufffd", text.replace("\r\n", "\n"))


def print_json(answer: Any) -> None:
    """Print an answer as one line of JSON."""
    echo(UNESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", compact(answer)))


def print_text(text: str) -> None:
    """Print text as it is, less control characters."""
    echo(clean(text), nl=not text.endswith("\n"))


def print_found(text: str, wanted: str) -> None:
    """Print text with what was looked for in bold, where the terminal has that."""
    bold = re.sub(
        re.escape(wanted), lambda m: click.style(m[0], bold=True), clean(text), flags=re.I
    )
    echo(bold)


def echo(text: str, *, nl: bool = True) -> None:
    """Print text that is clean already; ends the process where nobody reads any more."""
    try:
        click.echo(text, nl=nl)
    except BrokenPipeError as error:
        # The reader has seen enough; nothing may be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from error


def money(dollars: float | None) -> str | None:
    """Return an amount of US dollars as a person reads it."""
    return None if dollars is None else f"${dollars:,.2f}"


def counted(count: int, what: str, several: str | None = None) -> str:
    """Return how many of something there are: `1 file`, `2 files`."""
    return f"{count:,} {what if count == 1 else several or what + 's'}"


def narrate(text: str) -> None:
    """Say something on stderr."""
    click.echo(clean(text), err=True)


def print_table(
    rows: Iterable[Mapping[str, Any]],
    columns: Sequence[str],
    *,
    right: Set[str] = frozenset(),
    bars: Sequence[float] = (),
) -> None:
    """Print rows as a table that fits the terminal; the last column takes what is left.

    Numbers, and the columns of `right`, end at the right. `bars`, from 0 to 1, are drawn in the
    last column of the first rows. Where there is no terminal nothing is cut, unless COLUMNS says
    how wide it is.
    """
    rows = list(rows)
    cells = [{name: _cell(row.get(name)) for name in columns} for row in rows]
    for row, share in zip(cells, bars, strict=False):
        row[columns[-1]] = _bar(share, _LEAST_WIDE)
    shown = [name for name in columns if any(row[name] for row in cells)]
    if not shown:
        return
    numbers = {
        name
        for name in shown
        if name in right or all(_is_number(name, row.get(name)) for row in rows)
    }
    titles = {name: name.replace("_", " ") for name in shown}
    widths = _widths([titles, *cells], shown, terminal_width())
    for row, share in zip(cells, bars, strict=False):
        row[columns[-1]] = _bar(share, min(widths[columns[-1]], _LEAST_WIDE))
    echo(styled(_line(titles, widths, numbers)))
    for row in cells:
        echo(_line(row, widths, numbers))


def styled(title: str) -> str:
    """Return a title as it stands out at a terminal."""
    return click.style(title, bold=True)


def _bar(share: float, width: int) -> str:
    eighths = round(share * width * 8)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).strip()


def terminal_width() -> int | None:
    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal():
        return max(shutil.get_terminal_size().columns, 20)
    return None


def _widths(
    rows: Sequence[Mapping[str, str]], columns: Sequence[str], total: int | None
) -> dict[str, int]:
    """Return how wide each column is to be, without those there is no room for."""
    from rich.cells import cell_len

    widths = {name: max(cell_len(row[name]) for row in rows) for name in columns}
    if total is None:
        return widths
    *_, wide = columns
    wanted = min(widths.pop(wide), _LEAST_WIDE)
    others = columns[1:-1]
    for name in _CUT.intersection(others):
        widths[name] = min(widths[name], _NARROW)
    for name in ("", *(name for name in _LEFT_OUT if name in others)):
        widths.pop(name, None)
        room = total - wanted - sum(widths.values()) - len(_GAP) * len(widths)
        widest = {name: widths[name] for name in _CUT.intersection(others) if name in widths}
        while room < 0 and max(widest.values(), default=0) > _LEAST_NARROW:
            name = max(widest, key=lambda name: widest[name])
            widest[name] -= 1
            room += 1
        if room >= 0:
            widths |= widest
            break
    left = total - sum(widths.values()) - len(_GAP) * len(widths)
    return {**widths, wide: left} if left > _LEAST_NARROW else widths


def _line(row: Mapping[str, str], widths: Mapping[str, int], numbers: Set[str]) -> str:
    from rich.cells import cell_len

    cells = []
    for name, width in widths.items():
        text = fitted(row[name], width)
        space = " " * (width - cell_len(text))
        cells.append(space + text if name in numbers else text + space)
    return _GAP.join(cells).rstrip()


def fitted(text: str, width: int) -> str:
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + "…"


def _is_number(name: str, value: Any) -> bool:
    return name == "size" or (isinstance(value, int) and not isinstance(value, bool))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        value = ", ".join(f"{count:,} {name}" for name, count in value.items())
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    if isinstance(value, int):
        value = f"{value:,}"
    return " ".join(clean(str(value)).split())


def print_error_answer(answer: Answer) -> int:
    """Print an answer that carries `error`; return the exit code: 0 for a pointer."""
    if "hint" in answer:
        print_table([answer], ("sid", "date", "host", "cwd", "topic"))
        narrate(f"{answer['error']}: {answer['hint']}")
        return 0
    narrate(f"sjduck: {answer['error']}" + (f" ({answer['ref']})" if "ref" in answer else ""))
    candidates = [{"ref": c["session_id"] or c["path"], **c} for c in answer.get("candidates", ())]
    print_table(candidates, ("ref", "date", "type", "host", "project", "topic"))
    return 1
