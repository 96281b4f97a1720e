"""`sjduck usage`."""

import csv
import io

import click

from sjduck.archive import Row
from sjduck.bounds import Answer
from sjduck.cli.opening import Opened, opens_archive
from sjduck.cli.terminal import clean, echo, money, narrate, print_json, print_table
from sjduck.usage import COSTS, GROUPS, usage

_MOST = 2**31 - 1
_NAMES = frozenset({*GROUPS, "sid", "ends"})
_COUNTS = (
    "calls", "input", "cache_write", "cache_read", "output", "total", "cost", "unpriced",
    "unrecorded",
)  # fmt: skip
_PACE = ("tokens_per_minute", "cost_per_hour", "minutes_left", "projected")


@click.command(name="usage")
@click.option(
    "--by",
    default="day",
    show_default=True,
    metavar="GROUPS",
    help=f"A comma list of {', '.join(GROUPS)}.",
)
@click.option("--since", metavar="WHEN", help="From this local day or ISO instant on.")
@click.option("--until", metavar="WHEN", help="Up to and with this local day or ISO instant.")
@click.option("--host", metavar="NAME", help="Only this host (exact).")
@click.option("--project", metavar="TEXT", help="Only projects whose name holds this text.")
@click.option("--harness", metavar="NAME", help="Only this harness (exact), such as claude.")
@click.option("--model", metavar="TEXT", help="Only models whose name holds this text.")
@click.option(
    "--cost",
    type=click.Choice(COSTS),
    default="computed",
    show_default=True,
    help="Priced by tokens, or what the harness itself wrote down.",
)
@click.option("--sort", metavar="NAME", help="calls, tokens, cost or one of the groups.")
@click.option("--order", type=click.Choice(["asc", "desc"]))
@click.option(
    "--limit", type=click.IntRange(1), metavar="N", help="Rows a page.  [default: 30; --csv: all]"
)
@click.option("--offset", type=click.IntRange(0), default=0, metavar="N", help="Skip so many rows.")
@click.option(
    "--max-chars", type=click.IntRange(0), metavar="N", help="Bound of --json.  [default: 12000]"
)
@click.option("--csv", "as_csv", is_flag=True, help="Print every row, exact, as CSV.")
@opens_archive
def usage_command(
    opened: Opened,
    *,
    as_json: bool,
    as_csv: bool,
    limit: int | None,
    max_chars: int | None,
    **options: object,
) -> None:
    """Say what was used and what it cost, by day unless grouped otherwise.

    Each model response counts once, wherever it was copied; a call whose model, tier or speed
    has no known price is unpriced, never free.
    """
    if as_json and as_csv:
        raise click.UsageError("give --json or --csv, not both")
    answer = usage(
        opened.archive,
        limit=limit or (_MOST if as_csv else 30),
        max_chars=max_chars if as_json else 0,
        **options,  # type: ignore[arg-type]
    )
    if as_json:
        print_json(answer)
    elif as_csv:
        _print_csv(answer["rows"])
    else:
        _print(answer)


def _print(answer: Answer) -> None:
    rows = answer["rows"]
    if not rows:
        behind = f"nothing more: there are {answer['total']:,}, from --offset 0 on"
        nothing = "nothing was used; 'sjduck status' says what is here"
        narrate(behind if answer["total"] else nothing)
        return
    measure = "cost_usd" if any(row["cost_usd"] for row in rows) else "total_tokens"
    most = max(row[measure] or 0 for row in rows) or 1
    lacking = "unpriced" if answer["cost"] == "computed" else "unrecorded"
    shown = [_shown(row, lacking) for row in rows]
    names = [name for name in rows[0] if name in _NAMES]
    totals = {**_shown(answer["totals"], lacking), names[0]: "total"}
    # A table has one column that takes what room is left.
    bars = [] if "sid" in shown[0] else [(row[measure] or 0) / most for row in rows]
    print_table(
        [*shown, totals],
        (*names, *_COUNTS, *_PACE, "share" if bars else "topic"),
        right={*_COUNTS, *_PACE},
        bars=bars,
    )
    if following := answer.get("next_offset"):
        narrate(f"{answer['shown']:,} of {answer['total']:,}; more: --offset {following}")
    if note := answer.get("note"):
        narrate(note)
    _narrate_prices(answer)


def _narrate_prices(answer: Answer) -> None:
    if answer["cost"] == "recorded":
        narrate("costs are those that the harness wrote down")
        return
    prices = answer["prices"]
    own = f", {prices['own']} of your own" if "own" in prices else ""
    narrate(
        f"US dollars by {prices['table']}{own}"
        + (f"; {prices.get('note')}" if "note" in prices else "")
    )
    if unpriced := answer.get("unpriced"):
        more = answer.get("more_unpriced_models", 0)
        named = [f"{_kind(row)}: {row['calls']:,}" for row in unpriced]
        named += [f"{more} more"] if more else []
        narrate(f"calls without a known price, not in the cost: {', '.join(named)}")


def _kind(row: Row) -> str:
    """Return a kind of request in words."""
    apart = [
        row[name] for name in ("service_tier", "speed") if row.get(name) not in (None, "standard")
    ]
    by = f" by {row['provider']}" if row.get("provider") else ""
    return " ".join([row["model"] or "no model named", *apart]) + by


def _shown(row: Row, lacking: str) -> Row:
    names = {name: value for name, value in row.items() if name in _NAMES}
    return names | {
        "topic": row.get("topic"),
        "calls": row["calls"],
        "input": _tokens(row["input_tokens"]),
        "cache_write": _tokens(row["cache_write_5m_tokens"] + row["cache_write_1h_tokens"]),
        "cache_read": _tokens(row["cache_read_tokens"]),
        "output": _tokens(row["output_tokens"]),
        "total": _tokens(row["total_tokens"]),
        "cost": money(row["cost_usd"]),
        lacking: row["unpriced_calls"] or None,
        "tokens_per_minute": row.get("tokens_per_minute"),
        "cost_per_hour": money(row.get("cost_per_hour_usd")),
        "minutes_left": row.get("minutes_left"),
        "projected": money(row.get("projected_cost_usd")),
    }


def _tokens(count: int) -> str:
    """Return a count as a person reads it: 812, 34.1k, 2.3M."""
    amount, unit = float(count), ""
    for unit in ("", "k", "M", "G"):
        if amount < 999.5 or unit == "G":
            break
        amount /= 1000
    return f"{count}" if not unit else f"{amount:.1f}{unit}"


def _print_csv(rows: list[Row]) -> None:
    if not rows:
        return
    text = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {name: clean(v) if isinstance(v, str) else v for name, v in row.items()} for row in rows
    )
    echo(text.getvalue(), nl=False)
