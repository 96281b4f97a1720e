"""The charts, as Altair makes Vega-Lite of them: their colours follow the text around them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import altair as alt

from sjduck.archive import Row
from sjduck.dashboard.figures import Figures
from sjduck.dashboard.series import Series

MEASURES = {"cost_usd": "cost", "total_tokens": "tokens", "calls": "calls"}
_HOUR_MS = 3_600_000
_LENGTHS = {
    "hour": _HOUR_MS,
    "day": 24 * _HOUR_MS,
    "week": 7 * 24 * _HOUR_MS,
    "month": 30 * 24 * _HOUR_MS,
}
_BLOCK_MS = 5 * _HOUR_MS
_DAYS = {
    "hour": "%a %d %b %Y %H:00",
    "day": "%a %d %b %Y",
    "week": "week from %a %d %b %Y",
    "month": "%B %Y",
}
# A bar leaves a gap to the next one.
_FILLED = 0.86
ACCENT = "#0072b2"
WARM = "#d55e00"
_HEIGHT = 250
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
# Vega's own formats know no B, and write small amounts as $500µ.
_COUNTED = "replace(format(abs(datum.value), '~s'), 'G', 'B')"
_DOLLARS = "replace(format(abs(datum.value), '{}'), 'G', 'B')"
# Up to so many dollars on an axis are written like this.
_DOLLAR_FORMATS = ((0.01, "$,.2~r"), (0.4, "$,.3~f"), (9, "$,.2f"), (1_000, "$,.0f"))
_COST_SAID = (
    "datum.cost_usd == null ? 'no known price'"
    " : format(datum.cost_usd, datum.cost_usd < 0.1 ? '$,.4f' : '$,.2f')"
)
_FAINT: dict[str, Any] = {
    "labelColor": "currentColor",
    "labelOpacity": 0.75,
    "titleColor": "currentColor",
    "titleOpacity": 0.75,
    "titleFontWeight": "normal",
    "gridColor": "currentColor",
    "gridOpacity": 0.12,
    "domain": False,
    "tickColor": "currentColor",
    "tickOpacity": 0.3,
    "labelFontSize": 11,
    "titleFontSize": 11,
}
_CONFIG: dict[str, Any] = {
    "background": "transparent",
    "font": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
    "view": {"stroke": None},
    "axis": _FAINT,
    "axisX": {"grid": False},
    "legend": {"labelColor": "currentColor", "titleColor": "currentColor"},
}


def over_time(figures: Figures, series: Series, measure: str) -> alt.Chart:
    """Return what was used, period by period, stacked by what it is split by."""
    length = _LENGTHS[figures.grain] * _FILLED
    rows = [
        {
            **row,
            "series": series.label(row["series"]),
            "rank": series.rank(row["series"]),
            "end_ms": row["local_ms"] + length,
        }
        for row in figures.over_time[series.by]
    ]
    return _finished(
        _chart(rows)
        .transform_calculate(cost=_COST_SAID, when=_when(figures.grain))
        .transform_stack(
            stack=measure, groupby=["local_ms"], sort=[alt.SortField("rank")], as_=["from", "to"]
        )
        .mark_rect()
        .encode(
            x=_time(),
            x2="end_ms",
            y=alt.Y("from:Q", title=None, axis=_axis(measure, _most(rows, measure))),
            y2="to",
            color=alt.Color(
                "series:N",
                legend=None,
                scale=alt.Scale(domain=series.labels, range=series.colours),
            ),
            tooltip=[
                alt.Tooltip("series:N", title=series.by),
                alt.Tooltip("when:N"),
                *_said(),
            ],
        )
    )


def hit_rate(figures: Figures) -> alt.Chart:
    """Return which share of the input came from the cache, period by period."""
    return _finished(
        _chart(figures.cache)
        .transform_calculate(when=_when(figures.grain))
        .mark_line(point={"size": 22, "filled": True}, color=ACCENT, strokeWidth=1.5)
        .encode(
            x=_time(),
            y=alt.Y(
                "hit_rate:Q",
                title=None,
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format="%", tickCount=4),
            ),
            tooltip=[
                alt.Tooltip("when:N"),
                alt.Tooltip("hit_rate:Q", title="from the cache", format=".1%"),
                alt.Tooltip("read_tokens:Q", title="tokens read from it", format=",d"),
                alt.Tooltip("all_input_tokens:Q", title="of all input", format=",d"),
            ],
        ),
        height=120,
    )


def cache_money(figures: Figures) -> alt.Chart:
    """Return what reads from the cache saved, upwards, and what writes to it cost, downwards."""
    length = _LENGTHS[figures.grain] * _FILLED
    kinds = (("saved by reads", "saved_usd", 1), ("cost of writes", "written_usd", -1))
    rows = [
        {
            "local_ms": row["local_ms"],
            "end_ms": row["local_ms"] + length,
            "what": what,
            "cost_usd": row[name],
            "drawn": sign * row[name],
            "zero": 0,
        }
        for row in figures.cache
        for what, name, sign in kinds
        if row[name] is not None
    ]
    most = max((abs(row["drawn"]) for row in rows), default=0)
    return _finished(
        _chart(rows)
        .transform_calculate(cost=_COST_SAID, when=_when(figures.grain))
        .mark_rect()
        .encode(
            x=_time(),
            x2="end_ms",
            y=alt.Y("drawn:Q", title=None, axis=_axis("cost_usd", most)),
            y2="zero",
            color=alt.Color(
                "what:N",
                legend=None,
                scale=alt.Scale(domain=[what for what, _, _ in kinds], range=[ACCENT, WARM]),
            ),
            tooltip=[alt.Tooltip("what:N"), alt.Tooltip("when:N"), alt.Tooltip("cost:N")],
        ),
        height=150,
    )


def activity(figures: Figures, measure: str) -> alt.Chart:
    """Return when in the week work was done: hours by weekdays."""
    there = {(row["weekday"], row["hour"]): row for row in figures.activity}
    nothing = {"calls": 0, "total_tokens": 0, "cost_usd": 0}
    rows = [
        {**there.get((day, hour), nothing), "weekday": name, "hour": hour}
        for day, name in enumerate(_WEEKDAYS, 1)
        for hour in range(24)
    ]
    return _finished(
        _chart(rows)
        .transform_calculate(
            cost=_COST_SAID,
            when="datum.weekday + ' ' + format(datum.hour, '02d') + ':00'",
            # A mark without a value would not be drawn at all.
            shade=f"datum.{measure} || 0",
        )
        .mark_rect(color=ACCENT, cornerRadius=2, stroke="currentColor", strokeOpacity=0.08)
        .encode(
            x=alt.X(
                "hour:O",
                title=None,
                axis=alt.Axis(values=list(range(0, 24, 3)), labelAngle=0, ticks=False),
            ),
            y=alt.Y("weekday:N", sort=list(_WEEKDAYS), title=None, axis=alt.Axis(ticks=False)),
            opacity=alt.Opacity(
                "shade:Q",
                legend=None,
                scale=alt.Scale(range=[0.04, 1], zero=True),
            ),
            tooltip=[alt.Tooltip("when:N"), *_said()],
        ),
        height=270,
    )


def blocks(figures: Figures, series: Series, measure: str) -> alt.Chart:
    """Return the newest 5-hour blocks of each harness."""
    rows = [
        {
            **row,
            "harness": series.label(row["harness"]),
            "end_ms": row["local_ms"] + _BLOCK_MS * _FILLED,
            "zero": 0,
        }
        for row in figures.blocks
    ]
    colour = alt.Scale(domain=series.labels, range=series.colours)
    return _finished(
        _chart(rows, leave=("local_at", "starts_at"))
        .transform_calculate(
            cost=_COST_SAID,
            when="utcFormat(datum.local_ms, '%a %d %b %Y, %H:%M')",
        )
        # Those of several harnesses may overlap; in a long period they are thin.
        .mark_rect(opacity=0.8, strokeWidth=1.5)
        .encode(
            x=_time(),
            x2="end_ms",
            y=alt.Y(f"{measure}:Q", title=None, axis=_axis(measure, _most(rows, measure))),
            y2="zero",
            fill=alt.Fill("harness:N", legend=None, scale=colour),
            stroke=alt.Stroke("harness:N", legend=None, scale=colour),
            tooltip=[
                alt.Tooltip("harness:N"),
                alt.Tooltip("when:N", title="from"),
                *_said(),
            ],
        ),
        height=200,
    )


def _chart(rows: list[Row], leave: tuple[str, ...] = ()) -> alt.Chart:
    left = ("total", *leave)
    kept = [{name: row[name] for name in row if name not in left} for row in rows]
    return alt.Chart(alt.InlineData(values=kept))


def _finished(chart: alt.Chart, *, height: int = _HEIGHT) -> alt.Chart:
    options = {"embedOptions": {"actions": False, "renderer": "svg"}}
    finished: alt.Chart = chart.properties(
        width="container", height=height, usermeta=options, autosize=alt.AutoSizeParams(type="fit")
    ).configure(**_CONFIG)
    return finished


def _time() -> alt.X:
    return alt.X(
        "local_ms:T",
        title=None,
        scale=alt.Scale(type="utc"),
        axis=alt.Axis(labelOverlap=True, labelSeparation=10, labelFlush=True, tickCount=8),
    )


def _when(grain: str) -> str:
    return f"utcFormat(datum.local_ms, '{_DAYS[grain]}')"


def _axis(measure: str, most: float) -> alt.Axis:
    """Return an axis of values up to `most`, which are written alike."""
    if measure != "cost_usd":
        return alt.Axis(labelExpr=_COUNTED, tickCount=5)
    format = next((format for limit, format in _DOLLAR_FORMATS if most <= limit), "$~s")
    return alt.Axis(labelExpr=_DOLLARS.format(format), tickCount=5)


def _most(rows: Iterable[Row], measure: str) -> float:
    """Return the greatest sum of a measure over one period."""
    sums: Counter[int] = Counter()
    for row in rows:
        sums[row["local_ms"]] += row[measure] or 0
    return max(sums.values(), default=0)


def _said() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("cost:N"),
        alt.Tooltip("total_tokens:Q", title="tokens", format=",d"),
        alt.Tooltip("calls:Q", format=",d"),
    ]
