"""The dashboard as HTML: cards with charts and tables. Text of sessions is escaped, always."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape

import altair as alt

from sjduck.archive import Row
from sjduck.bounds import short
from sjduck.dashboard import charts
from sjduck.dashboard.figures import Figures
from sjduck.dashboard.numbers import count, dollars, percent
from sjduck.dashboard.pane import Page
from sjduck.dashboard.pieces import bar, card, cells, dot, title
from sjduck.dashboard.series import Series, label_of, series_of

Draw = Callable[[alt.Chart], str]
Choices = Mapping[str, Sequence[str]]
_MAX_RANKED = 10
_MAX_TOOLS = 12
_NAMED_UNPRICED = 6
_NAME_CHARACTERS = 60
_PERIODS = {"hour": "by hour", "day": "by day", "week": "by week", "month": "by month"}


def page(figures: Figures, known: Choices, *, by: str, measure: str, draw: Draw) -> str:
    """Return all the charts, each placed by `draw`."""
    return (
        tiles(figures)
        + over_time(figures, known, by=by, measure=measure, draw=draw)
        + '<div class="sjd-two">'
        + cache(figures, draw)
        + activity(figures, measure, draw)
        + blocks(figures, known, measure, draw)
        + tools(figures)
        + "</div>"
    )


def tiles(figures: Figures) -> str:
    """Return the sums over everything as a row of tiles."""
    totals = figures.totals
    shown = (
        ("Cost", dollars(totals["cost_usd"]) if totals["calls"] else "–", _cost_note(figures)),
        (
            "Tokens",
            count(totals["total_tokens"]),
            _tokens_note(totals),
        ),
        (
            "Calls",
            f"{totals['calls']:,}",
            f"{totals['sessions']:,} sessions · {totals['days']:,} days with calls",
        ),
        ("From the cache", percent(hit_rate(totals)), _cache_note(totals)),
        ("Tool errors", *_tool_errors(figures.tools)),
    )
    return (
        '<div class="sjd-tiles">'
        + "".join(
            f'<div class="sjd-tile"><div class="sjd-name">{escape(name)}</div>'
            f'<div class="sjd-value">{escape(value)}</div>'
            f'<div class="sjd-note">{escape(note)}</div></div>'
            for name, value, note in shown
        )
        + "</div>"
        + _unpriced(figures)
    )


def hit_rate(totals: Row) -> float | None:
    """Return which share of the input came from the cache; None where there was no input."""
    everything = totals["input_tokens"] + totals["cache_write_tokens"] + totals["cache_read_tokens"]
    return totals["cache_read_tokens"] / everything if everything else None


def over_time(figures: Figures, known: Choices, *, by: str, measure: str, draw: Draw) -> str:
    """Return the card of what was used over time, beside the names that it is split by."""
    series = series_of(figures, by, known[by])
    what = charts.MEASURES[measure].capitalize()
    unit = "US dollars, " if measure == "cost_usd" else ""
    return card(
        f"{what} by {by}",
        f"{unit}{_PERIODS[figures.grain]}, {figures.tz}",
        '<div class="sjd-wide"><div class="sjd-draw">'
        + draw(charts.over_time(figures, series, measure))
        + "</div>"
        + _ranking(figures.rankings[by], series, measure)
        + "</div>",
        name="over-time",
    )


def sessions(figures: Figures) -> str:
    """Return the sessions that cost most as a table, each with the command that reads it."""
    rows = figures.sessions[:30]
    if not rows:
        return ""
    body = "".join(
        f"<tr><td><code>sjduck get {escape(row['sid'] or '')}</code></td>"
        + cells(f"{row['last_at']:%Y-%m-%d}" if row["last_at"] else "", kind="sjd-day")
        + cells(row["host"], kind="sjd-minor")
        + cells(row["project"], kind="sjd-short")
        + cells(row["topic"], kind="sjd-long")
        + cells(count(row["total_tokens"]), dollars(row["cost_usd"]), kind="sjd-number")
        + "</tr>"
        for row in rows
    )
    total = rows[0]["total"]
    more = f", {len(rows)} of {total:,}" if total > len(rows) else ""
    return card(
        "Sessions that cost most",
        f"with their subagents, within the period{more}; the command reads one",
        '<div class="sjd-scroll"><table><thead><tr><th>read it<th>last call'
        '<th class="sjd-minor">host<th>project<th>topic<th class="sjd-number">tokens'
        f'<th class="sjd-number">cost</tr></thead><tbody>{body}</tbody></table></div>',
        name="sessions",
    )


def head(about: str, controls: Sequence[str]) -> str:
    """Return the head of the app: its title, what it is of, and its controls, HTML each."""
    return (
        f'<div class="sjd-head">{title("Usage and cost", 1)}<p class="sjd-about">'
        f'{escape(about)}</p></div><div class="sjd-choose">'
        f"{''.join(f'<span>{control}</span>' for control in controls)}</div>"
    )


def reading(query: str, listed: str, said: str, shown: Page | None, buttons: Sequence[str]) -> str:
    """Return the card to find a session with, its list on the left, on the right what it says.

    `query`, `listed` and `buttons` are HTML of the app's own controls.
    """
    if shown is None:
        pane = '<p class="sjd-about">Choose one to read it here.</p>'
    else:
        pane = (
            f'<div class="sjd-pane-head"><code>{escape(shown.title)}</code>'
            f"<span>{''.join(buttons)}</span></div>{shown.html}"
        )
    return (
        '<div class="sjd"><section class="sjd-card" id="sjd-read">'
        f'{title("Find and read")}<div class="sjd-read"><div>{query}'
        f'<p class="sjd-about">{escape(said)}</p>{listed}</div>'
        f'<div class="sjd-pane">{pane}</div></div></section></div>'
    )


def nothing(*, is_filtered: bool) -> str:
    """Return what stands where there are no calls, and what to do."""
    if is_filtered:
        said = "Nothing was used within these filters. Take one away, or choose a longer period."
    else:
        said = (
            "This archive holds no model calls yet. Fill it from this machine's sessions with "
            "<code>sjduck etl</code>, or from elsewhere with "
            "<code>sjduck etl --source KIND=PATH</code>; "
            "<code>sjduck status</code> says what is here. Then load this page again."
        )
    return f'<div class="sjd-card sjd-nothing">{said}</div>'


def cache(figures: Figures, draw: Draw) -> str:
    """Return the card of what the cache did."""
    totals = figures.totals
    return card(
        "Cache",
        f"share of all input that came from the cache, {_PERIODS[figures.grain]}, {figures.tz}",
        draw(charts.hit_rate(figures))
        + '<p class="sjd-about">US dollars: '
        + f'<i class="sjd-dot" style="background:{charts.ACCENT}"></i>saved by reads against the '
        + f"price of input, {dollars(totals['cache_saved_usd'])} · "
        + f'<i class="sjd-dot" style="background:{charts.WARM}"></i>cost of writes, '
        + f"{dollars(totals['cache_written_usd'])}</p>"
        + draw(charts.cache_money(figures)),
        name="cache",
    )


def activity(figures: Figures, measure: str, draw: Draw) -> str:
    """Return the card of when in the week work was done."""
    return card(
        "Hours and weekdays",
        f"{charts.MEASURES[measure]}, over all weeks, the stronger the more; {figures.tz}",
        draw(charts.activity(figures, measure)),
        name="activity",
    )


def blocks(figures: Figures, known: Choices, measure: str, draw: Draw) -> str:
    """Return the card of the newest 5-hour blocks."""
    series = series_of(figures, "harness", known["harness"])
    total = figures.blocks[0]["total"] if figures.blocks else 0
    more = f", the newest {len(figures.blocks)} of {total:,}" if total > len(figures.blocks) else ""
    legend = " ".join(dot(series, name) for name in series.names)
    return card(
        "5-hour blocks",
        f"{charts.MEASURES[measure]} a block, as subscriptions count them{more}; {figures.tz}",
        f'<p class="sjd-legend">{legend}</p>' + draw(charts.blocks(figures, series, measure)),
        name="blocks",
    )


def tools(figures: Figures) -> str:
    """Return the card of the tools that were used most, and how often they failed."""
    rows = figures.tools[:_MAX_TOOLS]
    most = max((row["uses"] for row in rows), default=1)
    total = rows[0]["total"] if rows else 0
    body = "".join(
        f"<tr>{cells(row['tool'], kind='sjd-short')}"
        f"<td>{bar(row['uses'] / most, charts.ACCENT)}</td>"
        + cells(f"{row['uses']:,}", f"{row['errors']:,}", kind="sjd-number")
        + f'<td class="sjd-number{_loud(row)}">{percent(row["error_rate"])}</td></tr>'
        for row in rows
    )
    more = f", {len(rows)} of {total:,}" if total > len(rows) else ""
    return card(
        "Tools",
        f"uses, and which share of their results were errors{more}",
        '<table><thead><tr><th>tool<th><th class="sjd-number">uses<th class="sjd-number">errors'
        f'<th class="sjd-number">rate</tr></thead><tbody>{body}</tbody></table>'
        if rows
        else "<p>No tool was used.</p>",
        name="tools",
    )


def _loud(row: Row) -> str:
    return " sjd-loud" if (row["error_rate"] or 0) >= 0.1 and row["results"] >= 20 else ""


def _ranking(rows: Sequence[Row], series: Series, measure: str) -> str:
    """Return the names of a split as a table that is the chart's legend, too."""
    most = max((row[measure] or 0 for row in rows), default=0) or 1
    body = "".join(
        f"<tr><td>{dot(series, row['series'])}</td>"
        f"<td>{bar((row[measure] or 0) / most, series.colour(row['series']))}</td>"
        + cells(dollars(row["cost_usd"]), count(row["total_tokens"]), kind="sjd-number")
        + cells(f"{row['calls']:,}", kind="sjd-number")
        + "</tr>"
        for row in rows[:_MAX_RANKED]
    )
    left = (rows[0]["total"] if rows else 0) - _MAX_RANKED
    more = f'<p class="sjd-about">and {left:,} more</p>' if left > 0 else ""
    return (
        f'<div><table class="sjd-ranking"><thead><tr><th>{escape(series.by)}<th>'
        '<th class="sjd-number">cost<th class="sjd-number">tokens<th class="sjd-number">calls'
        f"</tr></thead><tbody>{body}</tbody></table>{more}</div>"
    )


def _tokens_note(totals: Row) -> str:
    kinds = ("input", "output", "cache_read", "cache_write")
    said = ("input", "output", "from the cache", "written to it")
    return " · ".join(
        f"{count(totals[f'{kind}_tokens'])} {words}"
        for kind, words in zip(kinds, said, strict=True)
    )


def _cost_note(figures: Figures) -> str:
    note = f"; {figures.note}" if figures.note else ""
    return f"list prices by {figures.prices}{note}"


def _cache_note(totals: Row) -> str:
    saved = totals["cache_saved_usd"]
    if saved is None:
        return "of all input tokens"
    net = saved - (totals["cache_premium_usd"] or 0)
    word = "saved" if net >= 0 else "lost"
    return f"of all input tokens · {word} {dollars(abs(net))} against no cache"


def _tool_errors(tools: Sequence[Row]) -> tuple[str, str]:
    if not tools:
        return percent(None), "no tool was used"
    uses, results, errors = (tools[0][f"all_{name}"] for name in ("uses", "results", "errors"))
    rate = percent(errors / results if results else None)
    return rate, f"{errors:,} of {results:,} results · {uses:,} uses"


def _unpriced(figures: Figures) -> str:
    rows = figures.unpriced
    if not rows:
        return ""
    named = [
        f"{short(label_of(row['model']), _NAME_CHARACTERS)}: {row['calls']:,}"
        for row in rows[:_NAMED_UNPRICED]
    ]
    left = len(rows) - _NAMED_UNPRICED
    named += [f"{left} more model{'s' * (left > 1)}"] * (left > 0)
    return (
        '<p class="sjd-warning">Calls without a known price, not in any cost: '
        f"{escape(', '.join(named))}</p>"
    )
