"""How long does a question by meaning take over so many passages?

    python benchmarks/semantic_speed.py WORK PASSAGES [MODEL]

Fills an archive in the folder WORK with sessions of PASSAGES short messages, and gives each a
vector of noise: what a question costs does not depend on what vectors say. Prints p50 and p95 of
warm questions by words, meaning and both, the first one's time, and how much memory they took.
MODEL is the folder of the model, else the fetched one.
"""

import json
import random
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid5

import numpy as np
import pyarrow as pa

from etl import manifests
from etl.command import RunProgress
from etl.pipeline import run, writing
from etl.vectors import folder_of_vectors, said_contents, write_vectors
from sjduck.archive import Archive
from sjduck.recall import recall
from sjduck.search import search
from sjduck.semantic.place import model_id, open_model
from sjduck.settings import Semantic, Settings, load
from sjduck.snapshots import newest_manifest, utc_now

_WRITER = "benchmark"
_A_SESSION = 200
_WORDS = 4_000
_ASKED = 40


def main() -> None:
    """Print a table."""
    work, passages = Path(sys.argv[1]).resolve(), int(sys.argv[2])
    path = Path(sys.argv[3]).resolve() if len(sys.argv) > 3 else None
    # Far more passes than would of real vectors: noise is near to nothing.
    semantic = Semantic(path=path, least_cosine=0.1)
    settings = load(archive=str(work / "archive"), sources=[f"claude={_sessions(work, passages)}"])
    with RunProgress(quiet=False) as progress:
        run(settings, _WRITER, progress)
        _give_vectors(replace(settings, semantic=semantic), progress)
    archive = Archive(settings.archive, timezone="UTC", semantic=semantic)
    open_model(semantic).embed(["warm"])
    before = _memory_mb()
    words: Callable[[], str] = lambda: " ".join(random.choices(_lexicon(), k=6))  # noqa: E731
    print(f"{'':16}{'first ms':>10}{'p50 ms':>10}{'p95 ms':>10}{'MB':>8}")
    for ask in (recall, search):
        for mode in ("words", "meaning", "hybrid"):
            first, *times = [_seconds(ask, archive, words(), mode) for _ in range(_ASKED)]
            p95 = statistics.quantiles(times, n=20)[-1]
            figures = (first, statistics.median(times), p95)
            row = "".join(f"{1000 * figure:10.0f}" for figure in figures)
            print(f"{ask.__name__} {mode:9}{row}{_memory_mb() - before:8.0f}", flush=True)


def _seconds(ask: Any, archive: Archive, query: str, mode: str) -> float:
    started = time.perf_counter()
    ask(archive, query, mode=mode)
    return time.perf_counter() - started


def _memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _lexicon() -> list[str]:
    chance = random.Random(5)
    return ["".join(chance.choices("aeioubdfgklmnprst", k=7)) for _ in range(_WORDS)]


def _sessions(work: Path, passages: int) -> Path:
    """Write the sessions where they are not there yet; return their home."""
    home = work / "sessions"
    chance, lexicon = random.Random(7), _lexicon()
    for number in range(-(-passages // _A_SESSION)):
        session = str(uuid5(NAMESPACE_OID, f"speed {number}"))
        file = home / "projects" / f"-home-ann-{number % 50}" / f"{session}.jsonl"
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            lines = _lines(session, number, chance, lexicon)
            file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return home


def _lines(
    session: str, number: int, chance: random.Random, lexicon: list[str]
) -> Iterator[dict[str, Any]]:
    for place in range(_A_SESSION):
        role = ("user", "assistant")[place % 2]
        text = " ".join(chance.choices(lexicon, k=14))
        yield {
            "sessionId": session,
            "cwd": f"/home/ann/{number % 50}",
            "type": role,
            "uuid": f"{session}-{place}",
            "timestamp": f"2026-{number % 12 + 1:02d}-01T10:{place % 60:02d}:00.000Z",
            "message": {"role": role, "content": f"{text} {number} {place}"},
        }


def _give_vectors(settings: Settings, progress: RunProgress) -> None:
    """Publish a vector of noise for every passage, unless there are some."""
    before = newest_manifest(settings.archive, _WRITER)
    assert before is not None
    if before.vectors:
        return
    contents = np.unique(said_contents(settings.archive, before.indexes)["content"].to_numpy())
    chance = np.random.default_rng(3)
    small = np.clip(chance.normal(0, 36, (len(contents), 384)), -127, 127).astype(np.int8)
    scales = 1 / np.linalg.norm(small.astype(np.float32), axis=1)
    buffers = [None, pa.py_buffer(small)]
    rows = pa.table(
        {
            "content": contents,
            "scale": scales.astype(np.float32),
            "vector": pa.Array.from_buffers(pa.binary(384), len(contents), buffers),
        }
    )
    with writing(settings.archive, _WRITER, progress) as modes:
        path = f"{folder_of_vectors(_WRITER)}/noise.parquet"
        written = write_vectors(settings.archive, modes, path, model_id(settings.semantic), rows)
        assert written is not None
        generation = manifests.next_generation(settings.archive, _WRITER)
        manifest = replace(before, generation=generation, created_at=utc_now(), vectors=(written,))
        manifests.publish(settings.archive, manifest, modes)


if __name__ == "__main__":
    main()
