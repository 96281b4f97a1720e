"""sjduck: an archive of every agent session on every machine, answered with DuckDB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["Archive", "SjduckError", "open"]

if TYPE_CHECKING:
    from sjduck.api import Archive
    from sjduck.errors import SjduckError


def open(
    archive: str | None = None, *, timezone: str | None = None, as_of: str | None = None
) -> Archive:
    """Open an archive for reading: the one named, else the configured one; fills nothing.

    `as_of` reads a past snapshot (an ISO instant, a day, `2h`). Raises UsageError for a value
    that can't be taken; a never-filled archive opens and is empty.
    """
    from sjduck.api import Archive
    from sjduck.periods import as_of_moment
    from sjduck.settings import load

    settings = load(archive=archive, timezone=timezone)
    moment = as_of_moment(as_of, settings.timezone) if as_of else None
    return Archive(
        settings.archive,
        timezone=settings.timezone,
        as_of=moment,
        prices=settings.prices,
        semantic=settings.semantic,
        redact=settings.redact,
    )


def __getattr__(name: str) -> Any:
    """Import the public names when they are used."""
    if name == "Archive":
        from sjduck.api import Archive

        return Archive
    if name == "SjduckError":
        from sjduck.errors import SjduckError

        return SjduckError
    raise AttributeError(f"module 'sjduck' has no attribute {name!r}")
