"""Which places a source's files may lie in, links resolved."""

import os
from pathlib import Path

# What sjduck reads of a home; beside it lie settings and credentials.
FOLDERS: dict[str, tuple[str, ...]] = {
    "claude": ("projects", "plans", "history.jsonl"),
    "codex": ("sessions", "archived_sessions", "history.jsonl"),
    "copilot": ("session-state",),
    "gemini": ("tmp",),
    "opencode": ("storage", "opencode.db"),
    "scrubjay-logs": ("logs",),
}


def allowed_roots(root: str | os.PathLike[str], kind: str) -> list[str]:
    """Return the real places that hold a source's files.

    A home is often a link, and so are the folders right below it (a `projects` on another
    disk); any other link may lead anywhere and is followed only back into these.
    """
    real = os.path.realpath(root)
    names = FOLDERS.get(kind)
    if names is not None:
        return [os.path.realpath(os.path.join(real, name)) for name in names]
    try:
        with os.scandir(real) as entries:
            linked = [os.path.realpath(entry.path) for entry in entries if entry.is_symlink()]
    except OSError:
        linked = []
    return [real, *(path for path in linked if os.path.isdir(path))]


def is_within(path: str | os.PathLike[str], roots: list[str]) -> bool:
    """Tell whether a path, its links resolved, lies in one of `roots`."""
    real = Path(os.path.realpath(path))
    return any(real.is_relative_to(root) for root in roots)
