"""Search: the messages in which something was said, by whom and when, best first."""

from collections.abc import Iterator, Sequence

from sjduck.archive import Row, View, question
from sjduck.blocktexts import block_texts
from sjduck.blocktexts import shown as shown_block
from sjduck.bounds import MAX_FIELD_CHARACTERS, Answer, bound, page, short
from sjduck.entries import Filters
from sjduck.entries import shown as shown_entry
from sjduck.errors import UsageError
from sjduck.index import prepare
from sjduck.matching import Found, Scope, find
from sjduck.passages import bare, passage
from sjduck.periods import local, period
from sjduck.phrases import MAX_PARTS, Part, parse
from sjduck.semantic.cutting import CHARACTERS
from sjduck.semantic.nearest import check_mode, find_near
from sjduck.settings import check_timezone
from sjduck.typos import corrections

ROLES = ("user", "assistant", "system")
RANKS = ("blended", "bm25")
MAX_CHARS = 12_000
MAX_HITS = 500
_MOST_NAMED = 20
_WORD_CHARACTERS = 60
_TOPIC_CHARACTERS = 120
_MOST = 2**31 - 1


@question
def search(
    view: View,
    query: str,
    *,
    host: str | None = None,
    project: str | None = None,
    harness: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
    role: str | None = None,
    include_low_signal: bool = False,
    include_sidechains: bool = False,
    rank: str = "blended",
    mode: str | None = None,
    limit: int = 20,
    offset: int = 0,
    max_chars: int = MAX_CHARS,
) -> Answer:
    """Return the blocks that hold words of a query, best first.

    `"phrases"` have to stand literally, `-word` excludes; `since` and `until` are compared with
    the block's own time. `mode` asks by words, meaning or both (hybrid); None is hybrid where what
    is said is embedded, else words. Where no word stands anywhere they are corrected, and
    `corrected` says so; else `unknown` names them. Raises UsageError for an empty query, or an
    unknown role, rank or mode.
    """
    if rank not in RANKS:
        raise UsageError(f"unknown rank {rank!r}; one of: {', '.join(RANKS)}")
    if role is not None and role not in ROLES:
        raise UsageError(f"unknown role {role!r}; one of: {', '.join(ROLES)}")
    check_mode(mode)
    max_chars = bound(max_chars, MAX_CHARS)
    tz = check_timezone(tz or view.timezone)
    filters = Filters(host, project, harness, include_sidechains=include_sidechains)
    span = period(since, until, tz)
    # What no text can hold, and no answer send.
    query = query.encode("utf-8", "replace").decode()
    asked = parse(query)
    if not asked.parts:
        raise UsageError("nothing to search for; give words, or a phrase in quotes")
    prepare(view)
    meaning = find_near(view, query, mode, words_only=_words_only(asked.parts, rank))
    scope = Scope(filters, role, span, tz, rank, include_low_signal, meaning.mode)
    offset, limit = min(max(offset, 0), _MOST), min(max(limit, 1), MAX_HITS)
    found, parts, said = _found(view, asked.parts, scope, limit, offset)
    if not found.total and not include_low_signal:
        said["hint"] = (
            "include_low_signal=true looks in tool output too; sj_recall in parts of words"
        )
    notes = [*found.notes, *meaning.notes, *_notes(view, asked.left_out)]
    return page(
        {"query": short(query, MAX_FIELD_CHARACTERS), **said},
        _hits(view, found, parts, tz),
        name="hits",
        total=found.total,
        offset=offset,
        max_chars=max_chars,
        tail={"rank": rank, **meaning.said, "tz": tz, **({"notes": notes} if notes else {})},
    )


def _words_only(parts: Sequence[Part], rank: str) -> str:
    """Return why only words count, empty where meaning may."""
    if rank == "bm25":
        return "rank=bm25 goes by words"
    if any(part.kind != "word" for part in parts):
        return "phrases and exclusions go by words"
    return ""


def _found(
    view: View, parts: tuple[Part, ...], scope: Scope, limit: int, offset: int
) -> tuple[Found, tuple[Part, ...], Answer]:
    """Return what a search came to, the parts that were searched for, and what to say of them."""
    said: Answer = {}
    found = find(view, parts, scope, limit, offset)
    is_lost = not found.total or (scope.mode != "words" and not found.is_known)
    if is_lost and (meant := corrections(view, found.unknown)):
        said["corrected"] = meant
        parts = tuple(part.corrected(meant) for part in parts)
        found = find(view, parts, scope, limit, offset)
    elif found.unknown and not scope.include_low_signal:
        said["unknown"] = _named(found.unknown)
    if excluded := [part.text for part in parts if part.kind == "without"]:
        said["excluded"] = _named(excluded)
    return found, parts, said


def _named(words: Sequence[str]) -> list[str]:
    return [short(word, _WORD_CHARACTERS) for word in words[:_MOST_NAMED]]


def _notes(view: View, left_out: int) -> list[str]:
    notes = [row["warning"] for row in view.rows("select warning from index_warnings")]
    if left_out:
        notes.append(f"{left_out} further words were left out: at most {MAX_PARTS} count")
    return notes


def _hits(view: View, found: Found, parts: Sequence[Part], tz: str) -> Iterator[Row]:
    """Yield rows of `search/ranked` as they are shown."""
    wanted = [
        {"document": row["block_document"], "seq": row["seq"], "kind": row["block_kind"]}
        for row in found.rows
        if (row["block_document"], row["seq"]) not in found.blocks
    ]
    blocks = {**found.blocks, **block_texts(view, wanted)}
    needles = _needles(parts, found.words)
    for row in found.rows:
        block = blocks[row["block_document"], row["seq"]]
        yield {**_entry(row, tz), **_block(row, block, needles, tz)}


def _entry(row: Row, tz: str) -> Row:
    entry = shown_entry(row, tz)
    return {**entry, "topic": short(entry["topic"], _TOPIC_CHARACTERS)}


def _block(row: Row, block: Row, needles: Sequence[str], tz: str) -> Row:
    """Return what is shown of a block: where it is, who said it when, and its best passage."""
    text, above = shown_block(block), 0
    if row["start"] is not None:
        above = text.count("\n", 0, row["start"])
        text = text[row["start"] : row["start"] + CHARACTERS]
    found = passage(text, needles)
    line = block["line_start"]
    there = local(block["sent_at"], tz)
    return {
        "line": None if line is None else min(line + above + found.lines_above, block["line_end"]),
        "turn": block["turn"],
        "seq": row["seq"],
        "uuid": block["uuid"],
        "role": block["role"],
        "kind": block["kind"],
        **({"tool": block["tool_name"]} if block["tool_name"] else {}),
        "sent_at": f"{there:%Y-%m-%d %H:%M}" if there else None,
        "score": round(row["value"], 3),
        "snippet": found.text,
    }


def _needles(parts: Sequence[Part], words: Sequence[str]) -> list[str]:
    """Return what a passage should show: the parts as written, their words, and their stems."""
    found = [*(bare(part.text) for part in parts if part.kind != "without"), *words]
    telling = [needle for needle in found if len(needle) > 2 or not needle.isascii()]
    return list(dict.fromkeys(telling or found))
