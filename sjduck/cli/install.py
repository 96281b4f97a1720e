"""`sjduck install` and `sjduck uninstall`."""

import os

import click

from sjduck.cli.terminal import narrate, print_json, print_text
from sjduck.clients.known import CLIENTS
from sjduck.clients.registering import Outcome, choose, install, uninstall
from sjduck.settings import load

_client = click.argument("client", type=click.Choice(list(CLIENTS)), metavar="CLIENT")
_CLIENTS = f"CLIENT is one of: {', '.join(CLIENTS)}."
_dry_run = click.option("--dry-run", is_flag=True, help="Only show what would change.")
_json = click.option(
    "--json", "as_json", is_flag=True, help="Print the answer as one line of JSON."
)


@click.command(name="install", epilog=_CLIENTS)
@_client
@click.option("--remote", metavar="ALIAS", help="The SSH host whose archive is to answer.")
@click.option("--archive", metavar="DIR", help="The archive's folder.  [env: SJDUCK_ARCHIVE]")
@_dry_run
@_json
def install_command(
    *, client: str, remote: str | None, archive: str | None, dry_run: bool, as_json: bool
) -> None:
    """Register the archive with a coding agent, in the agent's own configuration.

    Without --remote it is this machine's archive, or what its sources give; where there is neither,
    the configured remote. Slash commands are written where the agent has them. Everything else in
    the configuration stays as it is, and a copy is kept beside it.

    With --remote, the lines of authorized_keys for the other machines are printed, and the
    connection is checked.
    """
    settings = load(archive=archive)
    registration = choose(settings, remote, archive, os.environ)
    outcome = install(CLIENTS[client], registration, os.environ, dry_run=dry_run)
    _print(outcome, as_json=as_json)
    if settings.remote and registration.alias is None and not as_json:
        narrate(f"this machine answers; the configured remote: --remote {settings.remote}")
    if outcome.connection and not outcome.connection.is_up:
        raise SystemExit(1)


@click.command(name="uninstall", epilog=_CLIENTS)
@_client
@_dry_run
@_json
def uninstall_command(*, client: str, dry_run: bool, as_json: bool) -> None:
    """Take the archive out of a coding agent again.

    Slash commands that were edited are left where they are.
    """
    _print(uninstall(CLIENTS[client], os.environ, dry_run=dry_run), as_json=as_json)


def _print(outcome: Outcome, *, as_json: bool) -> None:
    if as_json:
        print_json(outcome.answer)
        return
    changes = outcome.done.plan.changes
    for change in changes:
        if not outcome.is_done:
            print_text(change.diff)
        else:
            print_text(f"{'removed' if change.after is None else 'wrote':<8}{change.path}")
    for path in outcome.done.plan.left_alone:
        narrate(f"left alone, since sjduck did not write it so: {path}")
    for path, backup in outcome.done.backups.items():
        narrate(f"what {path.name} held before is in {backup}")
    if not changes:
        narrate(f"nothing to change: {outcome.client.title} is as it should be")
    if outcome.registration is not None:
        narrate(f"{outcome.client.title} asks {outcome.registration.source}")
    _print_ssh(outcome)
    if changes and outcome.is_done:
        narrate(f"restart {outcome.client.title} to see it")


def _print_ssh(outcome: Outcome) -> None:
    for user, host, line in outcome.authorized:
        print_text(f"# in ~/.ssh/authorized_keys of {user} on {host}")
        print_text(line)
    if outcome.authorized:
        narrate("sjduck stands there with its whole path, unless sshd finds it: docs/remote.md")
    if outcome.connection is None:
        return
    is_up, said = outcome.connection
    if is_up:
        narrate(f"the connection works: {said} answers")
    else:
        narrate(f"sjduck: no answer yet: {said}; add these lines there, then run this again")
