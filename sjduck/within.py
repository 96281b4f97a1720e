"""Find one literal text inside one document."""

from sjduck.archive import View, question
from sjduck.bounds import Answer, Budget, compact
from sjduck.errors import UsageError
from sjduck.reading import readable_lines
from sjduck.refs import is_answer, path_of, resolve
from sjduck.sqlfiles import sql

MAX_CHARS = 12_000
MAX_PASSAGES = 40
EXCERPT_CHARACTERS = 600
_PAGING_CHARACTERS = 160


@question
def search_within(
    view: View, ref: str, query: str, *, context: int = 2, max_chars: int = MAX_CHARS
) -> Answer:
    """Return where a text stands in a document's readable, whatever its case.

    `matches` counts every line that holds it; passages show the lines around, at most 40.
    """
    if not query:
        raise UsageError("nothing to look for; give a text")
    document = resolve(view, ref)
    if is_answer(document):
        return document
    lines = [text for _, text in readable_lines(view, document)]
    wanted = query.lower()
    hits = [number for number, text in enumerate(lines, 1) if wanted in text.lower()]
    head = {"path": path_of(document), "query": query, "matches": len(hits)}
    groups = _groups(hits, max(context, 0))
    turns = _turns(view, document, [first for first, _ in groups[:MAX_PASSAGES]])
    budget = Budget(max_chars)
    budget.take(compact(head) + " " * _PAGING_CHARACTERS)
    passages: list[Answer] = []
    for (first, last), turn in zip(groups, turns, strict=False):
        passage = {
            "line": first,
            "turn": turn,
            "excerpt": _excerpt(lines, first, last, context, wanted),
        }
        if not budget.take(compact(passage) + ",") and passages:
            break
        passages.append(passage)
    answer: Answer = {**head, "passages": passages}
    if len(passages) < len(groups):
        following = groups[len(passages)][0]
        answer["more"] = (
            f"{len(groups) - len(passages)} more passages, the next at line {following}: "
            f'read on with sj_get lines="{following}-"'
        )
    return answer


def _groups(hits: list[int], context: int) -> list[tuple[int, int]]:
    """Join matches that stand in one another's context: (first, last) lines of each group."""
    groups: list[tuple[int, int]] = []
    for hit in hits:
        if groups and hit - groups[-1][0] <= context:
            groups[-1] = groups[-1][0], hit
        else:
            groups.append((hit, hit))
    return groups


def _excerpt(lines: list[str], first: int, last: int, context: int, wanted: str) -> str:
    """Return a match with the lines around; of a long line, what stands around the match."""
    at = lines[first - 1].lower().find(wanted)
    line = lines[first - 1]
    if len(line) > EXCERPT_CHARACTERS:
        start = max(0, at - EXCERPT_CHARACTERS // 3)
        return line[start : start + EXCERPT_CHARACTERS]
    around = max(context, 0)
    shown = "\n".join(lines[max(first - 1 - around, 0) : last + around])
    if len(shown) <= EXCERPT_CHARACTERS:
        return shown
    from_match = "\n".join(lines[first - 1 : last + around])
    return from_match[:EXCERPT_CHARACTERS]


def _turns(view: View, document: Answer, lines: list[int]) -> list[int | None]:
    """Return the turn of each line."""
    file = view.file_of("blocks", document)
    if not lines or file is None:
        return [None] * len(lines)
    rows = view.rows(
        sql("reading/turn_of_line"), file=file, document=document["document"], lines=lines
    )
    found = {row["line"]: row["turn"] for row in rows}
    return [found.get(line) for line in lines]
