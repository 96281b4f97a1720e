"""What the text of blocks says that hold the words: do phrases stand in it, or what must not?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sjduck.archive import Row, View
from sjduck.blocktexts import Place, block_texts, shown
from sjduck.phrases import Part, folded
from sjduck.sqlfiles import sql

# Blocks that are read for phrases, those with the best score: more only for a phrase of words
# that stand everywhere.
MOST_JUDGED = 2_000
# The best are read first: often they fill a page. Each costs the unpacking of what is around it.
_FIRST = 64
# Blocks that are read for a word as it was written.
_MOST_WRITTEN_SO = 32
_JUDGED = {"document": "bigint", "seq": "integer", "stands": "boolean", "literals": "integer"}


@dataclass(frozen=True, slots=True)
class Judged:
    """The blocks that were read, and what was not looked at."""

    blocks: dict[Place, Row]
    notes: tuple[str, ...]


def judge(view: View, parts: Sequence[Part], phrases: int, *, rank: str, enough: int) -> Judged:
    """Leave in `judged` what the text of the best blocks says.

    A block has to hold the words of so many `phrases`. Where only those decide, `enough` blocks
    in which they stand are enough.
    """
    verdict = _Verdict(parts)
    if verdict.is_open:
        view.table_of("judged", _JUDGED, [])
        return Judged({}, ())
    rows = view.rows(
        sql("search/to_judge"),
        rank=rank,
        phrases=phrases,
        has_phrases=bool(verdict.phrases),
        most=MOST_JUDGED,
        most_words=_MOST_WRITTEN_SO,
    )
    blocks: dict[Place, Row] = {}
    judged: list[Row] = []
    looked = 0
    for batch in _batches(rows):
        read_now = block_texts(view, batch)
        blocks |= read_now
        looked += sum(row["is_decisive"] for row in batch)
        judged += [verdict.on(place, block) for place, block in read_now.items()]
        standing = sum(row["stands"] for row in judged)
        if verdict.phrases and not verdict.words and standing >= enough:
            break
    view.table_of("judged", _JUDGED, judged)
    candidates = rows[0]["candidates"] if rows else 0
    if looked == candidates:
        return Judged(blocks, ())
    note = f"phrases were looked for in the best {looked:,} of {candidates:,} blocks"
    return Judged(blocks, (note,))


def _batches(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    yield rows[:_FIRST]
    if len(rows) > _FIRST:
        yield rows[_FIRST:]


class _Verdict:
    """What has to stand in a block literally, what may, and what must not."""

    def __init__(self, parts: Sequence[Part]) -> None:
        written_so = [part for part in parts if part.is_written_so]
        self.phrases = [part.literal for part in written_so if part.kind == "phrase"]
        self.words = [part.literal for part in written_so if part.kind == "word"]
        self.withouts = [part.literal for part in written_so if part.kind == "without"]

    @property
    def is_open(self) -> bool:
        """Whether no text has to be read."""
        return not (self.phrases or self.words or self.withouts)

    def on(self, place: Place, block: Row) -> Row:
        """Return whether a block is a hit, and how many words stand in it as written."""
        text = folded(_whole(block))
        is_right = all(phrase in text for phrase in self.phrases)
        return {
            "document": place[0],
            "seq": place[1],
            "stands": is_right and not any(unwanted in text for unwanted in self.withouts),
            "literals": sum(word in text for word in self.words),
        }


def _whole(block: Row) -> str:
    """Return all that a phrase may stand in: of a call the command and the input as it was sent."""
    if block["kind"] != "tool_use":
        return str(block["text"])
    return f"{shown(block)}\n{block['text']}"
