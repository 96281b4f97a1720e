"""Does recall find a passage by four of its rarer words?

    python benchmarks/known_items.py ARCHIVE [ITEMS]

Draws passages of what was said in sessions, asks for each by four of its rarer words, and
counts how often its session is the first result, and among the first eight. Half of the
questions use only words that do not stand in the session's first five lines.
"""

import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sjduck.archive import Archive, View
from sjduck.recall import recall

_WORD = re.compile(r"[^\W\d_]{4,24}")


class Item(NamedTuple):
    """A session to be found, and the question that has to find it."""

    session: str
    query: str
    is_from_start: bool


def items(view: View, count: int) -> Iterator[Item]:
    """Yield questions about randomly drawn passages, half of them of each kind."""
    rows = view.rows(
        "select d.sid, b.text, b.line_start from blocks b join documents d using (document) "
        "where d.type = 'transcript' and b.signal = 'high' and b.line_start is not null "
        "and b.kind = 'text' and not b.is_replay order by d.document, b.seq"
    )
    spread: Counter[str] = Counter()
    starts: dict[str, set[str]] = {}
    words_of: dict[str, set[str]] = {}
    for row in rows:
        words = {word.lower() for word in _WORD.findall(row["text"])}
        words_of.setdefault(row["sid"], set()).update(words)
        if row["line_start"] <= 7:
            first = "\n".join(row["text"].split("\n")[:5])
            starts.setdefault(row["sid"], set()).update(w.lower() for w in _WORD.findall(first))
    for words in words_of.values():
        spread.update(words)
    chance = random.Random(11)
    chance.shuffle(rows)
    wanted = {True: count // 2, False: count - count // 2}
    for row in rows:
        words = {word.lower() for word in _WORD.findall(row["text"])}
        for is_from_start in (True, False):
            usable = words if is_from_start else words - starts.get(row["sid"], set())
            # Rare, yet not unique to the session: words that somebody would remember.
            rarer = sorted((w for w in usable if spread[w] > 1), key=lambda w: (spread[w], w))[:12]
            if wanted[is_from_start] and len(rarer) >= 8:
                wanted[is_from_start] -= 1
                yield Item(row["sid"], " ".join(chance.sample(rarer, 4)), is_from_start)
                break


def main() -> None:
    """Print hits in the first one and eight, by rank and half."""
    archive = Archive(Path(sys.argv[1]), timezone="UTC")
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    drawn = archive.ask(lambda view: list(items(view, count)))
    print(f"{'rank':8} {'words':22} {'first':>6} {'first 8':>8} {'items':>6}")
    for rank in ("fused", "windows"):
        for is_from_start in (True, False):
            half = [item for item in drawn if item.is_from_start == is_from_start]
            places = [_place(archive, item, rank) for item in half]
            first = sum(place == 0 for place in places) / len(half)
            eight = sum(place is not None for place in places) / len(half)
            kind = "of the whole session" if is_from_start else "not in its start"
            print(f"{rank:8} {kind:22} {first:6.2f} {eight:8.2f} {len(half):6}")


def _place(archive: Archive, item: Item, rank: str) -> int | None:
    answer = recall(archive, item.query, rank=rank, k=8, max_chars=0)
    found = [result["sid"] for result in answer["results"]]
    return found.index(item.session) if item.session in found else None


if __name__ == "__main__":
    main()
