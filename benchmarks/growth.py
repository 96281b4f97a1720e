"""Draw how figures grow with the archive, and print them as a table.

    python -m benchmarks.growth RESULT.json … --chart docs/performance.svg

Takes what `benchmarks.bench --json` wrote at several scales. Needs the extra `dashboard`.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

# Figure → what it is called in the chart. Milliseconds all of them, but for the fill.
_SHOWN = {
    "recall, p95": "recall (p95)",
    "search, p95": "search (p95)",
    "list, p95": "list (p95)",
    "get, p95": "get (p95)",
    "usage by day, p95": "usage by day (p95)",
    "a run with nothing new": "run with nothing new",
    "first fill": "first fill",
}


def milliseconds(figure: dict[str, Any], raw_bytes: int) -> float:
    """Return a figure in milliseconds; of a rate, how long the tree took at it."""
    value = float(figure["value"])
    if figure["unit"] == "MB/s":
        return raw_bytes / 1e6 / value * 1000
    return value * (1000 if figure["unit"] == "s" else 1)


def frame(results: list[dict[str, Any]]) -> pl.DataFrame:
    """Return a row a figure and scale: what it is, sessions, milliseconds."""
    rows = [
        {
            "what": _SHOWN[figure["name"]],
            "sessions": int(result["tree"].rsplit("-", 1)[1]),
            "milliseconds": milliseconds(figure, result["raw_bytes"]),
        }
        for result in results
        for figure in result["figures"]
        if figure["name"] in _SHOWN
    ]
    return pl.DataFrame(rows).sort("what", "sessions")


def chart(rows: pl.DataFrame) -> Any:
    """Return both axes logarithmic: a line that is flat does not grow."""
    title = "What a question and a run take, by the size of the archive"
    drawn = alt.Chart(rows, title=title).mark_line(point=True).encode(
        x=alt.X("sessions:Q", scale=alt.Scale(type="log"), title="sessions"),
        y=alt.Y("milliseconds:Q", scale=alt.Scale(type="log"), title="milliseconds"),
        color=alt.Color("what:N", title=None),
    ).properties(width=560, height=320)  # fmt: skip
    return drawn.configure(background="white")


def table(results: list[dict[str, Any]]) -> str:
    """Return every figure at every scale as a Markdown table."""
    scales = [result["tree"].rsplit("-", 1)[1] for result in results]
    names = list(dict.fromkeys(f["name"] for result in results for f in result["figures"]))
    lines = ["| | " + " | ".join(f"{int(scale):,}" for scale in scales) + " | bar |"]
    lines.append("|---|" + "---:|" * (len(scales) + 1))
    for name in names:
        found = [
            next((f for f in result["figures"] if f["name"] == name), None) for result in results
        ]
        lines.append(f"| {name} | {' | '.join(_cell(f) for f in found)} | {_bar(found)} |")
    return "\n".join(lines)


def _cell(figure: dict[str, Any] | None) -> str:
    if figure is None:
        return ""
    value = figure["value"]
    shown = f"{value:,.2f}" if value < 10 else f"{value:,.0f}"
    ratio = "" if figure["ratio"] is None else f" ({figure['ratio']:.1f}×)"
    return f"{shown} {figure['unit']}{ratio}"


def _bar(found: list[dict[str, Any] | None]) -> str:
    figure = next(f for f in found if f is not None)
    bars = []
    if figure["bar"] is not None:
        bars.append(f"{'≥' if figure['is_least'] else '≤'} {figure['bar']:g}")
    if figure["wanted_ratio"] is not None:
        bars.append(f"≥ {figure['wanted_ratio']:.2g}×")
    return ", ".join(bars)


def main() -> None:
    """Read the results, draw and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("results", nargs="+", type=Path)
    parser.add_argument("--chart", type=Path, required=True)
    options = parser.parse_args()
    results = [json.loads(file.read_text(encoding="utf-8")) for file in options.results]
    results.sort(key=lambda result: result["raw_bytes"])
    chart(frame(results)).save(options.chart)
    print(table(results))


if __name__ == "__main__":
    main()
