"""Recall's evidence against an oracle: plain Python over the lines of the readables."""

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sjduck.archive import Archive, View
from sjduck.reading import get
from sjduck.recall import recall
from sjduck.refs import path_of
from sjduck.terms import Question, question
from sjduck.words import fold
from tests.conftest import SAMPLES, Fill

AWKWARD = [
    "--force", "0x1f4", "p2.2", "etl/pipeline.py", "a->b", "%", "_", "100%", "foo_bar", '"type":',
    "İstanbul", "ΟΔΟΣ", "c++", "node.js", "/home/", "C:\\Users", "```text", "**→", "## user",
]  # fmt: skip


class Text(NamedTuple):
    """An entry of recall as the oracle sees it: its folded lines, its folded topics."""

    key: str
    lines: list[str]
    topics: list[str]


class Expected(NamedTuple):
    """What the oracle says of one entry."""

    terms: int
    dense: int
    topic: bool
    score: int


def texts(archive: Archive) -> list[Text]:
    """Return every entry with its text, read through the reading side."""

    def read(view: View) -> list[Text]:
        rows = view.rows(
            "select *, [] as also_on from documents "
            "where type in ('transcript', 'plan', 'memory', 'note')"
        )
        logged = view.rows(
            "select catalogue.*, source_format = 'history' as is_history "
            "from catalogue join documents using (document) order by logged_local, line"
        )
        newest = {
            row["session_id"]: fold(row["topic"] or "") for row in logged if not row["is_history"]
        }
        known = {row["session_id"] for row in rows}
        found = []
        for row in rows:
            own = [newest[row["session_id"]]] if row["session_id"] in newest else []
            content = get(archive, path_of(row), max_chars=0)["content"]
            lines = [fold(text) for text in content.removesuffix("\n").split("\n")]
            found.append(Text(row["identity"], lines, own))
        prompts: dict[str, list[str]] = {}
        for number, row in enumerate(logged):
            key = row["session_id"] or f"line {number}"
            if row["session_id"] is None or row["session_id"] not in known:
                only = [newest[key]] if key in newest else []
                prompts[key] = only or [*prompts.get(key, []), fold(row["topic"] or "")]
        return found + [Text(key, [], topics) for key, topics in prompts.items()]

    return archive.ask(read)


def expected(text: Text, asked: Question) -> Expected | None:
    """Return the evidence that a question has in an entry."""
    terms = [term.text for term in asked.terms]
    masks = [sum(1 << n for n, term in enumerate(terms) if term in line) for line in text.lines]
    topic_masks = [sum(1 << n for n, term in enumerate(terms) if term in t) for t in text.topics]
    present = 0
    for mask in masks + topic_masks:
        present |= mask
    if not present:
        return None
    dense = 0
    for at, mask in enumerate(masks):
        if mask:
            passage = 0
            for other in masks[at : at + 11]:
                passage |= other
            dense = max(dense, passage.bit_count())
    hits = sum(mask.bit_count() for mask in masks + topic_masks)
    count, topic = present.bit_count(), any(topic_masks)
    score = 10 * count + 6 * max(dense - 1, 0) + 8 * topic + min(hits, 6)
    return Expected(count, dense, topic, score)


def words_of(found: list[Text], seed: int, count: int) -> Iterator[str]:
    """Yield questions of terms drawn from the texts: whole words, pieces and punctuated runs."""
    chance = random.Random(seed)
    runs = sorted({run for text in found for line in text.lines[:400] for run in line.split()})
    for number in range(count):
        terms = []
        for _ in range(chance.randint(1, 8)):
            run = chance.choice(runs)[:60]
            kind = chance.random()
            if kind < 0.5:
                words = re.findall(r"\w{3,}", run)
                terms.append(chance.choice(words) if words else run)
            elif kind < 0.8:
                start = chance.randrange(max(len(run) - 3, 1))
                terms.append(run[start : start + chance.randint(3, 12)])
            else:
                terms.append(run)
        if number % 15 == 0:
            terms.append(AWKWARD[number // 15 % len(AWKWARD)])
        yield " ".join(terms)


def check(archive: Archive, *, seed: int, count: int) -> int:
    """Compare recall with the oracle on random questions; return how many results agreed."""
    found = texts(archive)
    agreed = 0
    for query in words_of(found, seed, count):
        asked = question(query, None)
        if any(not term.pieces for term in asked.terms):
            continue
        truth = {text.key: e for text in found if (e := expected(text, asked))}
        answer = recall(archive, query, k=100, rank="windows", max_chars=0)
        scores = [row["score"] for row in answer["results"]]
        best = sorted((e.score for e in truth.values()), reverse=True)[: len(scores)]
        with_evidence = [score for score in scores if score]

        assert with_evidence == best[: len(with_evidence)], query
        assert len(with_evidence) == min(len(truth), 100), query
        for row in answer["results"]:
            if row["score"]:
                agreed += 1
                why = str(row["why"])
                matches = [
                    e
                    for e in truth.values()
                    if e.score == row["score"]
                    and why.startswith(f"{e.terms}/{asked.query_terms} terms")
                    and (f"{e.dense} in one passage" in why) == (e.dense > 1)
                    and ("catalogue line" in why) == e.topic
                ]
                assert matches, (query, row)
    return agreed


def test_recall_finds_what_the_oracle_finds_in_the_samples(archive: Archive, fill: Fill) -> None:
    storage = SAMPLES / "scrubjay"
    fill(f"claude={SAMPLES}/claude", f"scrubjay={storage}/storage", f"scrubjay-logs={storage}/data")

    assert check(archive, seed=1, count=100) > 500


def test_recall_finds_what_the_oracle_finds_in_the_corpus(
    corpus: Path, archive: Archive, fill: Fill
) -> None:
    fill(f"scrubjay={corpus}/storage", f"scrubjay-logs={corpus}/data")

    assert check(archive, seed=2, count=300) > 5_000
