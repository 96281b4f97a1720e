"""Warm questions of one archive, drawn from what its sessions say; the same ones each time."""

import random
import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from benchmarks import peers
from benchmarks.measuring import Timed, calls
from sjduck.archive import Archive
from sjduck.context import context
from sjduck.listing import list_documents
from sjduck.reading import get
from sjduck.recall import recall
from sjduck.search import search
from sjduck.settings import load
from sjduck.status import status
from sjduck.usage import usage
from sjduck.within import search_within

_WORD = re.compile(r"[^\W\d_]{4,24}")
_QUESTIONS = 40
_SEED = 7


class Asked:
    """An archive, and questions about what is in it."""

    def __init__(self, root: Path) -> None:
        settings = load(archive=str(root))
        self._archive = Archive(settings.archive, timezone="UTC", prices=settings.prices)
        self._chance = random.Random(_SEED)

    def finds(self, word: str) -> bool:
        """Tell whether recall finds a word."""
        return bool(recall(self._archive, word)["total"])

    def timings(self) -> Iterator[tuple[str, float | None, Timed]]:
        """Yield what was asked, its bar in milliseconds, and what it took."""
        texts = self._texts()
        terms = [self._terms(text) for text in texts]
        refs = [text["sid"] for text in texts]
        yield "recall", 100, calls([self._ask(recall, " ".join(some)) for some in terms])
        yield "search", 100, calls([self._ask(search, " ".join(some[:3])) for some in terms])
        phrases = [f'"{" ".join(text["text"].split()[:3])}"' for text in texts]
        yield "search for a phrase", 100, calls([self._ask(search, text) for text in phrases])
        low = [self._ask(search, " ".join(s[:2]), include_low_signal=True) for s in terms]
        yield "search, tool output too", None, calls(low)
        listed = [
            self._ask(list_documents, **given)
            for given in ({}, {"sort": "size"}, {"since": "2026-01-01"}, {"offset": 100})
        ]
        yield "list", 20, calls(listed, rounds=10)
        yield "get", 20, calls([self._ask(get, ref) for ref in refs])
        some = [self._ask(search_within, r, t[0]) for r, t in zip(refs, terms, strict=True)]
        yield "within", 20, calls(some)
        around = [self._ask(context, t["sid"], seq=t["seq"]) for t in texts]
        yield "context", None, calls(around)
        yield "status", None, calls([self._ask(status, sources=())], rounds=20)

    def usage(self) -> tuple[float, Timed]:
        """Return the milliseconds of the first question about usage, and of those after it."""
        begun = time.perf_counter()
        usage(self._archive, by="day")
        first = (time.perf_counter() - begun) * 1000
        return first, calls([self._ask(usage, by="day")], rounds=20)

    def beside_grep(self, folder: Path) -> tuple[float, float | None, float | None]:
        """Return the median milliseconds of recall, of ripgrep and of DuckDB over one Parquet file.

        They look for the same terms in the same text: `folder` gets the readable of each session.
        """
        self._render(folder)
        terms = [self._terms(text) for text in self._texts()[:10]]
        ours = calls([self._ask(recall, " ".join(some)) for some in terms], rounds=3).p50
        grep = None
        if peers.ripgrep(folder, terms[0]):
            grep = calls([partial(peers.ripgrep, folder, some) for some in terms]).p50
        connection = duckdb.connect()
        scans = [partial(_scan, connection, folder.with_suffix(".parquet"), some) for some in terms]
        return ours, grep, calls(scans).p50

    def _ask(self, question: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[[], Any]:
        return partial(question, self._archive, *args, **kwargs)

    def _texts(self) -> list[dict[str, Any]]:
        """Return messages of sessions, drawn at random but the same ones each time."""
        rows = self._archive.ask(
            lambda view: view.rows(
                "select documents.sid, blocks.seq, blocks.text from blocks "
                "join documents using (document) where documents.type = 'transcript' "
                "and blocks.kind = 'text' and blocks.line_start is not null "
                "and length(blocks.text) > 200 order by hash(blocks.document, blocks.seq) "
                f"limit {_QUESTIONS * 3}"
            )
        )
        return [row for row in rows if len(set(_WORD.findall(row["text"]))) >= 5][:_QUESTIONS]

    def _terms(self, text: dict[str, Any]) -> list[str]:
        """Return three to five words of a message."""
        words = sorted(set(_WORD.findall(text["text"])))
        return self._chance.sample(words, self._chance.randint(3, 5))

    def _render(self, folder: Path) -> None:
        """Write the readables where they are not there yet, and their lines as one Parquet file."""
        if folder.exists():
            return
        rows = self._archive.ask(
            lambda view: view.rows(
                "select document, session_id from documents where session_id is not null"
            )
        )
        aside = folder.with_suffix(".part")
        aside.mkdir()
        texts = []
        for row in rows:
            content = get(self._archive, row["session_id"], max_chars=0).get("content", "")
            (aside / f"{row['document']}.md").write_text(content, encoding="utf-8")
            texts.append((row["document"], content))
        frame = pl.DataFrame(texts, schema=["document", "text"], orient="row")
        lines = frame.with_columns(pl.col("text").str.split("\n")).explode("text")
        lines.write_parquet(folder.with_suffix(".parquet"))
        aside.rename(folder)


def _scan(connection: duckdb.DuckDBPyConnection, file: Path, terms: list[str]) -> None:
    """Rank documents by how many terms their lines hold, as one would in plain SQL."""
    held = " + ".join(f"max((text ilike $t{n})::integer)" for n in range(len(terms)))
    connection.execute(
        f"select document, {held} as terms from read_parquet('{file}') group by document "
        "order by terms desc limit 8",
        {f"t{n}": f"%{term}%" for n, term in enumerate(terms)},
    ).fetchall()
