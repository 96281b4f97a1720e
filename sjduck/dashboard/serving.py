"""Serves the app to this machine's browser alone: bound to 127.0.0.1, behind a token."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs, urlsplit

from sjduck.errors import UsageError

ADDRESS = "127.0.0.1"
_OWN_NAMES = (ADDRESS, "localhost")
_HEADERS = {
    # marimo's own pages can fetch from CDNs; nothing here may be fetched from elsewhere.
    "content-security-policy": (
        "default-src 'self' data: blob:; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; "
        "style-src 'self' 'unsafe-inline'; connect-src 'self' data: blob:; frame-ancestors 'none'; "
        "form-action 'self'; base-uri 'self'"
    ),
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class Served:
    """A port of this machine that the app is served on; connections wait until it is.

    `url` lets its holder in as often as wanted, `opening_url` once: command lines, which a
    browser is started with, are seen by everybody on a machine.
    """

    def __init__(self, port: int) -> None:
        self._socket = _listening(port)
        self._token = secrets.token_urlsafe(24)
        self._ticket = secrets.token_urlsafe(24)
        self._origin = f"http://{ADDRESS}:{self._socket.getsockname()[1]}"

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    @property
    def url(self) -> str:
        """The address with its token."""
        return f"{self._origin}/?access_token={self._token}"

    @property
    def opening_url(self) -> str:
        """The address with a ticket that is good for once."""
        return f"{self._origin}/?ticket={self._ticket}"

    def run(self) -> None:
        """Serve until interrupted."""
        import uvicorn

        config = uvicorn.Config(
            self._guarded(application(self._token)),
            log_level="critical",
            access_log=False,
            timeout_graceful_shutdown=1,
        )
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[self._socket])

    def _guarded(self, application: Application) -> Application:
        """Return the application for requests that name this machine, as its own page does."""

        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] not in ("http", "websocket"):
                await application(scope, receive, send)
            elif not is_own(dict(scope["headers"])):
                await _refuse(scope, send)
            elif self._takes(scope):
                await _redirect(send, self.url)
            else:
                await application(scope, receive, _with_headers(send))

        return guarded

    def _takes(self, scope: Scope) -> bool:
        """Tell whether a request brings the ticket; it is of no use afterwards."""
        tickets = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("ticket", [])
        is_good = any(secrets.compare_digest(t.encode(), self._ticket.encode()) for t in tickets)
        if is_good:
            self._ticket = secrets.token_urlsafe(24)
        return is_good


def is_own(headers: dict[bytes, bytes]) -> bool:
    """Tell whether a request names this machine, and comes from no other site's page.

    A site can let its own name point here: what the browser then sends names that site.
    """
    host = headers.get(b"host", b"").decode("latin-1")
    origin = headers.get(b"origin", b"").decode("latin-1")
    with suppress(ValueError):
        return urlsplit(f"//{host}").hostname in _OWN_NAMES and origin in ("", f"http://{host}")
    return False


def _listening(port: int) -> socket.socket:
    """Return a socket that listens; raises UsageError where the port is taken."""
    try:
        return socket.create_server((ADDRESS, port))
    except OSError as error:
        message = f"can't serve on port {port}: {error.strerror}; leave --port out for a free one"
        raise UsageError(message) from error


def application(token: str) -> Application:
    """Return the app; the process moves to its folder."""
    import marimo

    app = files("sjduck.dashboard").joinpath("app.py")
    # marimo takes settings, import paths and variables from files of the working folder, which
    # may be anybody's.
    os.chdir(os.path.dirname(str(app)))
    builder = marimo.create_asgi_app(quiet=True, token=token)
    built: Application = builder.with_app(path="", root=str(app)).build()
    return built


def _with_headers(send: Send) -> Send:
    async def sent(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            own = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
            kept = [pair for pair in message["headers"] if pair[0].decode().lower() not in _HEADERS]
            message["headers"] = [*kept, *own]
        await send(message)

    return sent


async def _refuse(scope: Scope, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
        return
    await send({"type": "http.response.start", "status": 403, "headers": []})
    await send({"type": "http.response.body", "body": b"only for this machine's own browser\n"})


async def _redirect(send: Send, url: str) -> None:
    headers = [(b"location", url.encode()), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
