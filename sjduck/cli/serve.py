"""`sjduck serve`."""

import gc
import os
import signal
import sys

import click

from sjduck.archive import Archive
from sjduck.cli.terminal import narrate
from sjduck.settings import load


@click.command(name="serve")
@click.option("--archive", metavar="DIR", help="The archive's folder.")
@click.option("--tz", metavar="ZONE", help="Zone of days and times, such as Europe/Berlin.")
def serve_command(archive: str | None, tz: str | None) -> None:
    """Serve the archive to a coding agent: MCP over stdin and stdout."""
    settings = load(archive=archive, timezone=tz)
    if sys.stdin.isatty():
        narrate(
            "speaks MCP on stdin and stdout; register it: claude mcp add sjduck -- sjduck serve"
        )
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
    opened = Archive(settings.archive, timezone=settings.timezone, prices=settings.prices)
    try:
        anyio.run(serve, build_server(opened, sources=settings.sources))
    except* BrokenPipeError:
        pass  # the client reads no more
    sys.stderr.flush()
    # A thread that a stopped question left behind must not hold the process.
    os._exit(0)
