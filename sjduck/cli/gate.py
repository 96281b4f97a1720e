"""`sjduck gate`."""

import os
import sys

import click

from sjduck.archive import Archive
from sjduck.cli.serve import serve_command
from sjduck.cli.terminal import echo, narrate
from sjduck.errors import NothingToRead, SjduckError
from sjduck.gate import Copy, Entry, Fetch, Resolve, copies, entry, parse
from sjduck.settings import REDACT, load


@click.command(name="gate")
@click.option("--archive", metavar="DIR", help="The archive's folder.")
@click.option("--tz", metavar="ZONE", help="Zone of days and times, such as Europe/Berlin.")
@click.pass_context
def gate_command(ctx: click.Context, archive: str | None, tz: str | None) -> None:
    """Answer a client that comes in by SSH: the forced command of its key.

    In authorized_keys: command="sjduck gate",restrict ssh-ed25519 …

    Without a command of the client's it is 'sjduck serve'. 'resolve SID' prints path, lines and
    time of each raw copy of a session; 'fetch PATH' gives a file or folder as a tar. Anything else
    is refused.
    """
    command = os.environ.get("SSH_ORIGINAL_COMMAND")
    if not command:
        ctx.invoke(serve_command, archive=archive, tz=tz)
        return
    asked = parse(command)
    settings = load(archive=archive, timezone=tz)
    opened = Archive(settings.archive, timezone=settings.timezone, redact=settings.redact)
    if opened.is_empty:
        raise NothingToRead(f"no snapshot in {settings.archive}; run 'sjduck etl' to make one")
    match asked:
        case Resolve(session):
            _print_copies(session, copies(opened, session))
        case Fetch(path):
            found = entry(opened, path)
            if settings.redact == REDACT or opened.snapshot.is_masked:
                narrate("sjduck: secrets in this are not masked: files are sent as they are")
            _send(found)


def _print_copies(session: str, found: list[Copy]) -> None:
    if not found:
        narrate(f"sjduck: no raw copy of {session} on this machine")
    for copy in found:
        echo(f"{copy.path}\t{copy.lines}\t{copy.modified_at}")


def _send(found: Entry) -> None:
    try:
        shortened = found.send(sys.stdout.buffer)
        sys.stdout.buffer.flush()
    except BrokenPipeError as error:
        # The client has left; nothing may be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from error
    if shortened:
        raise SjduckError(f"{shortened} files became shorter while they were read; fetch again")
