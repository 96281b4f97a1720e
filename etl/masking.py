"""Mask the secrets in the rows of documents, before they are written or written anew."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from etl.document import PROMPT_CHARACTERS, SAMPLE_CHARACTERS
from etl.files import Modes
from etl.merge import merge
from sjduck.masking import find_all, mask_all, rules_version, suspects
from sjduck.snapshots import Segment

# Table → what of it is text.
TEXTS = {
    "documents": ("custom_title", "ai_title", "first_prompt", "slash_command"),
    "blocks": ("text",),
    "catalogue": ("topic", "extra"),
    "rejects": ("sample",),
}
# The blocks say these, too: what is masked in them is counted there.
_REPEATED = frozenset({"first_prompt", "slash_command"})
# Where a text was cut, half a secret may stand that no rule knows.
_CUT = {
    "first_prompt": PROMPT_CHARACTERS,
    "slash_command": PROMPT_CHARACTERS,
    "sample": SAMPLE_CHARACTERS,
}
_LAST_WORD = re.compile(r"[A-Za-z0-9_+/=.-]{8,}\Z")
_ROWS_AT_ONCE = 4_096


class Masking:
    """Masks batches of rows.

    `rules` tells the rules from others; `places`: document → in how many places of it something
    was masked; `kinds`: how many secrets of each kind were. Raises SjduckError where they can't
    be found.
    """

    def __init__(self) -> None:
        self.rules = rules_version()
        self.places: dict[int, int] = {}
        self.kinds: Counter[str] = Counter()
        # Now, since later it would be one of many errors of files.
        suspects([])

    def passing(self, table: str, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows of one table with their secrets masked."""
        for name in TEXTS.get(table, ()):
            column = batch.column(name)
            masked = self._map if pa.types.is_map(column.type) else self._texts
            changed = masked(name, column, batch.column("document"))
            if changed is not None:
                batch = batch.set_column(batch.schema.get_field_index(name), name, changed)
        return batch

    def _texts(self, name: str, column: pa.Array, documents: pa.Array) -> pa.Array | None:
        """Return a column of texts where one of them holds a secret, None where none does."""
        numbers = suspects(column)
        texts = [column[number].as_py() for number in numbers]
        changed = {}
        for at, (text, kinds) in mask_all(texts).items():
            changed[numbers[at]] = text
            self._count(documents[numbers[at]].as_py(), kinds, is_repeated=name in _REPEATED)
        if name in _CUT:
            changed |= _without_halves(column, changed, _CUT[name])
        if not changed:
            return None
        is_changed = pa.array(number in changed for number in range(len(column)))
        texts = [changed[number] for number in sorted(changed)]
        return pc.replace_with_mask(column, is_changed, pa.array(texts, column.type))

    def _map(self, _: str, column: pa.Array, documents: pa.Array) -> pa.Array | None:
        if not suspects(column.items):
            return None
        rows = column.to_pylist()
        for document, row in zip(documents.to_pylist(), rows, strict=True):
            for at, (text, kinds) in mask_all([value or "" for _, value in row or ()]).items():
                row[at] = row[at][0], text
                self._count(document, kinds, is_repeated=False)
        return pa.array(rows, column.type)

    def _count(self, document: int, kinds: Counter[str], *, is_repeated: bool) -> None:
        places = 0 if is_repeated else kinds.total()
        self.places[document] = self.places.get(document, 0) + places
        if not is_repeated:
            self.kinds.update(kinds)


def _without_halves(column: pa.Array, changed: dict[int, str], cap: int) -> dict[int, str]:
    """Return texts that were cut at `cap` characters, without the word that may have been."""
    is_cut = pc.equal(pc.utf8_length(column), cap)
    return {
        number: _LAST_WORD.sub("…", changed.get(number) or column[number].as_py())
        for number in pc.indices_nonzero(is_cut).to_pylist()
    }


def masked(root: Path, modes: Modes, name: str, segment: Segment, masking: Masking) -> Segment:
    """Return a segment as it is where no secret stands in its files, else written anew."""
    if not _holds_secrets(root, segment):
        return replace(segment, masked_by=masking.rules)
    masking.places.clear()
    new = merge(root, modes, name, [segment], passing=masking.passing)
    places = dict(new.masked)
    for document, count in masking.places.items():
        places[document] = places.get(document, 0) + count
    return replace(new, masked_by=masking.rules, masked=places)


def _holds_secrets(root: Path, segment: Segment) -> bool:
    for table, names in TEXTS.items():
        if table in segment.tables:
            with pq.ParquetFile(root / segment.tables[table].path) as file:
                for batch in file.iter_batches(_ROWS_AT_ONCE, columns=list(names)):
                    if any(_holds_one(column) for column in batch.columns):
                        return True
    return False


def _holds_one(column: pa.Array) -> bool:
    texts = column.items if pa.types.is_map(column.type) else column
    return bool(find_all([texts[number].as_py() for number in suspects(texts)]))
