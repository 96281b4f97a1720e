"""The etl's command line: options, progress on stderr, a summary on stdout."""

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import click

from etl import single
from etl.report import Report
from etl.writer import writer_id
from sjduck.errors import SjduckError
from sjduck.settings import SOURCE_KINDS, Settings, load

_NICE = 15


@click.command(name="sjduck etl", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--archive", metavar="DIR", help="The archive's folder.")
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="KIND=PATH",
    help=f"Take in this tree instead of the configured ones; KIND: {', '.join(SOURCE_KINDS)}.",
)
@click.option("--reindex", is_flag=True, help="Make the search index anew from the archive.")
@click.option(
    "--semantic", is_flag=True, help="Embed what was said, too, once all else is published."
)
@click.option("--watch", is_flag=True, help="Go on taking in changes as they come, until stopped.")
@click.option(
    "--poll",
    "poll_s",
    type=click.FloatRange(min=1),
    metavar="SECONDS",
    help="With --watch: look at the sources so often, where else the system tells of changes. "
    "Network file systems can't tell: they are looked at every 60 seconds.",
)
@click.option(
    "--detach",
    is_flag=True,
    help="Return at once: the run goes on without you, after the one that is on.",
)
@click.option("--quiet", is_flag=True, help="No progress.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.option("--with-parent", is_flag=True, hidden=True)
@click.option("--in-turn", is_flag=True, hidden=True)
@click.option("--embed-only", is_flag=True, hidden=True)
def command(
    archive: str | None,
    sources: tuple[str, ...],
    *,
    reindex: bool,
    semantic: bool,
    watch: bool,
    poll_s: float | None,
    detach: bool,
    quiet: bool,
    as_json: bool,
    with_parent: bool,
    in_turn: bool,
    embed_only: bool,
) -> None:
    """Take in what is new in the sources and publish a snapshot."""
    if watch and (reindex or detach):
        raise click.UsageError("--watch goes without --reindex and --detach")
    if watch and semantic:
        raise click.UsageError("--watch embeds by itself: leave out --semantic")
    if poll_s and not watch:
        raise click.UsageError("--poll goes with --watch")
    read = partial(load, archive=archive, sources=sources)
    if watch:
        _watch(read, poll_s, with_parent=with_parent, quiet=quiet, as_json=as_json)
    elif detach:
        _detach(read(), sources, reindex=reindex, semantic=semantic)
    elif embed_only:
        _embed(read(), quiet=quiet)
    else:
        _run_once(
            read(),
            reindex=reindex,
            semantic=semantic,
            quiet=quiet,
            as_json=as_json,
            in_turn=in_turn,
        )


def _run_once(
    settings: Settings,
    *,
    reindex: bool,
    semantic: bool,
    quiet: bool,
    as_json: bool,
    in_turn: bool,
) -> None:
    from etl.pipeline import run

    writer = writer_id()
    if semantic:
        from etl.embedding import needs_reindex

        reindex = reindex or needs_reindex(settings.archive, writer)
    turn = None
    if in_turn:
        turn = single.turn(settings.archive, writer)
        if turn is None:
            return
    with RunProgress(quiet=quiet) as progress:
        begun = turn.release if turn else None
        report = run(
            settings,
            writer,
            progress,
            reindex=reindex,
            needs_sources=not (reindex or semantic),
            begun=begun,
        )
    for warning in report.warnings:
        click.echo(f"sjduck: {warning}", err=True)
    if not as_json:
        click.echo(summary(report))
    try:
        if semantic:
            report.embedded = _embed(settings, quiet=quiet)
    finally:
        if as_json:
            click.echo(report.dumps())
    if report.embedded and not as_json and (said := _embedded(report.embedded)):
        click.echo(said)


def _embed(settings: Settings, *, quiet: bool) -> dict[str, Any]:
    """Embed what was said; return what was done."""
    from etl.embedding import embed

    # Whatever else runs on the machine goes first.
    with suppress(OSError):
        os.nice(_NICE)
    with RunProgress(quiet=quiet) as progress:
        done = embed(settings, writer_id(), progress)
    for warning in done.warnings:
        click.echo(f"sjduck: {warning}", err=True)
    return done.body()


def _embedded(done: Mapping[str, Any]) -> str:
    if not done["passages"]:
        # Where another process embeds, nothing was counted.
        is_counted = done["total"] or not done["warnings"]
        held = done["total"] - done["lacking"]
        return f"nothing to embed: {held:,} passages have a vector" if is_counted else ""
    speed = done["passages"] / max(done["seconds"], 1e-9)
    said = f"{done['passages']:,} of {done['total']:,} passages embedded in {done['seconds']:.1f} s"
    return f"{said}, {speed:,.0f} a second"


def _detach(settings: Settings, sources: Sequence[str], *, reindex: bool, semantic: bool) -> None:
    """Start a run that outlives this process, unless one waits already to look at the sources."""
    flags = [f"--source={source}" for source in sources]
    flags += ["--reindex"] * reindex + ["--semantic"] * semantic
    single.start_detached([f"--archive={settings.archive}", "--quiet", "--in-turn", *flags])


def _watch(
    read: Callable[[], Settings],
    poll_s: float | None,
    *,
    with_parent: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    from etl.watch import watch

    def show(report: Report) -> None:
        if as_json:
            click.echo(report.dumps())
        elif report.has_taken and not quiet:
            click.echo(_in_brief(report))

    watch(
        read,
        writer_id(),
        poll_s=poll_s,
        with_parent=with_parent,
        say=lambda line: click.echo(f"sjduck: {line}", err=True),
        show=show,
    )


def _in_brief(report: Report) -> str:
    counts = {
        "new": report.new,
        "changed": report.changed,
        "gone": report.gone,
        "back again": report.returned,
    }
    counted = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
    size = f", {report.bytes / 1e6:,.1f} MB" if report.bytes else ""
    return f"{counted}{size} in {report.seconds:.1f} s, snapshot {report.generation}"


def summary(report: Report) -> str:
    """Return what a run did, for a person."""
    speed = report.bytes / 1e6 / max(report.seconds, 1e-9)
    counts = {
        "new": report.new,
        "changed": report.changed,
        "unchanged": report.unchanged,
        "gone": report.gone,
    }
    counted = ", ".join(f"{count:,} {what}" for what, count in counts.items())
    lines = [f"{counted} in {report.seconds:.1f} s"]
    if report.bytes:
        lines.append(f"{report.bytes / 1e6:,.1f} MB taken in, {speed:,.0f} MB/s")
    for count, what in (
        (report.returned, "back again"),
        (report.vanished, "vanished while the run was on"),
        (report.unclaimed, "files that are no sessions"),
        (report.pruned, "left out: pruned earlier"),
        (report.masked_documents, "documents with secrets masked"),
    ):
        if count:
            lines.append(f"{count:,} {what}")
    for counts, what in (
        (report.rejected, "rejected"),
        (report.skipped, "skipped"),
        (report.unknown, "unknown"),
        (report.masked, "masked"),
    ):
        lines += [f"{what}: {count:,} × {name}" for name, count in counts.most_common()]
    lines.append(
        f"snapshot {report.generation} in {report.archive}, {report.archive_bytes / 1e6:,.1f} MB"
    )
    return "\n".join(lines)


def main() -> int:
    """Run the command; return its exit code."""
    try:
        command.main(prog_name="sjduck etl", standalone_mode=False)
    except click.ClickException as error:
        message = " ".join(error.format_message().split()).rstrip(".")
        click.echo(f"sjduck etl: {message}; see 'sjduck etl --help'", err=True)
        return error.exit_code
    except click.Abort:
        return 130
    except SjduckError as error:
        click.echo(f"sjduck: {error}", err=True)
        return error.exit_code
    return 0


class RunProgress:
    """Progress on stderr: a bar at a terminal, a line now and then elsewhere."""

    def __init__(self, *, quiet: bool) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
        )

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[speed]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=quiet or not sys.stderr.isatty(),
        )
        self._task = self._bar.add_task("", total=None, speed="")
        self._started = time.monotonic()
        self._bytes = self._size = 0

    def __enter__(self) -> "RunProgress":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def waiting(self, message: str) -> None:
        """Say what the run is doing, where it can't be counted."""
        self._bar.update(self._task, description=message)

    def begin(self, files: int, size: int) -> None:
        """Say how much there is to take in."""
        self._size = size
        self._started = time.monotonic()
        self._bar.update(self._task, description="taking in", total=files)

    def advance(self, files: int, size: int) -> None:
        """Say that a part of it is done."""
        self._bytes += size
        speed = self._bytes / 1e6 / max(time.monotonic() - self._started, 1e-9)
        done = f"{self._bytes / 1e6:,.0f} of {self._size / 1e6:,.0f} MB, {speed:,.0f} MB/s"
        self._bar.update(self._task, advance=files, speed=done)
