"""`sjduck etl`: hands over to the etl, a process of its own."""

import click

from sjduck.filling import become_etl


@click.command(
    name="etl",
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    add_help_option=False,
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def etl_command(arguments: tuple[str, ...]) -> None:
    """Take in what is new in the sources."""
    become_etl(arguments)
