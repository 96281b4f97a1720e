"""Does search find a message by a few of its words, and what does each weight do to that?

    python benchmarks/known_messages.py ARCHIVE [ITEMS]

Draws messages, thinking, commands and tool output, asks for each by three of its rarer words, and
counts how often it is the first hit, among the first eight, and the mean reciprocal rank; where
`output` is added, tool output was searched too. Then asks for names with punctuation, to count how
often the first hit shows the name as it was written. Each line has one weight changed.
"""

import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sjduck.archive import Archive, View
from sjduck.index import prepare
from sjduck.phrases import folded
from sjduck.search import search

_WORD = re.compile(r"[^\W\d_]{4,24}")
_NAME = re.compile(r"[A-Za-z][\w./:-]*[_./:-][\w./:-]*\w")
_KINDS = {"thinking": "thought", "tool_use": "called", "tool_result": "put out"}
# What is asked for, and whether tool output is searched too.
_ASKED = {
    "said": ("said", False), "thought": ("thought", False), "called": ("called", False),
    "said + output": ("said", True), "put out + output": ("put out", True),
}  # fmt: skip
_CHANGES = (
    "", "medium_weight = 1.0", "medium_weight = 0.7", "medium_weight = 0.5",
    "low_weight = 1.0", "low_weight = 0.2", "recency_weight = 0.0", "recency_weight = 0.3",
    "literal_weight = 0.0", "literal_weight = 0.5",
)  # fmt: skip


class Item(NamedTuple):
    """A block to be found, and the words that have to find it."""

    kind: str
    sid: str
    seq: int
    query: str


def items(view: View, count: int) -> Iterator[Item]:
    """Yield questions about randomly drawn blocks, as many of each kind."""
    rows = view.rows(
        "select d.sid, b.seq, b.kind, b.signal, b.text from blocks b join documents d using "
        "(document) where d.type = 'transcript' and not b.is_replay and not b.is_sidechain "
        "and (b.signal <> 'low' or b.kind = 'tool_result') order by d.document, b.seq"
    )
    spread: Counter[str] = Counter()
    for row in rows:
        spread.update({word.lower() for word in _WORD.findall(row["text"])})
    chance = random.Random(7)
    chance.shuffle(rows)
    left = dict.fromkeys(["said", *_KINDS.values()], count)
    for row in rows:
        kind = _KINDS.get(row["kind"], "said")
        words = {word.lower() for word in _WORD.findall(row["text"])}
        # Rare, yet not unique to the block: words that somebody would remember.
        rarer = sorted((w for w in words if spread[w] > 1), key=lambda w: (spread[w], w))[:10]
        if left[kind] and len(rarer) >= 6:
            left[kind] -= 1
            yield Item(kind, row["sid"], row["seq"], " ".join(chance.sample(rarer, 3)))


def names(view: View, count: int) -> list[str]:
    """Return names with punctuation that stand in what was said."""
    rows = view.rows("select text from blocks where signal = 'high' order by document, seq")
    found = sorted({name for row in rows for name in _NAME.findall(row["text"]) if len(name) < 60})
    return random.Random(7).sample(found, min(count, len(found)))


def main() -> None:
    """Print hits in the first one and eight and the mean reciprocal rank, by weight and kind."""
    archive = Archive(Path(sys.argv[1]), timezone="UTC")
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    drawn = archive.ask(lambda view: list(items(view, count)))
    wanted = archive.ask(lambda view: names(view, count))
    print(f"{'weights':22}{''.join(f'{name:>24}' for name in _ASKED)}{'names':>8}")
    for change in _CHANGES:
        archive.ask(lambda view, change=change: _set(view, change))  # type: ignore[misc]
        cells = [
            _cell([_rank(archive, i, low=low) for i in drawn if i.kind == kind])
            for kind, low in _ASKED.values()
        ]
        literal = sum(_is_literal(archive, name) for name in wanted) / len(wanted)
        row = "".join(f"{cell:>24}" for cell in cells)
        print(f"{change or 'as they are':22}{row}{literal:8.2f}", flush=True)


def _set(view: View, change: str) -> None:
    prepare(view)
    columns = view.rows("select * from ranking_weights")[0] if not _original else _original[0]
    if not _original:
        _original.append(columns)
    name, _, value = change.partition(" = ")
    changed = {**columns, **({name: float(value)} if name else {})}
    listed = ", ".join(f"{value} as {name}" for name, value in changed.items())
    view.connection.execute(f"create or replace table ranking_weights as select {listed}")


_original: list[dict[str, float]] = []


def _rank(archive: Archive, item: Item, *, low: bool) -> int | None:
    hits = search(archive, item.query, include_low_signal=low, limit=50, max_chars=0)["hits"]
    wanted = (item.sid, item.seq)
    places = [n for n, hit in enumerate(hits, 1) if (hit["sid"], hit["seq"]) == wanted]
    return places[0] if places else None


def _cell(ranks: list[int | None]) -> str:
    first = sum(rank == 1 for rank in ranks) / len(ranks)
    eight = sum(rank is not None and rank <= 8 for rank in ranks) / len(ranks)
    mean = sum(1 / rank for rank in ranks if rank) / len(ranks)
    return f"{first:.2f} / {eight:.2f} / {mean:.3f}"


def _is_literal(archive: Archive, name: str) -> bool:
    hits = search(archive, name, limit=1, max_chars=0)["hits"]
    return bool(hits) and folded(name) in folded(hits[0]["snippet"])


if __name__ == "__main__":
    main()
