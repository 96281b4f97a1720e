"""Time processes and calls: medians and percentiles, peak memory, beside a peer of the same run."""

import json
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any


@dataclass(frozen=True, slots=True)
class Process:
    """What a process took: wall time, the greatest memory of any process of its, what it said."""

    seconds: float
    peak_mb: float
    output: str


@dataclass(frozen=True, slots=True)
class Timed:
    """Many calls, in milliseconds."""

    p50: float
    p95: float
    count: int


def process(command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> Process:
    """Run a command to its end; raises CalledProcessError where it failed."""
    begun = time.perf_counter()
    running = subprocess.Popen(
        [str(part) for part in command], env={**os.environ, **(environment or {})}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert running.stdout is not None
    output = running.stdout.read()
    _, status, usage = os.wait4(running.pid, 0)
    seconds = time.perf_counter() - begun
    running.returncode = os.waitstatus_to_exitcode(status)
    if running.returncode:
        raise subprocess.CalledProcessError(running.returncode, list(command), output[-2000:])
    return Process(seconds, usage.ru_maxrss / 1024, output)


def median_process(
    command: Sequence[str | Path], runs: int, environment: Mapping[str, str] | None = None
) -> float:
    """Return the median seconds of some runs of a command, after one that warms the caches."""
    process(command, environment)
    return median(process(command, environment).seconds for _ in range(runs))


def initialized(command: Sequence[str]) -> float:
    """Return the seconds from the start of an MCP server to its answer to `initialize`."""
    params = {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    }  # fmt: skip
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    begun = time.perf_counter()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(asked).encode() + b"\n")
        server.stdin.flush()
        answer = server.stdout.readline()
        seconds = time.perf_counter() - begun
        server.kill()
    assert b"serverInfo" in answer, answer
    return seconds


def calls(asked: Sequence[Callable[[], Any]], *, rounds: int = 1) -> Timed:
    """Time each call, after one of them was called to warm up."""
    asked[0]()
    taken = []
    for _ in range(rounds):
        for call in asked:
            begun = time.perf_counter()
            call()
            taken.append((time.perf_counter() - begun) * 1000)
    return Timed(
        median(taken), quantiles(taken, n=20)[-1] if len(taken) > 1 else taken[0], len(taken)
    )


def size_of(folder: Path) -> int:
    """Return the bytes of all files below a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
