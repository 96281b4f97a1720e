"""Where archives lay: one whose disk is away must not be begun anew in the empty mount point."""

import os
from contextlib import suppress
from pathlib import Path

import orjson
import platformdirs

from sjduck.errors import ArchiveUnusable


def check_place(root: Path) -> None:
    """Raise ArchiveUnusable where the disk that an archive was on is not mounted."""
    mount = _noted().get(str(root))
    if mount is not None and not os.path.ismount(mount):
        raise ArchiveUnusable(
            f"the archive {root} lay on a disk at {mount}, where nothing is mounted now; mount it, "
            f"or remove {_file()} to begin a new archive there"
        )


def note_place(root: Path) -> None:
    """Remember on which mount an archive lies; on that of the system itself there is no need."""
    mount = os.path.realpath(root)
    while not os.path.ismount(mount):
        mount = os.path.dirname(mount)
    noted = _noted()
    if mount == os.path.sep or noted.get(str(root)) == mount:
        return
    file = _file()
    aside = file.with_name(f"{file.name}.{os.getpid()}")
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        aside.write_bytes(orjson.dumps({**noted, str(root): mount}))
        os.replace(aside, file)


def _file() -> Path:
    return Path(platformdirs.user_state_dir("sjduck")) / "mounts"


def _noted() -> dict[str, str]:
    with suppress(OSError, orjson.JSONDecodeError):
        noted = orjson.loads(_file().read_bytes())
        if isinstance(noted, dict):
            return {name: mount for name, mount in noted.items() if isinstance(mount, str)}
    return {}
