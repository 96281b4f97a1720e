"""What the list beside the reading pane shows: hits of a recall, or what cost most."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from sjduck.bounds import short
from sjduck.dashboard.numbers import count, dollars
from sjduck.dashboard.pane import marked
from sjduck.errors import SjduckError
from sjduck.recall import recall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sjduck.archive import Archive, Row
    from sjduck.dashboard.figures import Figures, Filters

_MAX_HITS = 25
_MAX_SESSIONS = 50
_UNTITLED = "(no topic)"
# A topic may be a whole prompt.
_TOPIC_CHARACTERS = 160


def hits(archive: Archive, query: str, filters: Filters) -> tuple[list[Row], str]:
    """Return the conversations that a topic was discussed in, best first, and what is said of it.

    Of the lists those with one name narrow it, as recall takes no more, nor what has no name.
    """
    try:
        answer = recall(
            archive,
            query,
            host=filters.host or _only(filters.hosts),
            project=filters.project or _only(filters.projects),
            harness=filters.harness or _only(filters.harnesses),
            since=filters.since,
            until=filters.until,
            tz=filters.tz,
            k=_MAX_HITS,
            max_chars=0,
        )
    except SjduckError as error:
        return [], str(error)
    rows = [{**row, "ref": row["path"] or row["sid"]} for row in answer["results"]]
    if not rows:
        return [], "nothing matches; try fewer words, or a longer period"
    said = [f"{answer['count']} of {answer['total']:,}, best first", *answer.get("notes", ())]
    return rows, "; ".join(said)


def sessions(figures: Figures) -> list[Row]:
    """Return the sessions that cost most within the filters."""
    return [
        {**row, "ref": row["session_id"] or row["sid"]} for row in figures.sessions[:_MAX_SESSIONS]
    ]


def table(rows: Sequence[Row], buttons: Sequence[str], query: str) -> str:
    """Return either list as HTML, each row with its button, which is HTML of the app's own."""
    body = "".join(
        _hit(row, button, query) if "snippets" in row else _session(row, button)
        for row, button in zip(rows, buttons, strict=True)
    )
    return f'<div class="sjd-list"><table><tbody>{body}</tbody></table></div>' if rows else ""


def _hit(row: Row, button: str, query: str) -> str:
    best = next((snippet["text"] for snippet in row["snippets"]), "")
    about = " · ".join(filter(None, (row["date"], row["host"], row["project"], row["why"])))
    return (
        f'<tr><td>{button}</td><td colspan="2"><b>{_topic(row)}</b>'
        f'<div class="sjd-note">{escape(about)}</div><div>{marked(best, query)}</div></td></tr>'
    )


def _session(row: Row, button: str) -> str:
    day = f"{row['last_at']:%Y-%m-%d}" if row["last_at"] else None
    about = " · ".join(filter(None, (day, row["host"], row["project"])))
    return (
        f"<tr><td>{button}</td><td><b>{_topic(row)}</b>"
        f'<div class="sjd-note">{escape(about)}</div></td><td class="sjd-number">'
        f"{escape(dollars(row['cost_usd']))}"
        f'<div class="sjd-note">{count(row["total_tokens"])} tokens</div></td></tr>'
    )


def _topic(row: Row) -> str:
    return escape(short(row["topic"], _TOPIC_CHARACTERS) or _UNTITLED)


def _only(names: tuple[str, ...]) -> str | None:
    return names[0] or None if len(names) == 1 else None
