"""What is near to a question in meaning, and in which mode it is answered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sjduck.archive import View
from sjduck.errors import UsageError
from sjduck.semantic.models import known
from sjduck.semantic.place import NoModel, lack, model_id, open_model
from sjduck.semantic.vectors import Vectors, load
from sjduck.snapshots import VectorFile
from sjduck.sqlfiles import sql
from sjduck.words import relevance_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MODES = ("words", "meaning", "hybrid")
# Passages that an answer chooses from: those of the filters may be far down.
_MOST = 20_000
_PLACED = "placed passages"
_EMBED = "'sjduck etl --semantic' embeds them"


@dataclass(frozen=True, slots=True)
class Meaning:
    """The mode in which a question is answered; `is_said`: its answer says so."""

    mode: str
    is_said: bool
    notes: tuple[str, ...] = ()

    @property
    def said(self) -> dict[str, str]:
        """What an answer says of it."""
        return {"mode": self.mode} if self.is_said else {}


@dataclass(frozen=True, slots=True)
class _Placed:
    """Every passage of a snapshot that has a vector: what it counts for, where it is.

    `unread` is why some vectors can't be read.
    """

    vectors: list[Vectors]
    arrays: dict[str, NDArray[Any]]
    rows: NDArray[np.int64]
    passages: int
    unread: str


def check_mode(mode: str | None) -> None:
    """Raise UsageError for a mode that there is not."""
    if mode is not None and mode not in MODES:
        raise UsageError(f"unknown mode {mode!r}; one of: {', '.join(MODES)}")


def find_near(view: View, query: str, mode: str | None, *, words_only: str = "") -> Meaning:
    """Return how a question is answered; where not by words, what is near is in `near_passages`.

    `mode` is None where the caller leaves it open. `words_only` is why meaning does not count
    here, empty where it may. The index has to be prepared.
    """
    files = [file for m in view.snapshot.manifests for file in m.vectors]
    is_said = mode is not None or bool(files)
    if mode == "words" or (mode is None and (words_only or not files)):
        return Meaning("words", is_said)
    try:
        if why := words_only or _lack(view, files):
            raise NoModel(why)
        notes = _keep_near(view, files, query)
    except NoModel as error:
        return Meaning("words", is_said, _notes(mode, f"answered by words alone: {error}"))
    return Meaning(mode or "hybrid", is_said, notes)


def keep_weight(view: View, query: str, mode: str, *, is_helped: bool = False) -> None:
    """Leave in `meaning_weight` what nearness weighs beside the words that were found.

    `found_uses` and `found_parts` say which those are; `is_helped`: other words were named, too.
    """
    if mode != "hybrid":
        # Nothing is near, or nothing else counts.
        view.table_of("meaning_weight", {"weight": "double"}, [{"weight": 1}])
    elif is_helped:
        view.table("meaning_weight", sql("semantic/least_weight"))
    else:
        view.table("meaning_weight", sql("semantic/weight"), text=relevance_text(query))


def _notes(mode: str | None, note: str) -> tuple[str, ...]:
    # Who did not ask for meaning is not told in every answer what it would take.
    return (note,) if mode else ()


def _lack(view: View, files: list[VectorFile]) -> str | None:
    if why := lack(view.semantic):
        return why
    if not _own(view, files):
        return f"nothing is embedded with {view.semantic.model} yet; {_EMBED}"
    return None


def _own(view: View, files: list[VectorFile]) -> list[VectorFile]:
    id_ = model_id(view.semantic)
    return [file for file in files if file.model == id_]


def _keep_near(view: View, files: list[VectorFile], query: str) -> tuple[str, ...]:
    """Leave the nearest passages in `near_passages`; return what is to be said of them."""
    import numpy as np
    import pyarrow as pa

    model = open_model(view.semantic)
    placed = _placed(view, _own(view, files))
    asked = model.embed([query], is_query=True)[0]
    cosines = np.concatenate([vectors.cosines(asked) for vectors in placed.vectors])[placed.rows]
    near = np.flatnonzero(cosines >= known(view.semantic).least_cosine)
    if len(near) > _MOST:
        near = near[np.argpartition(-cosines[near], _MOST)[:_MOST]]
    columns = {name: array[near] for name, array in placed.arrays.items()}
    # The last digits differ with the order of threads.
    rows = pa.table({**columns, "cosine": np.round(cosines[near], 4)})
    view.connection.register("found_near", rows)
    view.table("near_passages", "select * from found_near")
    view.connection.unregister("found_near")
    return tuple(_remarks(placed))


def _remarks(placed: _Placed) -> Iterator[str]:
    """Yield what is to be said of vectors that are not there."""
    if placed.unread:
        yield f"some vectors can't be read ({placed.unread}); run 'sjduck doctor'"
    if lacking := placed.passages - len(placed.rows):
        yield f"{lacking:,} of {placed.passages:,} passages have no vector yet; {_EMBED}"


def _placed(view: View, files: list[VectorFile]) -> _Placed:
    """Return the passages of the snapshot, found once; raises NoModel."""
    import numpy as np

    if _PLACED not in view.kept:
        vectors, unread = load(view.snapshot.root, files)
        if not vectors:
            raise NoModel(f"vectors can't be read ({unread}); run 'sjduck doctor'")
        arrays = view.connection.execute(sql("semantic/placed")).fetchnumpy()
        contents = arrays.pop("content")
        rows = np.full(len(contents), -1)
        first = 0
        for part in vectors:
            found = part.rows_of(contents)
            rows = np.where(found >= 0, found + first, rows)
            first += len(part.scales)
        has_vector = rows >= 0
        arrays = {name: np.asarray(array)[has_vector] for name, array in arrays.items()}
        view.kept[_PLACED] = _Placed(vectors, arrays, rows[has_vector], len(contents), unread)
    placed: _Placed = view.kept[_PLACED]
    return placed
