"""`sjduck dashboard`."""

import importlib.util
import webbrowser
from contextlib import suppress
from pathlib import Path
from threading import Thread

import click

from sjduck.cli.opening import Opened, opens_archive
from sjduck.cli.terminal import counted, echo, narrate, print_json
from sjduck.dashboard.figures import Filters, choices, figures
from sjduck.errors import SjduckError

_NEEDED = ("marimo", "altair", "vl_convert")


@click.command(
    name="dashboard",
    epilog="On another machine, over SSH: ssh -L 8765:127.0.0.1:8765 HOST sjduck dashboard "
    "--no-open --port 8765, then open the address that it prints.",
)
@click.option("--html", metavar="FILE", help="Write one self-contained page instead; -: stdout.")
@click.option("--since", metavar="WHEN", help="From this local day or ISO instant on.")
@click.option("--until", metavar="WHEN", help="Up to and with this local day or ISO instant.")
@click.option("--host", metavar="NAME", help="Only this host (exact).")
@click.option("--project", metavar="TEXT", help="Only projects whose name holds this text.")
@click.option("--harness", metavar="NAME", help="Only this harness (exact), such as claude.")
@click.option("--model", metavar="TEXT", help="Only models whose name holds this text.")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    metavar="N",
    help="Port of 127.0.0.1 to serve on.  [default: a free one]",
)
@click.option("--no-open", is_flag=True, help="Open no browser; only print the address.")
@opens_archive
def dashboard_command(
    opened: Opened,
    *,
    html: str | None,
    port: int | None,
    no_open: bool,
    as_json: bool,
    **filters: str | None,
) -> None:
    """Look at usage and cost, find sessions and read them, in a browser.

    The app is served on 127.0.0.1 alone, behind a token that its address carries, until it is
    interrupted. It needs the packages of the extra 'dashboard'; nothing is fetched at run time.
    """
    _check_installed()
    if html and (port or no_open):
        raise click.UsageError("--html writes a file; --port and --no-open go without it")
    asked = Filters(**filters)  # type: ignore[arg-type]
    if html:
        _write(opened, html, asked, as_json=as_json)
    else:
        _serve(opened, port or 0, asked, opens=not no_open, as_json=as_json)


def _check_installed() -> None:
    lacking = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if lacking:
        raise SjduckError(
            f"the dashboard needs {', '.join(lacking)}; run: pip install 'sjduck[dashboard]'"
        )


def _write(opened: Opened, target: str, asked: Filters, *, as_json: bool) -> None:
    from sjduck.dashboard.report import report, write_private
    from sjduck.periods import local
    from sjduck.snapshots import utc_now

    found = figures(opened.archive, asked)
    now = local(utc_now().replace(tzinfo=None), found.tz)
    page = report(found, choices(opened.archive), asked, f"{now:%Y-%m-%d %H:%M}")
    if target == "-":
        echo(page, nl=False)
        return
    write_private(Path(target), page)
    size = len(page.encode())
    if as_json:
        print_json({"html": target, "bytes": size, "calls": found.totals["calls"]})
    else:
        calls = counted(found.totals["calls"], "call")
        narrate(f"wrote {target}, {size / 1e6:.1f} MB: {calls}; open it in any browser")


def _serve(opened: Opened, port: int, asked: Filters, *, opens: bool, as_json: bool) -> None:
    from sjduck.dashboard.serving import Served
    from sjduck.dashboard.showing import Shown, show

    # What can't be taken is said here, not in the browser.
    asked.span(opened.archive.timezone)
    show(Shown(opened.archive, asked))
    # The first question takes longest; meanwhile the browser loads what it draws with.
    Thread(target=_ask, args=(opened, asked), daemon=True).start()
    with Served(port) as served:
        if as_json:
            print_json({"url": served.url})
        else:
            echo(served.url)
            narrate("only this machine can open it, with the token in it; end it with Ctrl-C")
        if opens:
            webbrowser.open(served.opening_url)
        served.run()


def _ask(opened: Opened, asked: Filters) -> None:
    with suppress(SjduckError):
        figures(opened.archive, asked)
