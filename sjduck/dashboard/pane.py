"""The reading pane: one page of a document as HTML, and where the next one begins."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from sjduck.reading import get
from sjduck.refs import is_answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sjduck.archive import Archive, Row

MAX_CHARS = 12_000
_ABOVE = 4
_BACK = 120
_SLICE = re.compile(r'lines="([^"]+)"')
_MARK = re.compile(r"\[(?:lines|turns) [^\]]+\]\n")
_TURN = re.compile(r"## (?:User|Assistant)$")
_MAX_TERMS = 20


@dataclass(frozen=True, slots=True)
class Place:
    """What the pane shows: a document from a line on, and the pages before that one."""

    ref: str
    starts: tuple[str, ...] = ("1",)

    @property
    def start(self) -> str:
        """Where the page begins: `670`, or `670:24001` inside a long line."""
        return self.starts[-1]

    def later(self, start: str) -> Place:
        """Return the page that begins at `start`."""
        return Place(self.ref, (*self.starts, start))

    def earlier(self) -> Place | None:
        """Return the page before this one; None at the beginning."""
        if len(self.starts) > 1:
            return Place(self.ref, self.starts[:-1])
        line = int(self.start.split(":")[0])
        return Place(self.ref, (str(max(line - _BACK, 1)),)) if self.start != "1" else None


@dataclass(frozen=True, slots=True)
class Page:
    """One page: what it says it is, its text as HTML, where the next begins."""

    title: str
    html: str
    following: str | None


def place_of(row: Row) -> Place:
    """Return where to read a session, or a hit of recall: a little above its best line."""
    lines = [s["line"] for s in row.get("snippets", ()) if s.get("line")]
    start = max(lines[0] - _ABOVE, 1) if lines else 1
    return Place(row["ref"], (str(start),))


def page(archive: Archive, place: Place, query: str = "") -> Page:
    """Return the page at a place, the words of `query` marked; a pointer where it is not here."""
    answer = get(archive, place.ref, lines=f"{place.start}-", max_chars=MAX_CHARS)
    if is_answer(answer):
        said = ": ".join(str(answer[name]) for name in ("error", "hint") if name in answer)
        return Page(place.ref, f"<p>{escape(said)}</p>", None)
    rest = _SLICE.search(answer.get("hint", "")) if answer.get("truncated") else None
    text = _MARK.sub("", answer["content"], count=1)
    html = f'<pre class="sjd-text">{"".join(_lines(text, _terms(query)))}</pre>'
    following = rest[1].rsplit("-", 1)[0] if rest else None
    return Page(answer["path"], html, following)


def _lines(text: str, terms: re.Pattern[str] | None) -> list[str]:
    """Return lines as HTML: headings of turns stand out, what tools got and gave stands back."""
    shown, fence = [], ""
    for line in text.split("\n"):
        kind = "sjd-turn" if not fence and _TURN.match(line) else "sjd-fence" if fence else ""
        if fence and line.strip() == fence:
            fence = ""
        elif not fence and (opened := re.match(r"(`{3,}|~{3,})", line)):
            fence, kind = opened[1], "sjd-fence"
        html = _marked(line, terms)
        shown.append(f'<span class="{kind}">{html}</span>\n' if kind else f"{html}\n")
    return shown


def marked(text: str, query: str) -> str:
    """Return a text as HTML, the words of a query marked in it."""
    return _marked(text, _terms(query))


def _terms(query: str) -> re.Pattern[str] | None:
    words: Sequence[str] = [word for word in query.split() if len(word) > 2][:_MAX_TERMS]
    return re.compile(f"({'|'.join(map(re.escape, words))})", re.IGNORECASE) if words else None


def _marked(text: str, terms: re.Pattern[str] | None) -> str:
    if terms is None:
        return escape(text)
    pieces = [escape(piece) for piece in terms.split(text)]
    return "".join(f"<mark>{p}</mark>" if n % 2 else p for n, p in enumerate(pieces))
