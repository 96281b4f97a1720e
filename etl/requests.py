"""Requests: what sjduck asks of the etl beside runs; one JSON object in, one out.

`python -m etl --request` reads the request from stdin: `do` says what, `archive` where, the rest
are the arguments. The answer, or why there is none, goes to stdout.
"""

import sys
from collections.abc import Callable
from datetime import datetime
from typing import Any

import orjson

from etl.command import RunProgress
from etl.prune import forget, prune
from etl.repair import repair
from etl.report import Progress
from etl.selection import Filters
from etl.vacuum import vacuum
from etl.writer import writer_id
from sjduck.errors import SjduckError
from sjduck.settings import Settings, load

Answer = dict[str, Any]


def main() -> int:
    """Do the request on stdin; return the exit code, which the answer says, too, on a failure."""
    request = orjson.loads(sys.stdin.buffer.read())
    try:
        do = _REQUESTS[request.pop("do")]
        settings = load(archive=request.pop("archive"), timezone=request.pop("tz", None))
        with RunProgress(quiet=request.pop("is_quiet", False)) as progress:
            answer = do(settings, progress, **request)
    except SjduckError as error:
        answer = {"failed": str(error), "exit_code": error.exit_code}
    sys.stdout.buffer.write(orjson.dumps(answer))
    return int(answer.get("exit_code", 0))


def _prune(
    settings: Settings,
    progress: Progress,
    *,
    is_dry: bool,
    before_at: str | None = None,
    sids: tuple[str, ...] = (),
    **filters: Any,
) -> Answer:
    before = datetime.fromisoformat(before_at) if before_at else None
    chosen = Filters(before_at=before, sids=tuple(sids), **filters)
    return prune(settings, writer_id(), progress, chosen, is_dry=is_dry)


def _forget(settings: Settings, progress: Progress, **options: Any) -> Answer:
    return forget(settings, writer_id(), progress, **options)


def _vacuum(settings: Settings, progress: Progress, *, drop_history: bool = False) -> Answer:
    return vacuum(settings, writer_id(), progress, drop_history=drop_history)


def _repair(settings: Settings, progress: Progress) -> Answer:
    return repair(settings, writer_id(), progress)


_REQUESTS: dict[str, Callable[..., Answer]] = {
    "prune": _prune,
    "forget": _forget,
    "vacuum": _vacuum,
    "repair": _repair,
}
