"""Messages between a process and its child: JSON, or bytes, each with its length before it."""

from __future__ import annotations

import struct
from typing import Any, BinaryIO

import orjson

_HEAD = struct.Struct(">?Q")


class Ended(Exception):
    """The other side is not there any more."""


def send(stream: BinaryIO, message: Any) -> None:
    """Send one message: bytes as they are, anything else as JSON; raises Ended."""
    is_json = not isinstance(message, bytes)
    body = orjson.dumps(message) if is_json else message
    try:
        stream.write(_HEAD.pack(is_json, len(body)))
        stream.write(body)
        stream.flush()
    except (OSError, ValueError) as error:
        raise Ended from error


def receive(stream: BinaryIO) -> Any:
    """Return the next message; raises Ended where none can come."""
    is_json, size = _HEAD.unpack(_exactly(stream, _HEAD.size))
    body = _exactly(stream, size)
    return orjson.loads(body) if is_json else body


def _exactly(stream: BinaryIO, size: int) -> bytes:
    try:
        body = stream.read(size)
    except (OSError, ValueError) as error:
        raise Ended from error
    if len(body) < size:
        raise Ended
    return body
