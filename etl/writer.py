"""This installation's identity as a writer, made once."""

import os
import uuid
from pathlib import Path

import platformdirs

from sjduck.errors import SjduckError, UsageError

_VARIABLE = "SJDUCK_WRITER"


def writer_id() -> str:
    """Return the stable id of this installation; made at the first run."""
    if named := os.environ.get(_VARIABLE):
        if not (named.isascii() and named.replace("-", "").isalnum()):
            raise UsageError(f"{_VARIABLE} may hold letters, digits and dashes, not {named!r}")
        return named
    file = Path(platformdirs.user_state_dir("sjduck")) / "writer"
    try:
        return file.read_text().strip() or _make(file)
    except FileNotFoundError:
        return _make(file)
    except OSError as error:
        raise SjduckError(f"can't read {file}: {error.strerror}; set {_VARIABLE}") from error


def _make(file: Path) -> str:
    made = uuid.uuid4().hex[:12]
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        aside = file.with_name(f"writer.{os.getpid()}")
        aside.write_text(made + "\n")
        try:
            os.link(aside, file)
        except FileExistsError:
            made = file.read_text().strip() or made
        finally:
            aside.unlink()
    except OSError as error:
        raise SjduckError(f"can't write {file}: {error.strerror}; set {_VARIABLE}") from error
    return made
