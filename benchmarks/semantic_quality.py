"""What does meaning add to words? Invented sessions, each asked for by its words and paraphrased.

    python benchmarks/semantic_quality.py WORK [MODEL]

WORK is a folder for the archive, which is kept: a second run embeds nothing anew. Where
SJDUCK_CORPUS names real files, their sessions lie beside the invented ones, and passages of
theirs are asked for, too. MODEL is the folder of the model, else the fetched one. Prints how
often the session is the first result, among the first eight, and the mean reciprocal rank: for
words, meaning, and hybrid at several weights. Even sessions choose the weight, odd ones hold it.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from uuid import NAMESPACE_OID, uuid5

from benchmarks.known_items import items
from etl.command import RunProgress
from etl.embedding import embed
from etl.pipeline import run
from sjduck.archive import Archive, View
from sjduck.index import prepare
from sjduck.recall import recall
from sjduck.search import search
from sjduck.settings import Semantic, Settings, load

_SESSIONS = Path(__file__).parent / "semantic_sessions.json"
# What nearness weighs at least and at most.
_WEIGHTS = ((1.0, 1.0), (2.0, 2.0), (0.05, 4.0), (0.05, 8.0), (0.25, 8.0), (0.05, 16.0))
_KNOWN_ITEMS = 60
_WRITER = "benchmark"


class Asked(NamedTuple):
    """A question, the session that it is about, and of which kind it is."""

    kind: str
    is_even: bool
    query: str
    sid: str
    also: str | None = None


# Archive, question and mode → handles of what was found, the best first.
Find = Callable[[Archive, Asked, str], list[str]]


def main() -> None:
    """Print a table for recall, and one for search."""
    work = Path(sys.argv[1]).resolve()
    settings = _filled(work, Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None)
    archive = Archive(settings.archive, timezone="UTC", semantic=settings.semantic)
    asked = [*_invented(), *_known(archive)]
    _print_table("recall", archive, asked, _recalled)
    _print_table("search", archive, [q for q in asked if q.also is None], _searched)


def _print_table(title: str, archive: Archive, asked: Sequence[Asked], find: Find) -> None:
    found: dict[str, dict[Asked, int | None]] = {}
    for name, mode, weights in _ways():
        _weigh(archive, *weights)
        places = {question: find(archive, question, mode) for question in asked}
        found[name] = {q: p.index(q.sid) if q.sid in p else None for q, p in places.items()}
    print(f"{title:22}{'even':>24}{'odd':>24}")
    for kind in sorted({question.kind for question in asked}):
        print(kind)
        for name, ranks in found.items():
            halves = (_figures(ranks, kind, is_even=is_even) for is_even in (True, False))
            print(f"  {name:20}{''.join(halves)}", flush=True)


def _ways() -> Iterator[tuple[str, str, tuple[float, float]]]:
    yield "words", "words", _WEIGHTS[0]
    yield "meaning", "meaning", _WEIGHTS[0]
    for least, most in _WEIGHTS:
        yield f"hybrid, {least}–{most}", "hybrid", (least, most)


def _figures(ranks: dict[Asked, int | None], kind: str, *, is_even: bool) -> str:
    found = [p for q, p in ranks.items() if q.kind == kind and q.is_even == is_even]
    if not found:
        return f"{'–':>24}"
    first = sum(place == 0 for place in found) / len(found)
    eight = sum(place is not None and place < 8 for place in found) / len(found)
    reciprocal = sum(1 / (place + 1) for place in found if place is not None) / len(found)
    return f"{first:8.2f}{eight:8.2f}{reciprocal:8.2f}"


def _weigh(archive: Archive, least: float, most: float) -> None:
    def change(view: View) -> None:
        prepare(view)
        view.connection.execute(
            f"update ranking_weights set least_meaning_weight = {least}, "
            f"most_meaning_weight = {most}"
        )

    archive.ask(change)


def _recalled(archive: Archive, question: Asked, mode: str) -> list[str]:
    answer = recall(archive, question.query, also=question.also, mode=mode, k=50, max_chars=0)
    return [result["sid"] for result in answer["results"]]


def _searched(archive: Archive, question: Asked, mode: str) -> list[str]:
    """Return whose messages were found, each session once."""
    answer = search(archive, question.query, mode=mode, limit=50, max_chars=0)
    return list(dict.fromkeys(hit["sid"] for hit in answer["hits"]))


def _invented() -> Iterator[Asked]:
    for number, session in enumerate(json.loads(_SESSIONS.read_text())):
        for kind in ("easy", "hard"):
            yield Asked(kind, number % 2 == 0, session[kind], _id(number)[:8])
        if "also" in session:
            words = session["hard"], _id(number)[:8], session["also"]
            yield Asked("hard + also", number % 2 == 0, *words)


def _known(archive: Archive) -> list[Asked]:
    """Return questions for passages of real sessions by four of their words."""
    if not os.environ.get("SJDUCK_CORPUS"):
        return []
    drawn = archive.ask(lambda view: list(items(view, _KNOWN_ITEMS)))
    return [Asked("known", n % 2 == 0, item.query, item.session) for n, item in enumerate(drawn)]


def _filled(work: Path, model: Path | None) -> Settings:
    """Fill the archive of a folder and embed it; return the settings it is asked with."""
    home = work / "sessions"
    for number, session in enumerate(json.loads(_SESSIONS.read_text())):
        folder = home / "projects" / f"-home-ann-{session['project']}"
        folder.mkdir(parents=True, exist_ok=True)
        lines = (json.dumps(record) + "\n" for record in _records(number, session))
        (folder / f"{_id(number)}.jsonl").write_text("".join(lines))
    sources = [f"claude={home}"]
    if corpus := os.environ.get("SJDUCK_CORPUS"):
        sources += [f"scrubjay={corpus}/storage", f"scrubjay-logs={corpus}/data"]
    settings = load(archive=str(work / "archive"), sources=sources)
    settings = replace(settings, semantic=Semantic(path=model))
    with RunProgress(quiet=False) as progress:
        run(settings, _WRITER, progress)
        print(embed(settings, _WRITER, progress))
    return settings


def _records(number: int, session: dict[str, Any]) -> Iterable[dict[str, Any]]:
    shared = {"sessionId": _id(number), "cwd": f"/home/ann/{session['project']}"}
    turns: Sequence[str] = session["turns"]
    for place, text in enumerate(turns):
        role = ("user", "assistant")[place % 2]
        yield {
            **shared,
            "type": role,
            "uuid": f"{_id(number)}-{place}",
            "timestamp": f"2026-{number % 12 + 1:02d}-{number % 28 + 1:02d}T10:{place:02d}:00.000Z",
            "message": {"role": role, "content": text},
        }


def _id(number: int) -> str:
    return str(uuid5(NAMESPACE_OID, f"invented {number}"))


if __name__ == "__main__":
    main()
