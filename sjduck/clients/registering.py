"""Registering the archive with a client: which server answers, what was changed, what is to do."""

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sjduck.bounds import Answer
from sjduck.clients.known import NAME, Client, Environment, Server
from sjduck.clients.planning import Done, Plan, carry_out, installing, uninstalling
from sjduck.clients.remote import Authorized, Connection, authorized, checked, connect
from sjduck.clients.remote import server as remote_server
from sjduck.errors import NothingToRead
from sjduck.mounts import folders
from sjduck.settings import Settings
from sjduck.snapshots import writers

# Where the archive and the sources are: a client that is started elsewhere has none of these.
_PATHS = (
    "SJDUCK_ARCHIVE", "SJDUCK_CONFIG", "SCRUBJAY_LOCAL_CHATS", "SCRUBJAY_DATA", "SCRUBJAY_MEMORY",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Registration:
    """The server that a client gets, and where its answers come from."""

    server: Server
    source: str
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was done, or is to be done where it was only asked for."""

    client: Client
    done: Done
    is_done: bool
    registration: Registration | None = None
    authorized: tuple[Authorized, ...] = ()
    connection: Connection | None = None

    @property
    def answer(self) -> Answer:
        """The outcome as JSON has it."""
        answer: Answer = {"client": self.client.name, "is_done": self.is_done}
        if self.registration is not None:
            server = self.registration.server
            answer["server"] = [server.command, *server.arguments]
            answer["answers_from"] = self.registration.source
        answer["changes"] = [_described(change, self.done) for change in self.done.plan.changes]
        answer["left_alone"] = [str(path) for path in self.done.plan.left_alone]
        if self.authorized:
            answer["authorized_keys"] = [line._asdict() for line in self.authorized]
        if self.connection is not None:
            answer["connection"] = self.connection._asdict()
        return answer


def choose(
    settings: Settings, remote: str | None, archive: str | None, environment: Environment
) -> Registration:
    """Return what a client is to be given: the remote that is named, else what this machine has.

    That is its archive, else its sources, else the configured remote; raises NothingToRead where
    there is none of these.
    """
    here = None if remote else _what_is_here(settings)
    if here is not None:
        return Registration(_local_server(archive, environment), here)
    alias = remote or settings.remote
    if not alias:
        raise NothingToRead(
            f"NOT registered: no archive in {settings.archive}, no source and no remote here; "
            "mount the storage, or go to another machine's archive: --remote ALIAS"
        )
    return Registration(remote_server(checked(alias)), f"ssh {alias}", alias)


def install(
    client: Client, registration: Registration, environment: Environment, *, dry_run: bool = False
) -> Outcome:
    """Register with a client; raises SjduckError, and changes nothing, where that can't be done."""
    alias = registration.alias
    lines = tuple(authorized(alias)) if alias else ()

    def planned() -> Plan:
        return installing(client, registration.server, environment)

    if dry_run:
        return Outcome(client, Done(planned(), {}), False, registration, lines)
    done = carry_out(planned)
    return Outcome(client, done, True, registration, lines, connect(alias) if alias else None)


def uninstall(client: Client, environment: Environment, *, dry_run: bool = False) -> Outcome:
    """Take the server out of a client again, with the commands that nobody has edited."""
    if dry_run:
        return Outcome(client, Done(uninstalling(client, environment), {}), False)
    return Outcome(client, carry_out(lambda: uninstalling(client, environment)), True)


def _what_is_here(settings: Settings) -> str | None:
    """Return what this machine can answer from."""
    if folders([settings.archive]) and writers(settings.archive):
        return f"the archive {settings.archive}"
    for source in settings.sources:
        if folders([source.path]) and os.access(source.path, os.R_OK | os.X_OK):
            return f"the source {source.kind} {source.path}"
    return None


def _local_server(archive: str | None, environment: Environment) -> Server:
    flags = ("--archive", _absolute(archive)) if archive else ()
    named = {name: _absolute(value) for name in _PATHS if (value := environment.get(name))}
    if archive:
        named.pop("SJDUCK_ARCHIVE", None)
    if redact := environment.get("SJDUCK_REDACT"):
        named["SJDUCK_REDACT"] = redact
    return Server(_program(), ("serve", *flags), named)


def _program() -> str:
    """Return the path of the command: a client may have another PATH than the shell."""
    called = Path(sys.argv[0])
    if called.stem == NAME and called.is_file():
        return os.path.abspath(called)
    return shutil.which(NAME) or NAME


def _absolute(path: str) -> str:
    return os.path.abspath(os.path.expanduser(path))


def _described(change: Any, done: Done) -> Answer:
    described: Answer = {
        "path": str(change.path),
        "action": "remove" if change.after is None else "write",
    }
    backup = done.backups.get(change.path)
    return {**described, "backup": str(backup)} if backup else described
