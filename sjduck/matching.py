"""Which blocks match a search: by the words of the index, then by what stands in their text."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sjduck.archive import Row, View
from sjduck.blocktexts import Place
from sjduck.entries import Filters, keep_eligible
from sjduck.index import of_each_file
from sjduck.judging import MOST_JUDGED, judge
from sjduck.partlines import find_lines
from sjduck.periods import Period
from sjduck.phrases import Part
from sjduck.semantic.nearest import keep_weight
from sjduck.sqlfiles import sql
from sjduck.words import relevance_text

_NO_WORD = f"no word to look up: looked through the newest {MOST_JUDGED:,} blocks"
_ASKED = {"part": "integer", "kind": "varchar", "text": "varchar", "is_written_so": "boolean"}
_WRITTEN_SO = {"part": "integer", "file": "integer", "id": "integer"}


@dataclass(frozen=True, slots=True)
class Scope:
    """Which blocks are looked at: those of some entries, by whom, sent when; and in which order."""

    entries: Filters
    role: str | None
    span: Period
    tz: str
    rank: str = "blended"
    include_low_signal: bool = False
    # By words, meaning, or both: then `near_passages` holds what is near.
    mode: str = "words"

    @property
    def values(self) -> Row:
        """What the SQL of blocks asks for."""
        return {
            "role": self.role,
            "include_sidechains": self.entries.include_sidechains,
            "since_at": self.span.since_at,
            "until_at": self.span.until_at,
        }


@dataclass(frozen=True, slots=True)
class Found:
    """What a search came to: one page of hits."""

    rows: list[Row]
    total: int
    # Words that are looked for and stand nowhere: lower case, without accents.
    unknown: tuple[str, ...]
    # The words that are looked for, and their stems.
    words: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    # Blocks that were read on the way.
    blocks: dict[Place, Row] = field(default_factory=dict)
    # Whether any of the words stands anywhere.
    is_known: bool = False


def find(view: View, parts: Sequence[Part], scope: Scope, limit: int, offset: int) -> Found:
    """Return a page of the blocks that match, the best first."""
    tokens = _find_words(view, parts)
    unknown = tuple(dict.fromkeys(row["token"] for row in tokens if not row["is_known"]))
    is_known = not tokens or any(row["is_known"] for row in tokens)
    if not is_known and not scope.include_low_signal and scope.mode == "words":
        return Found([], 0, unknown)
    words = tuple(row["token"] for row in tokens) + tuple(row["stem"] for row in tokens)
    keep_eligible(view, scope.entries, Period(None, None), scope.tz)
    with_words = {row["part"] for row in tokens}
    if scope.mode == "meaning":
        view.table("found_blocks", sql("search/newest"), most=0, **scope.values)
    elif with_words:
        _find_blocks(view, parts, scope)
    else:
        # Nothing can be looked up: every part has to stand.
        view.table("found_blocks", sql("search/newest"), most=MOST_JUDGED, **scope.values)
        parts = [p if p.kind == "without" else p._replace(kind="phrase") for p in parts]
    _weigh(view, parts, scope)
    phrases = sum(parts[number].kind == "phrase" for number in with_words)
    # What is near is worth how near it is, however it is written.
    rank = "bm25" if scope.mode == "meaning" else scope.rank
    judged = judge(view, parts, phrases, rank=rank, enough=offset + limit + 1)
    rows, total = _page(view, parts, rank, limit, offset)
    is_lookup = with_words or scope.mode == "meaning"
    notes = judged.notes if is_lookup else (_NO_WORD, *judged.notes)
    return Found(rows, total, unknown, words, notes, judged.blocks, is_known=is_known)


def _weigh(view: View, parts: Sequence[Part], scope: Scope) -> None:
    """Leave the blocks that match in `matching`, with what they are worth."""
    if scope.mode == "words":
        view.define("matching", sql("search/weighed"))
        return
    view.table("worded", sql("search/weighed"))
    view.table("near_blocks", sql("semantic/near_blocks"), **scope.values)
    # Words that stand nowhere have been corrected.
    view.table_of("found_parts", {"text": "varchar"}, [])
    keep_weight(view, " ".join(part.text for part in parts), scope.mode)
    view.table("matching", sql("search/fused"), mode=scope.mode)


def _page(
    view: View, parts: Sequence[Part], rank: str, limit: int, offset: int
) -> tuple[list[Row], int]:
    """Return one page of hits, and how many hits there are."""
    wanted = [part.kind for part in parts if part.kind != "without"]
    has_phrases = "phrase" in wanted
    rows = view.rows(
        sql("search/ranked"),
        rank=rank,
        has_phrases=has_phrases,
        parts=len(wanted),
        limit=limit,
        offset=offset,
    )
    if rows or not offset:
        return rows, rows[0]["total"] if rows else 0
    counted = view.row(sql("search/total"), has_phrases=has_phrases)
    return [], counted["total"] if counted else 0


def _find_words(view: View, parts: Sequence[Part]) -> list[Row]:
    """Leave the stems of a search in `search_stems`, where they stand in `found_uses`.

    Returns the tokens that are looked for.
    """
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
    view.table("found_stems", sql("search/wanted_stems"))
    view.table("found_uses", of_each_file(view, "recall/uses"))
    return view.rows(sql("search/wanted_tokens"))


def _find_blocks(view: View, parts: Sequence[Part], scope: Scope) -> None:
    """Leave the blocks that hold words in `found_blocks`."""
    view.table("block_scores", sql("recall/score_blocks"))
    view.table("holders", sql("search/holders"))
    _find_written_so(view, parts, all_of_them=scope.include_low_signal)
    view.table("found_blocks", sql("search/said"), **scope.values)
    if scope.include_low_signal:
        view.add("found_blocks", sql("search/low"), **scope.values)


def _find_written_so(view: View, parts: Sequence[Part], *, all_of_them: bool) -> None:
    """Leave in `written_so` where words with punctuation may stand as they were written."""
    has_punctuation = any(part.kind == "word" and part.is_written_so for part in parts)
    if has_punctuation or all_of_them:
        find_lines(view, parts, all_of_them=all_of_them)
    if has_punctuation:
        view.table("written_so", sql("search/written_so"))
    else:
        view.table_of("written_so", _WRITTEN_SO, [])
