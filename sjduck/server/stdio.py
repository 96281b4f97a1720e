"""Serve one client over stdin and stdout until it leaves."""

import sys
from types import TracebackType
from typing import Any, Self

import anyio
from mcp import types
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError


async def serve(server: Server[Any]) -> None:
    """Serve until stdin ends.

    While it does, file descriptor 1 is stderr: only the protocol reaches the real stdout, whatever
    a library prints.
    """
    async with stdio_server() as (incoming, outgoing):
        try:
            await server.run(
                _Answering(incoming, outgoing), outgoing, server.create_initialization_options()
            )
        finally:
            # What was printed and waits in the buffer must not follow the protocol.
            sys.stdout.flush()


class _Answering:
    """The messages that come in; what is none is answered with an error instead of silence."""

    def __init__(self, incoming: Any, outgoing: Any) -> None:
        self._incoming = incoming
        self._outgoing = outgoing

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message."""
        while True:
            item: SessionMessage | Exception = await self._incoming.receive()
            if not isinstance(item, ValidationError):
                return item
            error = _error(item)
            if error is not None:
                await self._outgoing.send(SessionMessage(error))

    async def aclose(self) -> None:
        """Stop listening."""
        await self._incoming.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


def _error(invalid: ValidationError) -> types.JSONRPCError | None:
    """Return the answer to a line that is no message; None to an empty one."""
    faults = invalid.errors(include_url=False, include_context=False)
    if faults[0]["type"] == "json_invalid":
        if not str(faults[0]["input"]).strip():
            return None
        error = types.ErrorData(code=types.PARSE_ERROR, message="not JSON")
        return types.JSONRPCError(jsonrpc="2.0", id=None, error=error)
    error = types.ErrorData(code=types.INVALID_REQUEST, message="not a JSON-RPC 2.0 message")
    return types.JSONRPCError(jsonrpc="2.0", id=_id(faults), error=error)


def _id(faults: Any) -> types.RequestId | None:
    """Return the id of a malformed request, so that its sender need not wait for an answer."""
    for fault in faults:
        sent = fault["input"]
        if isinstance(sent, dict) and type(sent.get("id")) in (int, str):
            identifier: types.RequestId = sent["id"]
            return identifier
    return None
