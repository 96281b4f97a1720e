"""Real ssh servers on the loopback, each with one account: ours, and keys of its own."""

import getpass
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

PATIENCE_S = 20.0
# Debian keeps it where only root looks.
SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


class Servers:
    """Some servers, and one client that knows them by their names."""

    def __init__(self, folder: Path) -> None:
        if SSHD is None or shutil.which("ssh") is None:
            pytest.skip("no sshd here; install openssh-server")
        if os.geteuid() == 0:
            # sshd does not start as root without this one; a service's start makes it.
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        self._folder = folder
        self._folder.mkdir(mode=0o700)
        self._running: list[subprocess.Popen[bytes]] = []
        self.ports: dict[str, int] = {}
        self.key = self._new_key("id_client")
        self.config = folder / "ssh_config"
        self.config.write_text(
            f"UserKnownHostsFile {folder}/known_hosts\nStrictHostKeyChecking accept-new\n"
            f"IdentityFile {self.key}\nIdentitiesOnly yes\nLogLevel ERROR\n"
        )

    @property
    def public_key(self) -> str:
        """The client's public key, as a line of authorized_keys ends."""
        return self.key.with_suffix(".pub").read_text().strip()

    def start(self, name: str, options: str) -> None:
        """Start a server whose only key has these options."""
        port = _free_port()
        self.ports[name] = port
        host_key = self._new_key(f"host_{name}")
        keys = self.authorize(name, f"{options} {self.public_key}")
        config = self._folder / f"{name}.conf"
        config.write_text(
            f"ListenAddress 127.0.0.1:{port}\nHostKey {host_key}\nPidFile none\n"
            f"AuthorizedKeysFile {keys}\nAuthenticationMethods publickey\nUsePAM no\n"
            # The folders above a test's are anybody's to write.
            "StrictModes no\nPermitRootLogin yes\nLogLevel VERBOSE\n"
        )
        with (self._folder / f"{name}.log").open("wb") as log:
            command = [SSHD or "sshd", "-D", "-e", "-f", str(config)]
            self._running.append(
                subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            )
        self.know(name, name)
        self._wait_for(name)

    def authorize(self, name: str, line: str) -> Path:
        """Let in the key of one line, and no other; return the file that says so."""
        keys = self._folder / f"{name}.keys"
        keys.write_text(f"{line}\n")
        return keys

    def know(self, name: str, server: str, *, jump: str | None = None) -> None:
        """Give a server a name at the client, which goes there by way of `jump`."""
        way = f"ProxyJump {jump}\n" if jump else ""
        with self.config.open("a") as known:
            known.write(
                f"Host {name}\nHostName 127.0.0.1\nPort {self.ports[server]}\n"
                f"User {getpass.getuser()}\n{way}"
            )

    def log(self, name: str) -> str:
        """Return what a server said."""
        return (self._folder / f"{name}.log").read_text()

    def client(self, *arguments: str) -> list[str]:
        """Return the command of the client."""
        return ["ssh", "-F", str(self.config), "-T", "-o", "BatchMode=yes", *arguments]

    def run(self, *arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """Run the client to its end."""
        return subprocess.run(
            self.client(*arguments), input=given, capture_output=True, check=False, timeout=60
        )

    def stop(self) -> None:
        """Stop them all."""
        for server in self._running:
            server.terminate()
            server.wait()

    def _new_key(self, name: str) -> Path:
        key = self._folder / name
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", str(key)]
        subprocess.run(command, check=True)
        return key

    def _wait_for(self, name: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            assert self._running[-1].poll() is None, self.log(name)
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.ports[name])) == 0:
                    return
            time.sleep(0.02)
        raise AssertionError(self.log(name))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
