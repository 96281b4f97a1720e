"""Files of the archive: their modes, and writing one so that it is whole or absent."""

import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path

from sjduck.errors import ArchiveUnusable


@dataclass(frozen=True, slots=True)
class Modes:
    """Modes of new files and folders: the owner's alone, unless the root is its group's."""

    file: int
    folder: int

    @classmethod
    def of(cls, root: Path) -> "Modes":
        """Return the modes that follow the root's group bits."""
        group = stat.S_IMODE(root.stat().st_mode) & 0o070
        if not group:
            return cls(0o600, 0o700)
        return cls(0o600 | (group & 0o060), 0o2700 | group)


def open_root(root: Path) -> Modes:
    """Make the archive's folder where it is missing; raises ArchiveUnusable."""
    try:
        if not root.exists():
            root.mkdir(mode=0o700, parents=True)
        if not root.is_dir():
            raise ArchiveUnusable(f"{root} is not a folder; name a folder as archive")
        modes = Modes.of(root)
        make_folder(root / "manifests", root, modes)
        probe = root / "manifests" / f".probe-{os.getpid()}"
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        raise ArchiveUnusable(
            f"can't write the archive {root}: {error.strerror}; name another with --archive"
        ) from error
    return modes


def make_folder(folder: Path, root: Path, modes: Modes) -> None:
    """Make a folder below the archive's root, and those above it, with the archive's mode."""
    missing = []
    while folder != root and not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for path in reversed(missing):
        with suppress(FileExistsError):
            path.mkdir()
            path.chmod(modes.folder)


def write_whole(path: Path, content: bytes, mode: int) -> None:
    """Write a file aside and rename it to its name."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    _write(aside, content, mode)
    os.replace(aside, path)
    sync_folder(path.parent)


def publish_once(path: Path, content: bytes, mode: int) -> bool:
    """Give `content` the name `path` unless another has it; tell whether it is there now.

    Written aside and linked, so that it appears whole. Where links are unsupported it is
    created exclusively, and readers go by its checksum.
    """
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    _write(aside, content, mode)
    try:
        os.link(aside, path)
    except FileExistsError:
        return path.read_bytes() == content
    except OSError:
        try:
            with path.open("xb") as file:
                os.fchmod(file.fileno(), mode)
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        except FileExistsError:
            return path.read_bytes() == content
    finally:
        aside.unlink(missing_ok=True)
    sync_folder(path.parent)
    return True


def digest_of(path: str) -> str:
    """Return the SHA-256 of a file's content, empty where it can't be read."""
    try:
        with open(path, "rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def seal(file: Path, modes: Modes) -> tuple[int, str]:
    """Make a file that a library wrote durable, in the archive's mode; return size and SHA-256."""
    file.chmod(modes.file)
    with file.open("rb") as written:
        digest = file_digest(written, "sha256").hexdigest()
        os.fsync(written.fileno())
        size = os.fstat(written.fileno()).st_size
    sync_folder(file.parent)
    return size, digest


def sync_folder(folder: Path) -> None:
    """Make a folder's entries durable, where its file system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _write(path: Path, content: bytes, mode: int) -> None:
    with path.open("wb") as file:
        os.fchmod(file.fileno(), mode)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
