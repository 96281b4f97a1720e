"""The shell of `sjduck sql`: statements typed over several lines, with history and completion."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import platformdirs

from sjduck.archive import Archive
from sjduck.cli.sql import print_result, print_schema
from sjduck.cli.terminal import narrate
from sjduck.errors import SjduckError
from sjduck.freesql import LIMIT, running
from sjduck.freesql.setup import Limits
from sjduck.sqlfiles import functions, published

_PROMPT, _MORE = "sjduck> ", "   ...> "
_HISTORY_LINES = 1_000
_HELP = """\
One SELECT, ended with ; – over as many lines as you like. Tab completes names.
.schema [VIEW]   what there is to select from, or the columns of a view
.help            this
.quit            leave; so does Ctrl-D"""
_KEYWORDS = (
    "select", "from", "where", "group", "by", "order", "limit", "offset", "having", "qualify",
    "join", "left", "using", "on", "with", "as", "distinct", "union", "all", "and", "or", "not",
    "in", "is", "null", "like", "ilike", "between", "case", "when", "then", "else", "end",
    "count", "sum", "avg", "min", "max", "desc", "asc", "describe", "summarize", "explain",
    "filter", "over", "partition", "unnest",
)  # fmt: skip


def run_shell(archive: Archive, limits: Limits, read: Callable[[str], str] = input) -> int:
    """Answer the statements that a person types, until they leave; return the exit code."""
    narrate("SQL over the views of the archive; .help says more, .quit leaves")
    with _line_editing():
        for statement in _statements(read):
            try:
                if statement.startswith("."):
                    _command(statement)
                else:
                    _run(archive, statement, limits)
            except SjduckError as error:
                narrate(f"sjduck: {error}")
            except KeyboardInterrupt:
                narrate("stopped")
    return 0


def _run(archive: Archive, statement: str, limits: Limits) -> None:
    with running(archive, statement, limit=LIMIT + 1, limits=limits) as result:
        print_result(result, "table", LIMIT, None)


def _command(command: str) -> None:
    name, _, argument = command.rstrip("; ").partition(" ")
    if name == ".schema":
        print_schema(argument.strip() or None)
    elif name == ".help":
        narrate(_HELP)
    else:
        raise SjduckError(f"no command {name}; .help lists them")


def _statements(read: Callable[[str], str]) -> Iterator[str]:
    """Yield each command, and each statement once its semicolon was typed."""
    typed: list[str] = []
    while True:
        try:
            line = read(_MORE if typed else _PROMPT)
        except EOFError:
            return
        except KeyboardInterrupt:
            typed.clear()
            narrate("")
            continue
        if not typed and line.startswith("."):
            if line.split()[0] in (".quit", ".exit"):
                return
            yield line
        elif line.strip() or typed:
            typed.append(line)
            if line.rstrip().endswith(";"):
                yield "\n".join(typed)
                typed.clear()


@contextmanager
def _line_editing() -> Iterator[None]:
    """Complete names, and remember what was typed, where the system has that."""
    try:
        import readline
    except ImportError:
        yield
        return
    file = Path(platformdirs.user_state_dir("sjduck")) / "sql_history"
    readline.set_history_length(_HISTORY_LINES)
    readline.set_completer(_completion)
    readline.set_completer_delims(" \t\n,;()=<>+-*/'\"")
    is_libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if is_libedit else "tab: complete")
    with suppress(OSError):
        readline.read_history_file(file)
    try:
        yield
    finally:
        with suppress(OSError):
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file.touch(mode=0o600)
            readline.write_history_file(file)


def completions(text: str) -> list[str]:
    """Return the names that begin with what was typed: views, functions, columns, keywords."""
    described = {**published(), **functions()}
    columns = {column.name for table in described.values() for column in table.columns}
    before, dot, start = text.rpartition(".")
    names = columns if dot else {*described, *columns, *_KEYWORDS}
    found = sorted(name for name in names if name.startswith(start.lower()))
    return [before + dot + name for name in found]


def _completion(text: str, state: int) -> str | None:
    found = completions(text)
    return found[state] if state < len(found) else None
