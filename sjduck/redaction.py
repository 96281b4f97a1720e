"""What is masked when an archive answers: what its writers left as it was, and source files.

A reader whose configuration asks for it sees no secret, whoever wrote the archive. One whose
configuration says nothing sees what is stored; of a document that is stored masked, it does not
see the source unmasked either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sjduck import masking
from sjduck.settings import AS_IT_IS, REDACT
from sjduck.snapshots import Snapshot

if TYPE_CHECKING:
    import duckdb

Row = dict[str, Any]
# What a snapshot resolves from its texts, before it is cut for a listing.
_RESOLVED = {
    "living": ("custom_title", "ai_title", "first_prompt", "slash_command"),
    "catalogue": ("topic",),
}
_CHARACTERS_AT_ONCE = 1_000_000
_LINES_AT_ONCE = 1_024


class Redaction:
    """Masks secrets in what a snapshot answers, as `redact` of the configuration says."""

    def __init__(self, redact: str | None, snapshot: Snapshot) -> None:
        is_asked = redact == REDACT
        self._masked = {
            number
            for number, segment in enumerate(snapshot.segments)
            if is_asked or (segment.masked_by and redact != AS_IT_IS)
        }
        self._is_to_mask = is_asked and any(not s.masked_by for s in snapshot.segments)

    @property
    def is_masking(self) -> bool:
        """Whether there is anything to mask in what is answered."""
        return self._is_to_mask

    def shown(self, rows: list[Row]) -> list[Row]:
        """Return rows with the secrets in their texts masked, where a writer left them."""
        if self._is_to_mask and rows:
            rows = masking.masked(rows)
        return rows

    def hides(self, document: Mapping[str, Any]) -> bool:
        """Tell whether a document's source is to be shown masked."""
        return document["segment"] in self._masked

    def settle(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Mask what a snapshot resolves from the texts of documents and catalogues."""
        if not self._is_to_mask:
            return
        for table, columns in _RESOLVED.items():
            for column in columns:
                found = connection.execute(
                    f"select distinct {column} from {table} where regexp_matches({column}, $hint)",
                    {"hint": masking.hint()},
                ).fetchall()
                texts = [text for (text,) in found]
                for number, (masked, _) in masking.mask_all(texts).items():
                    connection.execute(
                        f"update {table} set {column} = $masked where {column} = $text",
                        {"masked": masked, "text": texts[number]},
                    )

    def hide_readables(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Let no document that is shown masked name a file of it that is not."""
        if self._masked:
            connection.execute(
                "update documents set readable_path = null "
                "where readable_path is not null and list_contains($segments, segment)",
                {"segments": sorted(self._masked)},
            )


def masked_text(text: str) -> str:
    """Return a text with its secrets masked."""
    return masking.mask_all([text]).get(0, (text,))[0]


def masked_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines with their secrets masked, also one that goes over several of them."""
    taken: list[str] = []
    size, most = 0, 16
    for line in lines:
        taken.append(line)
        size += len(line)
        if len(taken) >= most or size >= _CHARACTERS_AT_ONCE:
            yield from masked_text("\n".join(taken)).split("\n")
            taken, size, most = [], 0, min(2 * most, _LINES_AT_ONCE)
    if taken:
        yield from masked_text("\n".join(taken)).split("\n")
