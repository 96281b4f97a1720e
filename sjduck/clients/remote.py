"""An archive on another machine: the way there by SSH, what its keys may do, does it answer."""

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from threading import Timer
from typing import Any, NamedTuple

from sjduck import __version__
from sjduck.clients.known import Server
from sjduck.errors import SjduckError, UsageError

GATE = "sjduck gate"
# Asking nobody for a password, and giving up, is better than a client that hangs.
_OPTIONS = ("-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10")
_WAIT_S = 30.0
_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "sjduck install", "version": __version__},
    },
}


class Host(NamedTuple):
    """Where SSH goes by a name, and by which key."""

    user: str
    name: str
    port: str
    key: str | None
    jumps: tuple[str, ...]

    @property
    def address(self) -> str:
        """Name and port, as a forwarding is asked for."""
        return f"[{self.name}]:{self.port}" if ":" in self.name else f"{self.name}:{self.port}"


class Authorized(NamedTuple):
    """A line for the authorized_keys of an account on another machine."""

    user: str
    host: str
    line: str


class Connection(NamedTuple):
    """Whether the server on the other machine answers: its version, or what is wrong."""

    is_up: bool
    said: str


def checked(alias: str) -> str:
    """Return the name of an SSH host; raises UsageError for what ssh would take otherwise."""
    if alias.startswith("-") or not re.fullmatch(r"[\w.@:%\[\]/+-]+", alias):
        raise UsageError(f"can't take remote {alias!r}; give a host of ~/.ssh/config")
    return alias


def server(alias: str) -> Server:
    """Return how a client starts the server on another machine: the key's forced command is it."""
    return Server("ssh", (*_OPTIONS, alias), {})


def authorized(alias: str) -> list[Authorized]:
    """Return the lines that let this machine's key in: at the archive's host, at each on the way.

    Raises SjduckError where there is no ssh.
    """
    goal = _host(alias)
    key = goal.key or "ssh-ed25519 AAAA…"
    lines = [Authorized(goal.user, goal.address, f'command="{GATE}",restrict {key}')]
    hops = [_host(f"ssh://{jump.removeprefix('ssh://')}") for jump in goal.jumps]
    for hop, onward in pairwise([*hops, goal]):
        limits = f'restrict,port-forwarding,permitopen="{onward.address}",command="/bin/false"'
        lines.append(Authorized(hop.user, hop.address, f"{limits} {hop.key or key}"))
    return lines


def connect(alias: str) -> Connection:
    """Return whether the server answers, after half a minute at most."""
    try:
        with tempfile.TemporaryFile() as stderr:
            answer = _greeted(["ssh", *_OPTIONS, alias], stderr)
            stderr.seek(0)
            said = stderr.read().decode("utf-8", "replace").strip().split("\n")[-1]
    except OSError as error:
        return Connection(False, f"can't run ssh: {error.strerror}")
    try:
        info = json.loads(answer)["result"]["serverInfo"]
        return Connection(True, f"{info['name']} {info['version']}")
    except (ValueError, LookupError, TypeError):
        return Connection(False, said.strip() or "no answer")


def _greeted(command: list[str], stderr: Any) -> bytes:
    """Return the first line that a server answers to a greeting."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        timer = Timer(_WAIT_S, process.kill)
        timer.start()
        try:
            process.stdin.write(json.dumps(_HELLO).encode() + b"\n")
            process.stdin.flush()
            return process.stdout.readline(1 << 20)
        except BrokenPipeError:
            return b""
        finally:
            timer.cancel()
            process.kill()


def _host(destination: str) -> Host:
    settings = _ssh_settings(destination)
    jump = settings.get("proxyjump", ["none"])[0]
    return Host(
        user=settings["user"][0],
        name=settings["hostname"][0],
        port=settings["port"][0],
        key=next(_public_keys(settings.get("identityfile", [])), None),
        jumps=() if jump == "none" else tuple(jump.split(",")),
    )


def _ssh_settings(destination: str) -> dict[str, list[str]]:
    try:
        ran = subprocess.run(
            ["ssh", "-G", destination], stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
    except OSError as error:
        raise SjduckError(f"can't run ssh: {error.strerror}; install an SSH client") from error
    settings: dict[str, list[str]] = {}
    for line in ran.stdout.decode("utf-8", "replace").splitlines():
        name, _, value = line.partition(" ")
        settings.setdefault(name, []).append(value)
    if not {"user", "hostname", "port"} <= settings.keys():
        said = ran.stderr.decode("utf-8", "replace").strip().split("\n")[-1]
        raise SjduckError(f"ssh does not know {destination}: {said or 'no answer'}")
    return settings


def _public_keys(identities: list[str]) -> Iterator[str]:
    """Yield the public keys that are there."""
    for identity in identities:
        try:
            text = Path(f"{identity}.pub").expanduser().read_text(encoding="utf-8")
        except (OSError, ValueError, RuntimeError):
            continue
        if text.strip():
            yield text.strip().split("\n")[0]
