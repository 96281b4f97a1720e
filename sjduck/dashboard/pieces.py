"""Pieces of the dashboard's HTML: a card, a table's cells, a bar. Text is escaped in here."""

from __future__ import annotations

from html import escape
from importlib.resources import files

from sjduck.dashboard.series import Series, label_of


def title(text: str, level: int = 2) -> str:
    """Return a heading: one of HTML's own would put the app's outline over the page."""
    return f'<div class="sjd-h{level}" role="heading" aria-level="{level}">{escape(text)}</div>'


def packaged(name: str) -> str:
    """Return the text of a file that lies beside this module."""
    return files("sjduck.dashboard").joinpath(name).read_text(encoding="utf-8")


def card(heading: str, about: str, content: str, *, name: str) -> str:
    """Return a card; `content` is HTML, all else is text."""
    return (
        f'<section class="sjd-card" id="sjd-{name}">{title(heading)}'
        f'<p class="sjd-about">{escape(about)}</p>{content}</section>'
    )


def cells(*values: str | None, kind: str = "") -> str:
    """Return table cells with a text each, whole in its tooltip."""
    return "".join(
        f'<td class="{kind}" title="{escape(value or "")}">{escape(value or "")}</td>'
        for value in values
    )


def dot(series: Series, name: str | None) -> str:
    """Return a name of a series beside a dot of its colour."""
    shown = escape(label_of(name))
    return (
        f'<span class="sjd-label" title="{shown}"><i class="sjd-dot" '
        f'style="background:{series.colour(name)}"></i>{shown}</span>'
    )


def bar(share: float, colour: str) -> str:
    """Return a bar of a share between 0 and 1."""
    return (
        f'<span class="sjd-bar"><i style="width:{100 * share:.1f}%;background:{colour}"></i></span>'
    )
