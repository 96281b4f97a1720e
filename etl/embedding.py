"""Embedding: what is said and has no vector yet gets one, after all else is published.

Round after round: what is missing is looked up in the newest generation, embedded for a while,
and published as a generation of its own. A process that is killed loses its round; the lock is
held only to publish.
"""

import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from secrets import token_hex
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from etl import manifests, single
from etl.files import Modes
from etl.pipeline import writing
from etl.report import Progress
from etl.saidtexts import texts_of
from etl.vectors import (
    contents,
    folder_of_vectors,
    lack_passages,
    only_said,
    readable,
    said_contents,
    to_fold,
    write_vectors,
)
from sjduck import __version__
from sjduck.semantic.models import Model
from sjduck.semantic.place import open_model
from sjduck.settings import Settings
from sjduck.snapshots import Manifest, VectorFile, newest_manifest, read_snapshot, utc_now

_EMBEDDING = "embedding"
# After so long what is done is published: no more is lost to a kill, nor later to be recalled.
ROUND_S = 60.0
# Texts that are embedded between two looks at the clock.
_AT_ONCE = 32


@dataclass(slots=True)
class Embedding:
    """What was embedded: `passages` now, of so many in all; `lacking` had no text any more."""

    model: str
    passages: int = 0
    total: int = 0
    lacking: int = 0
    generation: int = 0
    seconds: float = 0.0
    warnings: list[str] = field(default_factory=list)

    def body(self) -> dict[str, Any]:
        """Return it as a report has it."""
        return asdict(self)


def embed(
    settings: Settings, writer: str, progress: Progress, *, round_s: float = ROUND_S
) -> Embedding:
    """Embed what this writer's documents say and no writer has a vector of.

    Raises NoModel where there is nothing that embeds.
    """
    started = time.perf_counter()
    model = open_model(settings.semantic)
    done = Embedding(model.id)
    turn = single.claim(_EMBEDDING, settings.archive, writer)
    if turn is None:
        done.warnings.append("another process embeds for this writer")
        return done
    try:
        rounds = _Rounds(settings, writer, model, progress, done, round_s)
        while rounds.next():
            pass
    finally:
        turn.release()
    done.seconds = round(time.perf_counter() - started, 3)
    return done


def needs_reindex(root: Path, writer: str) -> bool:
    """Tell whether index files of an older sjduck have to be made anew before embedding."""
    manifest = newest_manifest(root, writer)
    return manifest is not None and lack_passages(root, manifest.indexes)


class _Rounds:
    """Embeds round by round."""

    def __init__(
        self,
        settings: Settings,
        writer: str,
        model: Model,
        progress: Progress,
        done: Embedding,
        round_s: float,
    ) -> None:
        self._settings = settings
        self._root = settings.archive
        self._writer = writer
        self._model = model
        self._progress = progress
        self._done = done
        self._round_s = round_s

    def next(self) -> bool:
        """Do a round; tell whether there may be more to do."""
        manifest = newest_manifest(self._root, self._writer)
        if manifest is None:
            return False
        self._progress.waiting("looking for what has no vector yet")
        said = said_contents(self._root, manifest.indexes)
        missing = without_those(said, self._embedded())
        self._done.total = pc.count_distinct(said.column("content")).as_py()
        if missing.num_rows == 0:
            self._leave_out_others(manifest)
            return False
        rows = self._round(manifest, missing)
        if rows.num_rows == 0:
            self._done.lacking = pc.count_distinct(missing.column("content")).as_py()
            return False
        self._publish(rows)
        return True

    def _embedded(self) -> pa.ChunkedArray:
        """Return what has a vector of this model, whichever writer made it.

        What lies in a file that can't be read has none.
        """
        snapshot = read_snapshot(self._root)
        files = self._own(file for manifest in snapshot.manifests for file in manifest.vectors)
        held = readable(self._root, files, ["content"])
        self._done.warnings = [
            f"{file.path} can't be read, what it held is embedded again; run 'sjduck doctor'"
            for file in files
            if file not in held
        ]
        return contents(held.values())

    def _own(self, files: Iterable[VectorFile]) -> list[VectorFile]:
        return [file for file in files if file.model == self._model.id]

    def _round(self, manifest: Manifest, missing: pa.Table) -> pa.Table:
        """Return the vectors of some of what is missing: of as much as a round takes."""
        until = time.monotonic() + self._round_s
        started, before = time.monotonic(), self._done.passages
        texts = texts_of(self._root, manifest.segments, missing)
        found = [vector_rows(self._model, {})]
        while time.monotonic() < until and (batch := dict(islice(texts, _AT_ONCE))):
            found.append(vector_rows(self._model, batch))
            self._done.passages += len(batch)
            speed = (self._done.passages - before) / (time.monotonic() - started)
            self._progress.waiting(
                f"embedding: {self._done.passages:,} passages, {speed:,.0f} a second"
            )
        return pa.concat_tables(found)

    def _publish(self, rows: pa.Table) -> None:
        """Publish vectors; small files become one with them.

        What is not said any more, since it was pruned or masked meanwhile, is left out.
        """
        with writing(self._root, self._writer, self._progress) as modes:
            before = newest_manifest(self._root, self._writer)
            assert before is not None
            folded = readable(self._root, to_fold(self._own(before.vectors), rows.num_rows))
            rows = pa.concat_tables([*folded.values(), rows])
            said = said_contents(self._root, before.indexes).column("content")
            generation = manifests.next_generation(self._root, self._writer)
            name = f"{self._writer}-{generation:08d}-{token_hex(3)}"
            path = f"{folder_of_vectors(self._writer)}/{name}.parquet"
            new = write_vectors(self._root, modes, path, self._model.id, only_said(rows, said))
            kept = [file for file in before.vectors if file not in folded]
            self._publish_with(before, [*kept, new] if new else kept, modes)

    def _leave_out_others(self, manifest: Manifest) -> None:
        """Leave out what other models made, now that this one has made all of it."""
        if len(self._own(manifest.vectors)) == len(manifest.vectors):
            return
        with writing(self._root, self._writer, self._progress) as modes:
            before = newest_manifest(self._root, self._writer)
            if before is not None:
                self._publish_with(before, self._own(before.vectors), modes)

    def _publish_with(self, before: Manifest, vectors: list[VectorFile], modes: Modes) -> None:
        generation = manifests.next_generation(self._root, self._writer)
        manifest = replace(
            before,
            generation=generation,
            created_at=utc_now(),
            sjduck=__version__,
            vectors=tuple(sorted(vectors, key=lambda file: file.path)),
        )
        manifests.publish(self._root, manifest, modes)
        unused = manifests.thin(self._root, self._writer, utc_now())
        manifests.sweep(self._root, unused)
        self._done.generation = generation


def without_those(said: pa.Table, contents: pa.ChunkedArray) -> pa.Table:
    """Return the rows of what is said that are not among some contents."""
    return said.filter(pc.invert(pc.is_in(said.column("content"), value_set=contents)))


def vector_rows(model: Model, texts: dict[int, str]) -> pa.Table:
    """Return the rows of a file of vectors for some texts, by content."""
    import numpy as np

    vectors = model.embed(list(texts.values()))
    scales = np.maximum(np.abs(vectors).max(axis=1, initial=0.0), 1e-9) / 127
    small = np.rint(vectors / scales[:, None]).astype(np.int8)
    kind = pa.binary(model.dimension)
    return pa.table(
        {
            "content": pa.array(texts.keys(), pa.int64()),
            "scale": pa.array(scales.astype(np.float32)),
            "vector": pa.Array.from_buffers(
                kind, len(texts), [None, pa.py_buffer(small.tobytes())]
            ),
        }
    )
