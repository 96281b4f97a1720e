"""The lines that show why something was recalled: the densest first, spread over the document."""

from collections.abc import Sequence

from sjduck.archive import Row, View
from sjduck.blocktexts import block_texts, snippet_of
from sjduck.blocktexts import shown as shown_block
from sjduck.index import of_each_file
from sjduck.linetexts import LineText, held_lines, line_texts
from sjduck.passages import passage
from sjduck.sqlfiles import sql
from sjduck.terms import Question
from sjduck.words import fold

MAX_LINES = 4
MAX_TOPICS = 2
APART = 20
CHARACTERS = 240
# A line, and whether it is one of a log.
Line = tuple[int, bool]
# Of so many lines, four that are apart can always be found if there are any.
_MOST = 4 * (2 * APART + 1)


def find(view: View, ranked: Sequence[Row], asked: Question) -> dict[int, list[Row]]:
    """Return the snippets of each entry: {line, turn, text}, then {source: "log", text}.

    What the readable leaves out has no line.
    """
    from sjduck.ranking.evidence import best_lines

    entries = [row["entry"] for row in ranked]
    own = asked.query_mask
    lines = best_lines(view, entries, own, _MOST)
    without = [entry for entry in entries if entry not in lines]
    if without and len(asked.terms) > asked.query_terms:
        lines |= best_lines(view, without, (1 << len(asked.terms)) - 1, _MOST)
    others = _in_other_forms(view, [entry for entry in entries if entry not in lines])
    documents = {row["entry"]: row["document"] for row in ranked}
    texts = _texts(view, lines, documents)
    topics = _topics(view, entries, lines)
    shown: dict[int, list[Row]] = {}
    for entry in entries:
        shown[entry] = [_snippet(line, asked) for line in texts.get(entry, [])]
        shown[entry] += others.get(entry, [])
        shown[entry] += [{"source": "log", "text": around(text, asked)} for text in topics[entry]]
    return shown


def _in_other_forms(view: View, entries: list[int]) -> dict[int, list[Row]]:
    """Return of entries without a term on a line what says a word in another form, or elsewhere."""
    if not entries:
        return {}
    view.table("found_uses", of_each_file(view, "recall/uses"))
    places = view.rows(sql("recall/said_of_results"), entries=entries)
    blocks = block_texts(view, places)
    stems = [row["stem"] for row in view.rows("select distinct stem from found_stems order by all")]
    found: dict[int, list[Row]] = {}
    for place in places:
        if block := blocks.get((place["document"], place["seq"])):
            tells = passage(shown_block(block), stems)
            found[place["entry"]] = [snippet_of(block, tells.text, tells.lines_above)]
    return found


def _texts(
    view: View, lines: dict[int, list[Line]], documents: dict[int, int | None]
) -> dict[int, list[LineText]]:
    """Return the lines to show of each entry; headings have no text and make room for others."""
    left = {
        entry: [line for line, is_topic in found if not is_topic]
        for entry, found in lines.items()
        if documents[entry] is not None
    }
    picked = {entry: _apart(numbers) for entry, numbers in left.items()}
    found = _found(view, picked, documents)
    bare = [e for e, numbers in picked.items() if any((e, n) not in found for n in numbers)]
    if bare:
        held = held_lines(view, {documents[entry] or 0: left[entry] for entry in bare})
        again = {entry: _apart(held.get(documents[entry] or 0, [])) for entry in bare}
        picked |= again
        found |= _found(view, again, documents)
    return {
        entry: [found[entry, number] for number in numbers if (entry, number) in found]
        for entry, numbers in picked.items()
    }


def _found(
    view: View, picked: dict[int, list[int]], documents: dict[int, int | None]
) -> dict[tuple[int, int], LineText]:
    """Return the text of the picked lines that have one, by entry and line."""
    entries = {documents[entry]: entry for entry in picked}
    wanted = [
        (document, number)
        for document, entry in entries.items()
        if document is not None
        for number in picked[entry]
    ]
    return {(entries[text.document], text.line): text for text in line_texts(view, wanted)}


def around(text: str, asked: Question, characters: int = CHARACTERS) -> str:
    """Return at most so many characters of a line, those around its first term."""
    text = " ".join(text.split())
    if len(text) <= characters:
        return text
    folded = fold(text)
    places = [at for term in asked.terms if (at := folded.find(term.text)) >= 0]
    start = min(max(min(places, default=0) - characters // 3, 0), len(text) - characters)
    cut = text[start : start + characters]
    if start:
        cut = "…" + cut[1:]
    if start + characters < len(text):
        cut = cut[:-1] + "…"
    return cut


def _apart(lines: list[int]) -> list[int]:
    """Pick lines in their order, apart from one another while there are such.

    The first line is the title, which repeats a prompt: it stands only for want of others.
    """
    lines = [line for line in lines if line > 1] or lines
    picked: list[int] = []
    for line in lines:
        if len(picked) < MAX_LINES and all(abs(line - other) >= APART for other in picked):
            picked.append(line)
    for line in lines:
        if len(picked) < MAX_LINES and line not in picked:
            picked.append(line)
    return picked


def _topics(view: View, entries: list[int], lines: dict[int, list[Line]]) -> dict[int, list[str]]:
    """Return the topics of each entry that hold a term."""
    matching = {
        (entry, line) for entry, held in lines.items() for line, is_topic in held if is_topic
    }
    found: dict[int, list[str]] = {entry: [] for entry in entries}
    if matching:
        for row in view.rows(sql("recall/topics_of_results"), entries=entries):
            texts = found[row["entry"]]
            if (row["entry"], row["line"]) in matching and len(texts) < MAX_TOPICS:
                texts.append(row["text"])
    return found


def _snippet(line: LineText, asked: Question) -> Row:
    return {"line": line.line, "turn": line.turn, "text": around(line.text, asked)}
