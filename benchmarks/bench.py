"""Measure every bar on one tree, beside what a user would otherwise run.

    python -m benchmarks.bench --scale 1000 [--corpus DIR] [--only NAME …] [--no-peers]

Builds (once) a generated tree of so many sessions, or repeats the corpus' sessions under new ids,
fills an archive from it, asks it, and prints a table: figure, bar, and the ratio to the peer in
the same run. What is built lies in `benchmarks/.work`.
"""

import argparse
import json
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from benchmarks import generated, peers, tree
from benchmarks.asking import Asked
from benchmarks.measuring import initialized, median_process, process, size_of
from sjduck import __version__

WORK = Path(__file__).parent / ".work"
_PYTHON = sys.executable
# A peer that takes a minute for a third of a gigabyte is not asked about more than this.
_MOST_FOR_SLOW_PEERS = 1_000_000_000
_SJDUCK = [str(Path(_PYTHON).parent / "sjduck")]


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured thing; `bar` is what it has to hold, in its unit, `peer` what another took."""

    name: str
    value: float
    unit: str
    bar: float | None = None
    is_least: bool = False
    peer: str = ""
    peer_value: float | None = None
    wanted_ratio: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times the peer takes what we take, or gets through less than we do."""
        if not self.peer_value or not self.value:
            return None
        return self.value / self.peer_value if self.is_least else self.peer_value / self.value

    @property
    def holds(self) -> bool | None:
        """Whether the bar holds; None where there is none."""
        held = []
        if self.bar is not None:
            held.append(self.value >= self.bar if self.is_least else self.value <= self.bar)
        if self.wanted_ratio is not None and self.ratio is not None:
            held.append(self.ratio >= self.wanted_ratio)
        return all(held) if held else None


class Bench:
    """One tree, the archive that is filled from it, and what is measured of them."""

    def __init__(self, *, scale: int, corpus: Path | None, has_peers: bool) -> None:
        name = f"corpus-{scale}" if corpus else f"generated-{scale}"
        self.tree = WORK / name
        self.archive = WORK / f"{name}-archive"
        self.has_peers = has_peers
        self.sources = self._built(scale, corpus)
        self.raw = sum(
            size_of(folder / "projects") for folder in self.tree.iterdir() if folder.is_dir()
        ) if not corpus else size_of(self.tree)  # fmt: skip
        self.environment = {
            "HOME": str(WORK / "home"), "SJDUCK_ARCHIVE": str(self.archive),
            "SJDUCK_WRITER": "bench", "CLAUDE_HOST": "bench",
        }  # fmt: skip
        (WORK / "home").mkdir(exist_ok=True)
        os.environ.update(self.environment)

    def _built(self, scale: int, corpus: Path | None) -> list[str]:
        if corpus is None:
            generated.make(self.tree, scale)
            return [f"--source=claude={home}" for _, home in generated.homes(self.tree)]
        if not self.tree.exists():
            tree.repeat(corpus, self.tree, scale * 300 // 1000)
        return [
            f"--source=scrubjay={self.tree}/storage",
            f"--source=scrubjay-logs={self.tree}/data",
        ]

    def start_up(self) -> Iterator[Figure]:
        """What it takes before anything is asked."""
        seconds = median_process([*_SJDUCK, "--help"], 9)
        yield Figure("sjduck --help", seconds * 1000, "ms", bar=150)
        bare = median_process([_PYTHON, "-c", "import mcp"], 5)
        served = median(initialized([*_SJDUCK, "serve"]) for _ in range(5))
        yield Figure(
            "server: start to initialize", served * 1000, "ms", peer="import mcp",
            peer_value=bare * 1000, wanted_ratio=1 / 1.3,
        )  # fmt: skip

    def fill(self) -> Iterator[Figure]:
        """A first fill, and what it leaves on the disk."""
        shutil.rmtree(self.archive, ignore_errors=True)
        took = process([*_SJDUCK, "etl", *self.sources])
        raw = self.raw / 1e6
        yield Figure("first fill", raw / took.seconds, "MB/s", bar=30, is_least=True)
        yield Figure("first fill, peak memory", took.peak_mb, "MB", bar=1500)
        size = size_of(self.archive)
        yield Figure("archive and index", 100 * size / self.raw, "% of raw", bar=20)
        for name, peer, ratio in (
            ("agentsview", peers.agentsview, 66 / 12),
            ("claude-archive-mcp", peers.claude_archive, None),
        ):
            is_too_slow = peer is peers.claude_archive and self.raw > _MOST_FOR_SLOW_PEERS
            found = peer(self.tree) if self.has_peers and not is_too_slow else None
            if found is None:
                continue
            other, other_size = found
            yield Figure(
                f"first fill, beside {name}", took.seconds, "s", peer=name,
                peer_value=other.seconds, wanted_ratio=ratio,
            )  # fmt: skip
            yield Figure(
                f"on disk, beside {name}", size / 1e6, "MB", peer=name, peer_value=other_size / 1e6
            )

    def later_runs(self) -> Iterator[Figure]:
        """A run with nothing new; one after a session of a megabyte has grown."""
        starting = median_process([_PYTHON, "-c", "import etl.pipeline, etl.report"], 5)
        nothing = median_process([*_SJDUCK, "etl", *self.sources], 5) - starting
        files = sum(1 for file in self.tree.rglob("*.jsonl") if "one-home" not in file.parts)
        yield Figure(
            "a run with nothing new", nothing, "s", bar=0.5, note=f"{files:,} files, start-up apart"
        )
        taken = [self._grown(number) - starting for number in range(5)]
        yield Figure("one session of 1 MB grew", median(taken), "s", bar=1.0, note="start-up apart")

    def _grown(self, number: int) -> float:
        """Let the session nearest to a megabyte grow by a prompt; return the seconds of the run."""
        files = [f for f in self.tree.rglob("*.jsonl") if "one-home" not in f.parts]
        file = min(files, key=lambda f: (abs(f.stat().st_size - 1_000_000), f))
        lines = file.read_bytes()
        last = json.loads(next(x for x in reversed(lines.splitlines()) if b'"timestamp"' in x))
        word = f"benchword{time.time_ns():x}"
        line = {
            "type": "user", "message": {"role": "user", "content": f"and {word} {number}"},
            "uuid": f"{time.time_ns():032x}", "sessionId": last.get("sessionId"),
            "cwd": last.get("cwd"), "timestamp": last["timestamp"],
        }  # fmt: skip
        grown = file.with_suffix(".grown")
        grown.write_bytes(lines + json.dumps(line).encode() + b"\n")
        grown.replace(file)
        seconds = process([*_SJDUCK, "etl", *self.sources]).seconds
        assert Asked(self.archive).finds(word), "the run is over, and recall does not find it"
        return seconds

    def questions(self) -> Iterator[Figure]:
        """Warm answers, asked of the archive in one process."""
        asked = Asked(self.archive)
        for name, bar, timed in asked.timings():
            note = f"p50 {timed.p50:.0f} ms of {timed.count}"
            yield Figure(f"{name}, p95", timed.p95, "ms", bar=bar, note=note)
        recalled, grep, parquet = asked.beside_grep(WORK / f"{self.tree.name}-readable")
        for peer, other, ratio in (
            ("ripgrep, a pass a term", grep, 10),
            ("DuckDB over Parquet", parquet, None),
        ):
            if other is not None:
                yield Figure(
                    f"recall, beside {peer}", recalled, "ms", peer=peer, peer_value=other,
                    wanted_ratio=ratio,
                )  # fmt: skip

    def usage(self) -> Iterator[Figure]:
        """Usage by day over everything, beside a program that reads the files each time."""
        asked = Asked(self.archive)
        first, timed = asked.usage()
        yield Figure("usage by day, p95", timed.p95, "ms", bar=100, note=f"p50 {timed.p50:.0f} ms")
        yield Figure("usage, first question of a snapshot", first, "ms")
        other = peers.ccusage(self.tree) if self.has_peers else None
        if other is not None:
            yield Figure(
                "usage by day, beside ccusage", timed.p50, "ms", peer="ccusage",
                peer_value=other.seconds * 1000, wanted_ratio=20,
            )  # fmt: skip

    @property
    def parts(self) -> dict[str, Callable[[], Iterator[Figure]]]:
        """What can be measured, in the order in which it is."""
        return {
            "start": self.start_up, "fill": self.fill, "runs": self.later_runs,
            "questions": self.questions, "usage": self.usage,
        }  # fmt: skip


_HEAD = f"  {'':<42}{'figure':>14}  {'bar':>10}  {'peer':>12}  ratio"


def line(figure: Figure) -> str:
    """Return a figure as a line of the table."""
    sign = {None: " ", True: "✓", False: "✗"}[figure.holds]
    bar = "" if figure.bar is None else f"{'≥' if figure.is_least else '≤'} {figure.bar:g}"
    peer = "" if figure.peer_value is None else f"{figure.peer_value:,.0f}"
    ratio = "" if figure.ratio is None else f"{figure.ratio:.1f}×"
    if figure.wanted_ratio is not None:
        ratio += f" (≥ {figure.wanted_ratio:.2g})"
    value = f"{figure.value:,.2f}" if figure.value < 10 else f"{figure.value:,.0f}"
    return (
        f"{sign} {figure.name:<42}{value + ' ' + figure.unit:>14}  {bar:>10}  {peer:>12}  "
        f"{ratio}  {figure.note}".rstrip()
    )


def main() -> None:
    """Measure what was asked for, print the table and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--scale", type=int, default=1000, help="sessions of the generated tree")
    parser.add_argument("--corpus", type=Path, help="repeat these real sessions instead")
    parser.add_argument("--only", nargs="+", help="start, fill, runs, questions, usage")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--json", type=Path, help="write the figures here too")
    options = parser.parse_args()
    WORK.mkdir(exist_ok=True)
    bench = Bench(
        scale=options.scale,
        corpus=options.corpus,
        has_peers=not options.no_peers and options.corpus is None,
    )
    sys.stderr.write(f"{bench.tree.name}: {bench.raw / 1e6:,.0f} MB\n")
    figures: list[Figure] = []
    print(_HEAD)
    for name, part in bench.parts.items():
        if options.only and name not in options.only:
            continue
        sys.stderr.write(f"measuring: {name}\n")
        for figure in part():
            figures.append(figure)
            print(line(figure), flush=True)
    if options.json:
        about = {
            "tree": bench.tree.name, "raw_bytes": bench.raw, "sjduck": __version__,
            "python": platform.python_version(), "cores": os.cpu_count(),
            "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        }  # fmt: skip
        rows = [{**asdict(f), "ratio": f.ratio, "holds": f.holds} for f in figures]
        options.json.write_text(json.dumps({**about, "figures": rows}, indent=1))


if __name__ == "__main__":
    main()
