"""`sjduck etl`: hands over to the etl, a process of its own."""

import click

from sjduck.filling import run_etl


@click.command(
    name="etl",
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    add_help_option=False,
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def etl_command(arguments: tuple[str, ...]) -> None:
    """Take in what is new in the sources."""
    raise SystemExit(run_etl(list(arguments), stdout_too=True))
