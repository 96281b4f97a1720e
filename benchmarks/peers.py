"""What a user would otherwise run, from the registries and offline: each as its own process.

A peer that is not installed is left out, and the table says so: `make bench` installs the Python
ones into a venv of their own, ccusage with npm, ripgrep with the system's package manager.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measuring import Process, process, size_of

PEERS = Path(__file__).parent / ".peers"


def home_of(tree: Path) -> Path:
    """Return a home in which the sessions of all hosts of a tree are one machine's."""
    home = tree / "one-home"
    for file in tree.glob("*/projects/*/*.jsonl"):
        linked = home / ".claude" / "projects" / file.parent.name / file.name
        linked.parent.mkdir(parents=True, exist_ok=True)
        if not linked.exists():
            os.link(file, linked)
    return home


def agentsview(tree: Path) -> tuple[Process, int] | None:
    """Index a tree afresh with agentsview; return what it took and the bytes of its database."""
    program = PEERS / "bin" / "agentsview"
    if not program.exists():
        return None
    home = home_of(tree)
    kept = home / ".agentsview"
    shutil.rmtree(kept, ignore_errors=True)
    took = process([program, "sync"], {"HOME": str(home), "AGENTSVIEW_NO_DAEMON": "1"})
    return took, size_of(kept)


def claude_archive(tree: Path) -> tuple[Process, int] | None:
    """Index a tree afresh with claude-archive-mcp."""
    program = PEERS / "bin" / "claude-archive-index"
    if not program.exists():
        return None
    home = home_of(tree)
    kept = home / ".local" / "share" / "claude-archive-mcp"
    shutil.rmtree(kept, ignore_errors=True)
    took = process([program, "reindex", "--source", "claude_code"], {"HOME": str(home)})
    return took, size_of(kept)


def ccusage(tree: Path) -> Process | None:
    """Sum up a tree by day with ccusage, which reads every file each time."""
    program = PEERS / "node_modules" / ".bin" / "ccusage"
    if not program.exists():
        return None
    claude = home_of(tree) / ".claude"
    return process(
        [program, "daily", "--offline", "--json"],
        {"CLAUDE_CONFIG_DIR": str(claude), "HOME": str(claude.parent)},
    )


def ripgrep(folder: Path, terms: Sequence[str]) -> bool:
    """Find which lines hold each term, a pass a term, as recall by grep does; False without it.

    A passage is lines near one another, so their numbers and texts are needed, not their count.
    """
    program = shutil.which("rg")
    if program is None:
        return False
    for term in terms:
        subprocess.run(
            [program, "--line-number", "--ignore-case", "--fixed-strings", "--", term, str(folder)],
            stdout=subprocess.PIPE, check=False,
        )  # fmt: skip
    return True
