"""Free SQL: one SELECT of published views, run in a process that can be killed."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from threading import BoundedSemaphore
from time import monotonic
from typing import Any

from sjduck.archive import STOP, Archive, Stop
from sjduck.bounds import (
    MAX_FIELD_CHARACTERS,
    MAX_REPLY_BYTES,
    PAGING_CHARACTERS,
    Answer,
    Budget,
    bound,
    compact,
    lowered_note,
)
from sjduck.errors import SjduckError, UsageError
from sjduck.freesql.children import Child, Children
from sjduck.freesql.setup import Limits, Setup
from sjduck.snapshots import read_snapshot

MAX_CHARS = 12_000
LIMIT = 100
_ATTEMPTS = 3
_UNREADABLE = "a file of the archive can't be read; run 'sjduck doctor'"
STANDARD = Limits()
# Each may take a whole machine's cores, and its memory: more at once would only slow one another.
_AT_ONCE = 3
# How soon a statement that waits for them sees that it is stopped.
_LOOK_SECONDS = 0.2
_children = Children()
_slots = BoundedSemaphore(_AT_ONCE)


@atexit.register
def close() -> None:
    """End the process that is kept for the next statement."""
    _children.close()


@dataclass(frozen=True, slots=True)
class Result:
    """The rows of a statement, as they come: lists of JSON values, or Arrow streams."""

    columns: list[str]
    types: list[str]
    rows: Iterator[Any]


def sql(
    archive: Archive,
    query: str,
    *,
    values: Mapping[str, Any] | None = None,
    limit: int = LIMIT,
    max_chars: int = MAX_CHARS,
    limits: Limits = STANDARD,
) -> Answer:
    """Return the rows of one SELECT from the published views, as lists, with their columns.

    `values` fill its `$name`s. Raises UsageError for a statement that may not run, SjduckError
    for one that takes more than `limits` allow.
    """
    return bounded(partial(running, archive, query, values=values, limits=limits), limit, max_chars)


def bounded(
    asked: Callable[..., AbstractContextManager[Result]], limit: int, max_chars: int
) -> Answer:
    """Return what fits of a statement's rows; `asked` runs it with a limit of its own."""
    cap = bound(max_chars, MAX_CHARS)
    # A row has three characters and a comma at least: more of them can't be shown.
    most = [limit + 1] if limit else []
    most += [min(cap, MAX_REPLY_BYTES) // 4 + 1] if cap else []
    cut = MAX_FIELD_CHARACTERS if cap else None
    with asked(limit=min(most, default=None), cut=cut) as result:
        frame = {"columns": result.columns, "types": result.types}
        return {**frame, **_fitted(frame, result.rows, limit, cap)}


def _fitted(frame: Answer, rows: Iterator[list[Any]], limit: int, max_chars: int) -> Answer:
    """Return as many rows as fit, one at least, and what to do for the rest."""
    budget = Budget(max_chars)
    budget.spend(compact(frame) + " " * PAGING_CHARACTERS)
    shown: list[list[Any]] = []
    said: Answer = {"truncated": False}
    for row in rows:
        is_full = bool(limit) and len(shown) == limit
        fits = not is_full and budget.take(compact(row) + ",")
        if not fits and not shown:
            _check_size(frame, row)
            budget.spend(compact(row) + ",")
        elif not fits:
            more = f"limit={2 * limit}" if is_full else "a larger max_chars, fewer columns"
            said = {"truncated": True, "more": f"there are more rows: {more}, or LIMIT and OFFSET"}
            break
        shown.append(row)
    if budget.was_lowered:
        said["note"] = lowered_note()
    return {"rows": shown, **said}


def _check_size(frame: Answer, row: list[Any]) -> None:
    """Raise UsageError where the first row alone is more than a reply may have."""
    size = len(compact({**frame, "rows": [row]}).encode())
    if size > MAX_REPLY_BYTES:
        raise UsageError(
            f"one row of these {len(row):,} columns takes {size:,} bytes; name fewer columns, or "
            "shorten texts with left()"
        )


@contextmanager
def running(
    archive: Archive,
    query: str,
    *,
    values: Mapping[str, Any] | None = None,
    limit: int | None = None,
    cut: int | None = None,
    as_arrow: bool = False,
    limits: Limits = STANDARD,
) -> Iterator[Result]:
    """Run one statement; its rows can be read until the block ends."""
    request = {
        "query": query.encode("utf-8", "replace").decode(),
        "values": dict(values or {}),
        "limit": limit,
        "cut": cut,
        "as_arrow": as_arrow,
    }
    with _slot(limits), _answering(archive, request, limits) as result:
        yield result


@contextmanager
def _slot(limits: Limits) -> Iterator[None]:
    """Wait until few enough statements run beside this one; raises Stopped where nobody waits."""
    stop = STOP.get() or Stop()
    end = monotonic() + (limits.seconds or inf)
    while not _slots.acquire(timeout=_LOOK_SECONDS):
        stop.check()
        if monotonic() >= end:
            raise SjduckError(
                f"{_AT_ONCE} other statements are running; ask again when they are done"
            )
    try:
        yield
    finally:
        _slots.release()


@contextmanager
def _answering(archive: Archive, request: dict[str, Any], limits: Limits) -> Iterator[Result]:
    """Let a process answer a request; it is kept where it has come to the end."""
    child, head, messages = _begun(archive, request, limits)
    reading = _Reading(messages)
    try:
        with (STOP.get() or Stop()).watch(child):
            yield Result(head["columns"], head["types"], reading.rows())
            if request["limit"] is not None:
                # What is left of a bounded answer is little: the process is used again.
                reading.finish()
    finally:
        _children.keep(child) if reading.has_ended else child.close()


class _Reading:
    """Reads the rows among the messages of a process."""

    def __init__(self, messages: Iterator[Any]) -> None:
        self._messages = messages
        self.has_ended = False

    def rows(self) -> Iterator[Any]:
        """Yield each row, or each Arrow stream."""
        for message in self._messages:
            if isinstance(message, bytes):
                yield message
            elif "rows" in message:
                yield from message["rows"]
            elif "error" in message:
                raise _error(message)
            elif "end" in message:
                self.has_ended = True
            else:
                raise SjduckError(_UNREADABLE)

    def finish(self) -> None:
        """Pass over what is left."""
        for _ in self.rows():
            pass


def _begun(
    archive: Archive, request: dict[str, Any], limits: Limits
) -> tuple[Child, dict[str, Any], Iterator[Any]]:
    """Return a process that has begun to answer, with what comes first and what follows.

    A file that a newer snapshot has replaced makes it start over on that one; a view that takes
    time to make, in a process that makes it first.
    """
    setup = _setup(archive, limits)
    child = _children.take(setup)
    for _ in range(_ATTEMPTS):
        messages = child.ask(request)
        head = _first(child, messages)
        if "columns" in head:
            return child, head, messages
        if "error" in head and not head["is_spent"]:
            _children.keep(child)
        else:
            child.close()
        if "error" in head:
            raise _error(head)
        needs = frozenset(head.get("needs", ()))
        child = Child(replace(_setup(archive, limits), needs=needs))
    child.close()
    raise SjduckError(_UNREADABLE)


def _setup(archive: Archive, limits: Limits) -> Setup:
    snapshot = read_snapshot(archive.root, as_of=archive.as_of)
    return Setup(
        snapshot, archive.timezone, archive.prices, archive.semantic, archive.redact, limits
    )


def _first(child: Child, messages: Iterator[Any]) -> dict[str, Any]:
    """Return what a process answers first; it is closed where it is not to answer."""
    try:
        with (STOP.get() or Stop()).watch(child):
            head: dict[str, Any] = next(messages)
            return head
    except BaseException:
        child.close()
        raise


def _error(message: Mapping[str, Any]) -> SjduckError:
    return (UsageError if message["is_usage"] else SjduckError)(message["error"])
