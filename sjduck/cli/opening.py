"""Open the archive for a command: the options that every question takes, and the first fill."""

import os
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, NamedTuple, NoReturn

import click

from sjduck.archive import Archive
from sjduck.cli.terminal import narrate
from sjduck.errors import NothingToRead, SjduckError
from sjduck.filling import run_etl
from sjduck.mounts import watch_over
from sjduck.settings import Settings, load


class Opened(NamedTuple):
    """An open archive and the settings it was opened with."""

    archive: Archive
    settings: Settings


def opens_archive(command: Callable[..., int | None]) -> Callable[..., None]:
    """Give a command the options of every question, and call it with an open archive first."""

    @click.option("--archive", metavar="DIR", help="The archive's folder.  [env: SJDUCK_ARCHIVE]")
    @click.option(
        "--as-of",
        metavar="TIME",
        help="Read a past snapshot: a day, an instant, or 30m, 2h, 7d, 1w ago.",
    )
    @click.option("--tz", metavar="ZONE", help="Zone of days and times, such as Europe/Berlin.")
    @click.option("--no-fill", is_flag=True, help="Don't fill an archive that never was.")
    @click.option("--json", "as_json", is_flag=True, help="Print the answer as one line of JSON.")
    @wraps(command)
    def opened(
        *, archive: str | None, as_of: str | None, tz: str | None, no_fill: bool, **options: Any
    ) -> None:
        found = open_archive(archive, as_of=as_of, tz=tz, fill=not no_fill)
        code = command(found, **options)
        if code:
            raise SystemExit(code)

    return opened


def open_archive(archive: str | None, *, as_of: str | None, tz: str | None, fill: bool) -> Opened:
    """Return the archive, filled first where it never was; raises NothingToRead."""
    from sjduck.periods import as_of_moment

    settings = load(archive=archive, timezone=tz)
    moment = as_of_moment(as_of, settings.timezone) if as_of else None
    opened = Archive(
        settings.archive,
        timezone=settings.timezone,
        as_of=moment,
        prices=settings.prices,
        semantic=settings.semantic,
        redact=settings.redact,
    )
    if not opened.is_empty:
        watch_over(settings.archive, partial(_leave, settings))
        return Opened(opened, settings)
    if moment is not None:
        raise SjduckError("no snapshot is that old; 'sjduck snapshots' lists those kept")
    if not fill:
        raise NothingToRead(f"no snapshot in {settings.archive}; run 'sjduck etl' to make one")
    narrate(f"sjduck: no snapshot in {settings.archive} yet; taking in the sessions first")
    code = run_etl(["--archive", str(settings.archive)], stdout_too=False)
    if code:
        raise SystemExit(code)
    opened.close()
    return Opened(opened, settings)


def _leave(settings: Settings, why: str) -> NoReturn:
    """End the process, whose question waits for what does not answer."""
    narrate(
        f"sjduck: the archive {settings.archive} {why}; check that its server and network are up"
    )
    os._exit(1)
