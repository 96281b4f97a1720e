"""Calls: each in a worker thread, for a limited time, its failures said in one line."""

import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import anyio
import anyio.to_thread

from sjduck.archive import STOP, Stop
from sjduck.errors import SjduckError

TIME_LIMIT_S = 45.0
# More would only wait for one another: two or three questions keep every core busy.
_AT_ONCE = 16
Result = TypeVar("Result")


class Calls:
    """Runs questions beside the protocol: none blocks it, none lasts longer than the limit."""

    def __init__(self, *, time_limit_s: float) -> None:
        self._time_limit_s = time_limit_s
        self._limiter = anyio.CapacityLimiter(_AT_ONCE)

    async def run(self, question: Callable[[], Result]) -> Result:
        """Return what `question` does; raises SjduckError where it fails or takes too long.

        A question that nobody waits for any more is interrupted, and its thread is left to end.
        """
        stop = Stop()
        token = STOP.set(stop)
        try:
            with anyio.move_on_after(self._time_limit_s):
                return await anyio.to_thread.run_sync(
                    _said, question, abandon_on_cancel=True, limiter=self._limiter
                )
        finally:
            stop.now()
            STOP.reset(token)
        raise SjduckError(
            f"no answer within {self._time_limit_s:g} seconds; narrow it (host, project, since) "
            "or ask again"
        )


def _said(question: Callable[[], Result]) -> Result:
    """Return what `question` does; what it did not foresee is said without any of its text."""
    try:
        return question()
    except SjduckError:
        raise
    except Exception as error:  # noqa: BLE001 - the server lives on, whatever a question meets
        _narrate(error)
        kind = type(error).__name__
        raise SjduckError(f"failed unexpectedly ({kind}); its traceback is on stderr") from None


def _narrate(error: BaseException) -> None:
    """Write a traceback to stderr: places and kinds, since messages may quote a transcript."""
    lines = ["sjduck: a question failed unexpectedly\n"]
    cause: BaseException | None = error
    while cause is not None:
        lines += traceback.format_tb(cause.__traceback__)
        lines.append(f"{type(cause).__name__}\n")
        cause = cause.__cause__ or cause.__context__
    with suppress(OSError, ValueError):  # stderr may be closed
        sys.stderr.write("".join(lines))
