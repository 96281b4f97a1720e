"""Which blocks match a search: by the words of the index, then by what stands in their text."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sjduck.archive import Row, View
from sjduck.blocktexts import Place, block_texts, shown
from sjduck.entries import Filters, keep_eligible
from sjduck.partlines import find_lines
from sjduck.periods import Period
from sjduck.phrases import Part, folded
from sjduck.sqlfiles import sql
from sjduck.words import relevance_text

# Blocks whose text is read for phrases, those with the best score: more only for a phrase of
# words that stand everywhere.
MOST_JUDGED = 2_000
# Blocks that are read for a word as it was written.
MOST_WRITTEN_SO = 48
_ASKED = {"part": "integer", "kind": "varchar", "text": "varchar", "is_written_so": "boolean"}
_WRITTEN_SO = {"part": "integer", "file": "integer", "id": "integer"}
_JUDGED = {"document": "bigint", "seq": "integer", "stands": "boolean", "literals": "integer"}


@dataclass(frozen=True, slots=True)
class Scope:
    """Which blocks are looked at: those of some entries, by whom, sent when."""

    entries: Filters
    role: str | None
    span: Period
    tz: str
    include_low_signal: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """What a search came to; the hits themselves are in `hits`."""

    total: int
    # Words that are looked for and stand nowhere: lower case, without accents.
    unknown: tuple[str, ...]
    notes: tuple[str, ...]
    # Blocks that were read on the way.
    blocks: dict[Place, Row]


def find(view: View, parts: Sequence[Part], scope: Scope) -> Found:
    """Leave the blocks that match in `hits`."""
    unknown = _find_words(view, parts)
    keep_eligible(view, scope.entries, Period(None, None), scope.tz)
    parts, phrases, notes = _find_blocks(view, parts, scope)
    view.table("matching", sql("search/weighed"))
    blocks, left = _judge(view, parts, phrases)
    wanted = [part.kind for part in parts if part.kind != "without"]
    has_phrases = "phrase" in wanted
    view.table("hits", sql("search/hits"), has_phrases=has_phrases, parts=len(wanted))
    counted = view.row("select count(*) as total from hits")
    return Found(counted["total"] if counted else 0, unknown, (*notes, *left), blocks)


def read(view: View, rows: Iterable[Row]) -> dict[Place, Row]:
    """Return the blocks of rows that have `document`, `seq` and `kind`."""
    places: list[Place] = []
    topics: list[Place] = []
    for row in rows:
        (topics if row["kind"] == "topic" else places).append((row["document"], row["seq"]))
    return block_texts(view, places, topics)


def _find_words(view: View, parts: Sequence[Part]) -> tuple[str, ...]:
    """Leave the stems of a search in `search_stems`, and where they stand in `found_uses`."""
    asked = [
        {
            "part": number,
            "kind": part.kind,
            "text": relevance_text(part.text),
            "is_written_so": part.is_written_so,
        }
        for number, part in enumerate(parts)
    ]
    view.table_of("asked", _ASKED, asked)
    view.table("tokens", sql("search/tokens"))
    view.table("search_stems", sql("search/stems"))
    view.table("found_uses", sql("search/uses"))
    return tuple(row["token"] for row in view.rows(sql("search/unknown")))


def _find_blocks(
    view: View, parts: Sequence[Part], scope: Scope
) -> tuple[Sequence[Part], int, list[str]]:
    """Leave the blocks that hold words in `found_blocks`; return how their text is to be judged.

    That is by the parts, by how many phrases a block has to hold the words of, and by what was
    not looked at. Where there are no words, every part has to stand.
    """
    values = {
        "role": scope.role,
        "include_sidechains": scope.entries.include_sidechains,
        "since_at": scope.span.since_at,
        "until_at": scope.span.until_at,
    }
    with_words = [row["part"] for row in view.rows(sql("search/with_words"))]
    if not with_words:
        view.table("found_blocks", sql("search/newest"), most=MOST_JUDGED, **values)
        parts = [p if p.kind == "without" else p._replace(kind="phrase") for p in parts]
        return parts, 0, [f"no word to look up: looked through the newest {MOST_JUDGED:,} blocks"]
    view.table("block_scores", sql("recall/score_blocks"))
    view.table("holders", sql("search/holders"))
    has_punctuation = any(part.kind == "word" and part.is_written_so for part in parts)
    if has_punctuation or scope.include_low_signal:
        find_lines(view, parts, all_of_them=scope.include_low_signal)
    if has_punctuation:
        view.table("written_so", sql("search/written_so"))
    else:
        view.table_of("written_so", _WRITTEN_SO, [])
    view.table("found_blocks", sql("search/said"), **values)
    if scope.include_low_signal:
        view.add("found_blocks", sql("search/low"), **values)
    return parts, sum(parts[number].kind == "phrase" for number in with_words), []


def _judge(view: View, parts: Sequence[Part], phrases: int) -> tuple[dict[Place, Row], list[str]]:
    """Leave in `judged` what the text of the best blocks says.

    Returns those blocks, and what was not looked at.
    """
    literals = {
        kind: [part.literal for part in parts if part.kind == kind and part.is_written_so]
        for kind in ("phrase", "word", "without")
    }
    rows = view.rows(
        sql("search/to_judge"),
        phrases=phrases,
        has_phrases=bool(literals["phrase"]),
        most=MOST_JUDGED,
        most_words=MOST_WRITTEN_SO,
    )
    blocks = read(view, rows)
    texts = {place: folded(_whole(block)) for place, block in blocks.items()}
    judged = [
        {
            "document": document,
            "seq": seq,
            "stands": all(literal in text for literal in literals["phrase"])
            and not any(literal in text for literal in literals["without"]),
            "literals": sum(literal in text for literal in literals["word"]),
        }
        for (document, seq), text in texts.items()
    ]
    view.table_of("judged", _JUDGED, judged)
    candidates = rows[0]["candidates"] if rows else 0
    if candidates > MOST_JUDGED and (literals["phrase"] or literals["without"]):
        note = f"phrases were looked for in the best {MOST_JUDGED:,} of {candidates:,} blocks"
        return blocks, [note]
    return blocks, []


def _whole(block: Row) -> str:
    """Return all that a phrase may stand in: of a call the command and the input as it was sent."""
    if block["kind"] != "tool_use":
        return str(block["text"])
    return f"{shown(block)}\n{block['text']}"
