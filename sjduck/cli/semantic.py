"""`sjduck semantic`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from sjduck.cli.terminal import narrate, print_text
from sjduck.listing import human_size
from sjduck.settings import load

if TYPE_CHECKING:
    from sjduck.semantic.models import File


@click.group(name="semantic")
def semantic_command() -> None:
    """Recall by meaning: get the model that embeds what was said.

    'sjduck etl --semantic' then embeds it, and recall and search answer by words and meaning.
    """


@semantic_command.command(name="fetch")
@click.option("--model", metavar="NAME", help="In the place of the configured one.")
@click.option(
    "--from",
    "source",
    metavar="URL|FOLDER",
    help="In the place of huggingface.co: a mirror, or a folder with the files.",
)
def fetch_command(*, model: str | None, source: str | None) -> None:
    """Fetch the model into your cache folder (23 MB).

    Only a file of the known SHA-256 is kept.
    """
    from sjduck.semantic.fetching import fetch
    from sjduck.semantic.place import lack

    semantic = load().semantic
    if model:
        semantic = replace(semantic, model=model)
    with _shown() as heard:
        place, size = fetch(semantic, source=source, heard=heard)
    print_text(f"{place}\n")
    narrate(f"fetched {human_size(size)}" if size else "all of it is here already")
    if why := lack(semantic):
        narrate(f"sjduck: {why}")


@contextmanager
def _shown() -> Iterator[Callable[[File, int], None]]:
    """Give what shows how much of a file is there: a bar at a terminal, a line elsewhere."""
    from rich.console import Console
    from rich.progress import Progress, TaskID

    tasks: dict[str, TaskID] = {}
    is_seen = sys.stderr.isatty()
    with Progress(console=Console(stderr=True), transient=True, disable=not is_seen) as bar:

        def heard(file: File, there: int) -> None:
            if file.name not in tasks:
                if not is_seen:
                    narrate(f"fetching {file.name}, {human_size(file.bytes)}")
                tasks[file.name] = bar.add_task(file.name, total=file.bytes)
            bar.update(tasks[file.name], completed=there)

        yield heard
