"""The dashboard as one file: a page that needs no network, with its data and what draws it."""

from __future__ import annotations

import base64
import hashlib
import os
import tempfile
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from sjduck import __version__
from sjduck.dashboard import charts, panels
from sjduck.dashboard.figures import SPLITS, Figures, Filters
from sjduck.dashboard.pieces import packaged, title
from sjduck.errors import SjduckError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import altair as alt

_FIRST = {"measure": "cost_usd", "by": "model"}
# A text may hold what ends a script, or a line for JavaScript alone.
_ESCAPES = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


def report(figures: Figures, known: panels.Choices, filters: Filters, written: str) -> str:
    """Return the whole page as HTML; `written` is the local time that it is of."""
    drawn = _Charts()
    if figures.totals["calls"]:
        body = _body(figures, known, drawn)
    else:
        body = panels.nothing(is_filtered=any(known.values()))
    scripts = [_bundle(), packaged("report.js")]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(scripts)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><title>sjduck: usage and cost</title>'
        f"<style>{packaged('page.css')}{packaged('report.css')}</style></head>"
        f'<body><main class="sjd"><div class="sjd-head">{title("Usage and cost", 1)}'
        f'<p class="sjd-about">{escape(_about(figures, filters))}</p></div>{body}'
        f"<footer>sjduck {__version__}, {escape(written)}; each model response counts once; "
        f"days and times are those of {escape(figures.tz)}</footer></main>"
        f'<script type="application/json" id="sjd-data">{drawn.json()}</script>'
        + "".join(f'<script type="module">{script}</script>' for script in scripts)
        + "</body></html>\n"
    )


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read, whole or not at all; raises SjduckError."""
    real = Path(os.path.realpath(path))
    try:
        if real.exists() and not real.is_file():
            raise SjduckError(f"can't write {path}: it is no file; name one, such as report.html")
        descriptor, name = tempfile.mkstemp(prefix=f".{real.name}.", dir=real.parent)
        try:
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(name, real)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise
    except OSError as error:
        raise SjduckError(f"can't write {path}: {error.strerror}; check its folder") from error


class _Charts:
    """The charts of a page: what they are, and their rows, which some share."""

    def __init__(self) -> None:
        self._specs: list[dict[str, Any]] = []
        self._datasets: dict[str, Any] = {}

    def draw(self, chart: alt.Chart) -> str:
        """Keep a chart; return the place where it is drawn."""
        spec = chart.to_dict()
        # Altair names rows by their hash: equal ones are kept once.
        self._datasets |= spec.pop("datasets", {})
        self._specs.append(spec)
        return f'<div class="sjd-chart" data-chart="{len(self._specs) - 1}"></div>'

    def json(self) -> str:
        """Return everything as JSON that can stand in a script."""
        text = orjson.dumps({"specs": self._specs, "datasets": self._datasets}).decode()
        for character, escaped in _ESCAPES.items():
            text = text.replace(character, escaped)
        return text


def _body(figures: Figures, known: panels.Choices, drawn: _Charts) -> str:
    def over_time(by: str, measure: str) -> str:
        return panels.over_time(figures, known, by=by, measure=measure, draw=drawn.draw)

    def activity(measure: str) -> str:
        return panels.activity(figures, measure, drawn.draw)

    def blocks(measure: str) -> str:
        return panels.blocks(figures, known, measure, drawn.draw)

    return (
        panels.tiles(figures)
        + f'<div class="sjd-choose"><span>{_buttons("measure", charts.MEASURES)}</span>'
        + f"<span>{_buttons('by', {by: f'by {by}' for by in SPLITS})}</span></div>"
        + "".join(_choice(over_time(by, m), m, by) for by in SPLITS for m in charts.MEASURES)
        + '<div class="sjd-two">'
        + panels.cache(figures, drawn.draw)
        + "".join(_choice(activity(measure), measure) for measure in charts.MEASURES)
        + "".join(_choice(blocks(measure), measure) for measure in charts.MEASURES)
        + panels.tools(figures)
        + "</div>"
        + panels.sessions(figures)
    )


def _choice(content: str, measure: str, by: str = "") -> str:
    """Return what is shown while a measure, and a split, are chosen."""
    hidden = "" if measure == _FIRST["measure"] and by in ("", _FIRST["by"]) else " hidden"
    return (
        f'<div class="sjd-choice" data-measure="{measure}" data-by="{by}"{hidden}>{content}</div>'
    )


def _buttons(name: str, labels: Mapping[str, str]) -> str:
    return "".join(
        f'<button data-name="{name}" value="{value}" '
        f'aria-pressed="{str(value == _FIRST[name]).lower()}">{escape(label)}</button>'
        for value, label in labels.items()
    )


def _about(figures: Figures, filters: Filters) -> str:
    """Return the period and the filters in words."""
    totals = figures.totals
    first, last = (
        asked or (f"{found:%Y-%m-%d}" if found else None)
        for asked, found in (
            (filters.since, totals["first_at"]),
            (filters.until, totals["last_at"]),
        )
    )
    narrowed = [
        f"{name} {value}"
        for name in ("host", "project", "harness", "model")
        if (value := getattr(filters, name))
    ]
    span = f"{first} to {last}" if first and last else ""
    return " · ".join(filter(None, (span, figures.tz, *narrowed)))


def _bundle() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as JavaScript that ends no script by itself."""
    import vl_convert

    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle.replace("</script", "<\\/script")


def _policy(scripts: Sequence[str]) -> str:
    """Return the policy that lets these scripts run, and nothing be fetched by anybody."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in scripts
    )
    return (
        f"default-src 'none'; script-src 'unsafe-eval' {hashes}; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
