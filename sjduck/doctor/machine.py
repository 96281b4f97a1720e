"""Whether this machine is fit: the disk, the versions that belong together, the extension."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from sjduck.doctor.findings import Finding
from sjduck.errors import SjduckError
from sjduck.fulltext import load_extension
from sjduck.mounts import silent

_LEAST_BYTES = 256 * 1024**2
_FEW_BYTES = 2 * 1024**3
_FEW_FILES = 1_000
_PINNED = re.compile(r"^(?P<name>duckdb[a-z-]*)==(?P<version>[\w.]+)$")


def machine_findings(archive: Path) -> list[Finding]:
    """Return what this machine lacks."""
    return [*_of_disk(archive), *_of_versions(), *_of_extension()]


def _of_disk(archive: Path) -> Iterator[Finding]:
    place = archive
    if silent([place]):
        return
    while not place.exists() and place != place.parent:
        place = place.parent
    with suppress(OSError):
        free = shutil.disk_usage(place).free
        if free < _FEW_BYTES:
            yield Finding(
                "serious" if free < _LEAST_BYTES else "warning",
                f"{free / 1e6:,.0f} MB are left on the archive's disk",
                str(place),
                "make room: 'sjduck vacuum --drop-history' frees what older snapshots hold",
            )
        files = os.statvfs(place)
        if files.f_files and files.f_favail < _FEW_FILES:
            what = f"{files.f_favail:,} more files fit on the archive's disk"
            yield Finding("serious", what, str(place), "make room")


def _of_versions() -> Iterator[Finding]:
    """Compare what is installed with what this version was made for."""
    try:
        wanted = requires("sjduck") or []
    except PackageNotFoundError:
        return
    for requirement in wanted:
        if match := _PINNED.match(requirement.split(";")[0].strip()):
            name, pinned = match["name"], match["version"]
            try:
                found = version(name)
            except PackageNotFoundError:
                found = "none"
            if found != pinned:
                yield Finding(
                    "warning",
                    f"{name} {found} is installed, sjduck is made for {pinned}",
                    "this environment",
                    f"run 'pip install {name}=={pinned}' in it",
                )


def _of_extension() -> Iterator[Finding]:
    import duckdb

    try:
        with duckdb.connect() as connection:
            load_extension(connection)
    except (SjduckError, duckdb.Error) as error:
        reason = str(error).split("\n", 1)[0]
        yield Finding(
            "serious",
            f"the search extension can't be loaded: {reason}",
            "this environment",
            "install duckdb and duckdb-extension-fts of one version",
        )
