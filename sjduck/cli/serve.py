"""`sjduck serve`."""

import gc
import os
import signal
import sys
from typing import TYPE_CHECKING

import click

from sjduck.archive import Archive
from sjduck.cli.terminal import narrate
from sjduck.filling import start_watching
from sjduck.settings import load

if TYPE_CHECKING:
    from sjduck.server.tools import Tool


@click.command(name="serve")
@click.option("--archive", metavar="DIR", help="The archive's folder.")
@click.option("--tz", metavar="ZONE", help="Zone of days and times, such as Europe/Berlin.")
@click.option(
    "--allow-writes", is_flag=True, help="Offer the tools that repair, reindex and prune, too."
)
@click.option("--watch", is_flag=True, help="Take in changes as they come, too, while it serves.")
@click.option(
    "--poll",
    "poll_s",
    type=click.FloatRange(min=1),
    metavar="SECONDS",
    help="With --watch: look at the sources so often instead of waiting for events.",
)
def serve_command(
    archive: str | None,
    tz: str | None,
    *,
    allow_writes: bool,
    watch: bool,
    poll_s: float | None,
) -> None:
    """Serve the archive to a coding agent: MCP over stdin and stdout."""
    if poll_s and not watch:
        raise click.UsageError("--poll goes with --watch")
    settings = load(archive=archive, timezone=tz)
    if sys.stdin.isatty():
        narrate("speaks MCP on stdin and stdout; register it: sjduck install claude-code")
    # At once: the thread that waits for the next line would see nothing of an exception.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Importing the protocol makes 80,000 objects that stay: looking for garbage among them again
    # and again costs a tenth of the time until the client has its first answer.
    gc.disable()
    import anyio

    from sjduck.server import build_server
    from sjduck.server.stdio import serve

    gc.freeze()
    gc.enable()
    # Not before: the first answer is not to wait for it.
    watcher = start_watching(settings.archive, poll_s=poll_s) if watch else None
    opened = Archive(
        settings.archive,
        timezone=settings.timezone,
        prices=settings.prices,
        semantic=settings.semantic,
        redact=settings.redact,
    )
    try:
        offered = _with_writing() if allow_writes else None
        anyio.run(serve, build_server(opened, sources=settings.sources, offered=offered))
    except* BrokenPipeError:
        pass  # the client reads no more
    sys.stderr.flush()
    if watcher is not None and watcher.stdin is not None:
        watcher.stdin.close()
    # A thread that a stopped question left behind must not hold the process.
    os._exit(0)


def _with_writing() -> "tuple[Tool, ...]":
    """Return all tools, and those that change an archive."""
    from sjduck.server.tools import all_tools
    from sjduck.server.writing import writing_tools

    return all_tools() + writing_tools()
