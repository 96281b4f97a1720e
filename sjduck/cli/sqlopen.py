"""`sjduck sql --open`: the views in another program's own shell."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from sjduck.archive import Archive, View
from sjduck.errors import SjduckError
from sjduck.sqlfiles import published
from sjduck.views import publish

# Program → how it opens a database that it can't change.
_PROGRAMS = {"harlequin": ("-r",), "duckdb": ("-readonly",)}


def open_program(archive: Archive) -> int:
    """Open the first program that is there on a database with the views; return its exit code.

    The database is removed afterwards. Raises SjduckError where there is no program.
    """
    program = next((name for name in _PROGRAMS if shutil.which(name)), None)
    if program is None:
        raise SjduckError(
            "neither harlequin nor duckdb is there; pip install harlequin, or leave out --open "
            "for the shell of sjduck itself"
        )
    with tempfile.TemporaryDirectory(prefix="sjduck-") as folder:
        file = Path(folder) / "archive.duckdb"
        archive.ask(lambda view: _write_views(view, file))
        archive.close()
        return subprocess.run([program, *_PROGRAMS[program], str(file)], check=False).returncode


def _write_views(view: View, file: Path) -> None:
    """Write a database whose views read the archive's files."""
    if view.redaction.is_masking:
        raise SjduckError("redact is on, and another program would not mask; leave out --open")
    publish(view, published().keys())
    place = str(file).replace("'", "''")
    view.connection.execute(f"attach '{place}' as handed_over")
    view.connection.execute("copy from database memory to handed_over")
    view.connection.execute("detach handed_over")
