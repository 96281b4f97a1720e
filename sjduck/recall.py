"""Recall: which conversations a topic was discussed in, on which machine, with evidence."""

import shlex
from collections.abc import Sequence

from sjduck import snippets, verify
from sjduck.archive import Row, View, question
from sjduck.bounds import MAX_FIELD_CHARACTERS, Answer, fit, short
from sjduck.entries import Filters, keep_eligible, shown
from sjduck.errors import UsageError
from sjduck.index import find_spots, of_each_file, prepare
from sjduck.periods import period
from sjduck.semantic.nearest import check_mode, find_near, keep_weight
from sjduck.semantic.shown import Near, near_snippets, with_near
from sjduck.settings import check_timezone
from sjduck.sqlfiles import sql
from sjduck.terms import MAX_TERMS, PIECES, Question
from sjduck.terms import question as ask_terms
from sjduck.words import relevance_text

TYPES = ("transcript", "subagent", "plan", "memory", "note", "log")
RANKS = ("fused", "windows")
MAX_CHARS = 12_000
MAX_RESULTS = 100
_RESUME = {
    "claude": "claude --resume",
    "codex": "codex resume",
    "opencode": "opencode --session",
}
_VERIFIED = {"entry": "integer", "line": "integer", "is_topic": "boolean", "term": "integer"}


@question
def recall(
    view: View,
    query: str,
    *,
    also: str | None = None,
    host: str | None = None,
    project: str | None = None,
    harness: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
    type: str | None = None,
    include_sidechains: bool = False,
    k: int = 8,
    rank: str = "fused",
    mode: str | None = None,
    fields: str = "compact",
    max_chars: int = MAX_CHARS,
) -> Answer:
    """Return the conversations that a topic was discussed in, best first, with evidence.

    `also` holds other words that they may have used: they count for the order, not for the
    shown score. `mode` asks by words, meaning or both (hybrid); None is hybrid where what is said
    is embedded, else words. `fields="full"` adds how to resume each in its harness. Raises
    UsageError for a question without a word, or an unknown rank, mode or type.
    """
    if rank not in RANKS:
        raise UsageError(f"unknown rank {rank!r}; one of: {', '.join(RANKS)}")
    if type is not None and type not in TYPES:
        raise UsageError(f"unknown type {type!r}; one of: {', '.join(TYPES)}")
    check_mode(mode)
    # What no text can hold, and no answer send.
    query = query.encode("utf-8", "replace").decode()
    also = also and also.encode("utf-8", "replace").decode()
    asked = ask_terms(query, also)
    if not asked.query_terms:
        raise UsageError("nothing to recall; give a few words of the topic")
    tz = check_timezone(tz or view.timezone)
    span = period(since, until, tz)
    prepare(view)
    # numpy takes as long to import as a question: who never asks one does not wait for it.
    from sjduck.ranking import order

    notes = _find_evidence(view, asked)
    view.table("found_stems", sql("recall/stems"), text=relevance_text(f"{query} {also or ''}"))
    filters = Filters(
        host=host,
        project=project,
        harness=harness,
        type=type,
        include_sidechains=include_sidechains or type == "subagent",
    )
    keep_eligible(view, filters, span, tz)
    words_only = "rank=windows goes by words" if rank == "windows" else ""
    meaning = find_near(view, query, mode, words_only=words_only)
    has_near = meaning.mode != "words"
    if has_near:
        view.table("near_entries", sql("semantic/near_entries"))
    if meaning.mode == "hybrid":
        view.table("found_uses", of_each_file(view, "recall/uses"))
        view.table("found_parts", sql("recall/found_parts"))
    if has_near:
        keep_weight(view, query, meaning.mode, is_helped=bool(also))
    by = "meaning" if meaning.mode == "meaning" else rank
    ranked = order.ranked(view, asked, min(max(k, 1), MAX_RESULTS), by, has_near=has_near)
    near = near_snippets(view, ranked, asked) if has_near else {}
    found = snippets.find(view, ranked, asked)
    results = [
        {
            **shown(row, tz),
            **(resumption(row) if fields == "full" else {}),
            "score": int(row["score"]),
            "why": _why(row, asked, found[row["entry"]], near.get(row["entry"])),
            "snippets": with_near(
                found[row["entry"]], near.get(row["entry"]), is_first=by == "meaning"
            ),
        }
        for row in ranked
    ]
    notes += meaning.notes
    notes += [row["warning"] for row in view.rows("select warning from index_warnings")]
    if asked.left_out:
        notes.append(f"{asked.left_out} further words were left out: at most {MAX_TERMS} count")
    query = short(query, MAX_FIELD_CHARACTERS)
    frame = {"query": query, **meaning.said, "tz": tz, **({"notes": notes} if notes else {})}
    shown_results, said = fit(frame, results, max_chars)
    count, total = len(shown_results), ranked[0]["total"] if ranked else 0
    if total > count:
        said["more"] = f"{total - count} more match: {_how_to_see_more(count, len(results))}"
    return {
        "query": query,
        "count": count,
        "total": total,
        "results": shown_results,
        **{name: value for name, value in frame.items() if name != "query"},
        **said,
    }


def _how_to_see_more(count: int, found: int) -> str:
    if count < found:
        return "repeat with a larger max_chars, or filter by host, project or period"
    if count == MAX_RESULTS:
        return "repeat with more words, or filter by host, project or period"
    return f"repeat with k={min(2 * count, MAX_RESULTS)}, more words, or a filter"


def _find_evidence(view: View, asked: Question) -> list[str]:
    """Leave where terms stand in `spots` and `other_hits`; return what could not be looked at."""
    found = [(number, text) for number, term in enumerate(asked.terms) for text in term.pieces]
    pieces = [
        {
            "piece": piece,
            "term": term,
            "text": text,
            "is_part": asked.terms[term].is_part,
            "parts": len(asked.terms[term].pieces),
        }
        for piece, (term, text) in enumerate(found)
    ]
    view.table_of("pieces", PIECES, pieces)
    find_spots(view)
    verified, notes = verify.verified(view, asked)
    view.table("other_hits", sql("recall/topic_hits"))
    if verified:
        view.table_of("verified", _VERIFIED, verified)
        view.add("other_hits", "select entry, term, is_topic, line from verified")
    return notes


def resumption(row: Row) -> Row:
    """Return what takes a session up again: its whole id, its folder, and the command."""
    command = _RESUME.get(row["harness"] or "")
    if command is None or not row["session_id"] or row["type"] not in ("transcript", "log"):
        return {"session_id": row["session_id"]}
    return {
        "session_id": row["session_id"],
        "cwd": row["cwd"],
        "resume": f"{command} {shlex.quote(row['session_id'])}",
    }


def _why(row: Row, asked: Question, snippets: Sequence[Row], near: Near | None) -> str:
    """Say what the evidence is: `6/7 terms · 5 in one passage · catalogue line · also: 3`.

    Where no term is on a line, it says what the snippet shows instead. How near its nearest
    passage is in meaning comes last: `meaning 0.58`.
    """
    terms = row["query_terms"] or 0
    parts = [f"{terms}/{asked.query_terms} terms"]
    if (row["query_dense"] or 0) > 1:
        parts.append(f"{row['query_dense']} in one passage")
    if row["query_topic_matches"]:
        parts.append("catalogue line")
    if further := (row["terms"] or 0) - terms:
        parts.append(f"also: {further}")
    if snippets and not row["terms"]:
        is_shown = "turn" not in snippets[0] or "line" in snippets[0]
        parts.append("other forms" if is_shown else "not in the readable")
    if near is not None:
        parts.append(f"meaning {near.cosine:.2f}")
    return " · ".join(parts)
