"""The texts of passages that are known by their content alone."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from etl.parts import Part, tables
from sjduck.semantic.cutting import passages
from sjduck.snapshots import Segment

# Passages whose documents are read at once: else each costs the unpacking of its neighbours.
_AT_ONCE = 512


def texts_of(
    root: Path, segments: Sequence[Segment], missing: pa.Table
) -> Iterator[tuple[int, str]]:
    """Yield each content of rows (document, content) once, with its text, in about their order.

    What a document does not say any more is left out.
    """
    homes = _homes(root, segments)
    seen: set[int] = set()
    for documents, contents in _batches(missing):
        wanted = contents - seen
        seen |= contents
        for text in _said(root, _parts(homes, documents)):
            for passage in passages(text):
                if passage.content in wanted:
                    wanted.remove(passage.content)
                    yield passage.content, passage.text


def _batches(missing: pa.Table) -> Iterator[tuple[set[int], set[int]]]:
    """Yield documents and what is missing of them, a few hundred passages at a time."""
    columns = (missing.column(name).to_pylist() for name in ("document", "content"))
    documents: set[int] = set()
    contents: set[int] = set()
    for document, rows in groupby(zip(*columns, strict=True), key=itemgetter(0)):
        documents.add(document)
        contents.update(content for _, content in rows)
        if len(contents) >= _AT_ONCE:
            yield documents, contents
            documents, contents = set(), set()
    if documents:
        yield documents, contents


def _homes(root: Path, segments: Sequence[Segment]) -> dict[int, Segment]:
    """Return the segment in which each live document lies."""
    homes: dict[int, Segment] = {}
    for segment in segments:
        path = root / segment.tables["documents"].path
        documents = pq.read_table(path, columns=["document"])["document"].to_pylist()
        homes.update((document, segment) for document in documents if document not in segment.dead)
    return homes


def _parts(homes: dict[int, Segment], documents: set[int]) -> list[Part]:
    by_segment: dict[str, set[int]] = defaultdict(set)
    for document in documents:
        if document in homes:
            by_segment[homes[document].name].add(document)
    segments = {segment.name: segment for segment in homes.values()}
    return [Part(segments[name], frozenset(held)) for name, held in sorted(by_segment.items())]


def _said(root: Path, parts: Sequence[Part]) -> Iterator[str]:
    """Yield what is said in some documents, and the topics of logs."""
    for blocks in tables(root, parts, "blocks", ("signal", "text"), said=True):
        yield from blocks.filter(pc.equal(blocks.column("signal"), "high"))["text"].to_pylist()
    for rows in tables(root, parts, "catalogue", ("topic",)):
        yield from rows["topic"].drop_null().to_pylist()
