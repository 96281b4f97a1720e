"""The command line: each command is imported when it runs."""

import importlib
import os
import sys

import click

from sjduck import __version__
from sjduck.errors import SjduckError

# Command → (module, what it does): the help page needs no command's code.
_COMMANDS = {
    "etl": ("etl", "Take in what is new in the sources."),
    "recall": ("recall", "Find where something was discussed, on which machine."),
    "search": ("search", "Find the messages in which something was said."),
    "list": ("listing", "List what the archive holds."),
    "get": ("reading", "Read a session, a plan, a memory or a note."),
    "within": ("reading", "Find a text inside one document."),
    "context": ("context", "Read what stands around a hit, whole."),
    "usage": ("usage", "Say what was used and what it cost."),
    "sql": ("sql", "Ask in SQL, or open a shell for it."),
    "status": ("status", "Say what is here, from where, and what is lacking."),
    "snapshots": ("status", "List the generations that --as-of can read."),
    "doctor": ("doctor", "Look for what is wrong, and say what to do; --fix does it."),
    "prune": ("prune", "Remove sessions and documents from the archive, for good."),
    "vacuum": ("prune", "Merge files and sweep those that nothing needs any more."),
    "semantic": ("semantic", "Get the model that lets recall and search go by meaning, too."),
    "dashboard": ("dashboard", "Look at usage and cost, and read sessions, in a browser."),
    "serve": ("serve", "Serve the archive to a coding agent (MCP over stdin and stdout)."),
    "gate": ("gate", "Answer a client that comes in by SSH (the forced command of its key)."),
    "install": ("install", "Register the archive with a coding agent."),
    "uninstall": ("install", "Take the archive out of a coding agent again."),
}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"sjduck.cli.{_COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in _COMMANDS.items()])


@click.command(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
    epilog="Exit codes: 0 answered, 1 failed, 2 bad usage, 3 neither archive nor source.",
)
@click.version_option(__version__, message="sjduck %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Find again what you worked out with coding agents: on which machine, in which session."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main() -> None:
    """Run the command line; exits 0 answered, 1 failed, 2 bad usage, 3 nothing to read."""
    from sjduck.cli.terminal import narrate

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    arguments = [os.fsencode(argument).decode("utf-8", "replace") for argument in sys.argv[1:]]
    try:
        code = cli.main(arguments, prog_name="sjduck", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        narrate(error.format_message())
        code = error.exit_code
    except click.ClickException as error:
        narrate(_one_line(error))
        code = error.exit_code
    except click.Abort:
        code = 130
    except SjduckError as error:
        narrate(f"sjduck: {error}")
        code = error.exit_code
    sys.exit(code if isinstance(code, int) else 0)


def _one_line(error: click.ClickException) -> str:
    command = getattr(getattr(error, "ctx", None), "command_path", "sjduck")
    message = " ".join(error.format_message().split()).rstrip(".")
    return f"{command}: {message[:1].lower()}{message[1:]}; see '{command} --help'"
