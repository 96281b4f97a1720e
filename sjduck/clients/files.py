"""Files of other programs as sjduck changes them: shown first, whole or not at all, a copy kept."""

import difflib
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import StringIO
from itertools import count
from pathlib import Path

from sjduck.errors import SjduckError

_PRIVATE = 0o600
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL


class ChangedMeanwhile(Exception):
    """Somebody else wrote a file between our reading and our writing."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a file holds, and what it is to hold; None is no file."""

    path: Path
    before: bytes | None
    after: bytes | None
    keeps_backup: bool = False

    @property
    def diff(self) -> str:
        """The change as a unified diff."""
        before, after = (
            "/dev/null" if content is None else str(self.path)
            for content in (self.before, self.after)
        )
        lines = difflib.unified_diff(_lines(self.before), _lines(self.after), before, after)
        return "".join(line if line.endswith("\n") else line + "\n" for line in lines)

    def apply(self) -> Path | None:
        """Make the change; return the copy that was kept of what was there.

        A link is followed, modes stay. Raises ChangedMeanwhile where the file is not the one
        that was read any more.
        """
        real = Path(os.path.realpath(self.path))
        try:
            if content(real) != self.before:
                raise ChangedMeanwhile(self.path)
            if self.after is None:
                os.unlink(self.path)
                if self.path.name == "SKILL.md":
                    with suppress(OSError):
                        self.path.parent.rmdir()
                return None
            real.parent.mkdir(parents=True, exist_ok=True)
            backup = _keep(real, self.before) if self.before and self.keeps_backup else None
            _replace(real, self.after, like=real if self.before is not None else None)
        except OSError as error:
            raise SjduckError(f"can't write {self.path}: {error.strerror}") from error
        return backup


def content(path: Path) -> bytes | None:
    """Return what a file holds, None where there is none; raises SjduckError."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise SjduckError(f"can't read {path}: {error.strerror}") from error


def _keep(real: Path, before: bytes) -> Path:
    for backup in _backup_names(real):
        with suppress(FileExistsError):
            with open(
                os.open(backup, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE), "wb"
            ) as file:
                _take_after(file.fileno(), real)
                file.write(before)
            return backup
    raise AssertionError("unreachable")


def _backup_names(real: Path) -> Iterator[Path]:
    yield real.with_name(f"{real.name}.before-sjduck")
    for number in count(2):
        yield real.with_name(f"{real.name}.before-sjduck-{number}")


def _replace(real: Path, after: bytes, *, like: Path | None) -> None:
    """Put a file in place, whole or not at all."""
    descriptor, name = tempfile.mkstemp(prefix=f".{real.name}.", dir=real.parent)
    try:
        with open(descriptor, "wb") as file:
            if like is not None:
                _take_after(file.fileno(), like)
            file.write(after)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, real)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _take_after(descriptor: int, file: Path) -> None:
    """Give an open file the mode and, where that is allowed, the owner of another."""
    status = file.stat()
    if hasattr(os, "fchown"):
        with suppress(OSError):
            os.fchown(descriptor, status.st_uid, status.st_gid)
        os.fchmod(descriptor, status.st_mode & 0o7777)


def _lines(content: bytes | None) -> list[str]:
    text = (content or b"").decode("utf-8", "replace")
    return list(StringIO(text, newline="\n"))
