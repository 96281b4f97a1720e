"""Tool output that a harness moved out of a session's file, into the session's own folder."""

import os
import re
import stat
from pathlib import Path

from sjduck.archive import Row
from sjduck.confine import allowed_roots, is_within
from sjduck.mounts import folders

_FOLDER = "tool-results"
# "Full output saved to: /home/…/<session>/tool-results/<name>.txt"; the rest is a preview.
_SAVED_TO = re.compile(r"saved to:? [^\r\n]*?[\\/](?P<name>[\w+.-]+\.\w+)(?=[\s.,]|$)")
_WITHIN_CHARACTERS = 1_000
# A pipe must not hold the question until somebody writes into it.
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def moved_out(document: Row, block: Row) -> str | None:
    """Return the name of the file that holds a tool result, where the block has only its start."""
    if document["source_format"] != "claude" or block["kind"] != "tool_result":
        return None
    match = _SAVED_TO.search(block["text"][:_WITHIN_CHARACTERS])
    return match["name"] if match else None


def read(document: Row, name: str, offset: int, characters: int) -> str | None:
    """Return text of a moved-out output from `offset` on, at most `characters` (0: all of it).

    None where the file is not there, no plain file, or not inside the session's own folder,
    links resolved.
    """
    folder = os.path.join(document["source_root"], _session_folder(document))
    path = os.path.join(folder, _FOLDER, name)
    if not folders([Path(document["source_root"])]):
        return None
    roots = allowed_roots(document["source_root"], document["source_kind"])
    if not (is_within(path, roots) and is_within(path, [os.path.realpath(folder)])):
        return None
    try:
        descriptor = os.open(path, _READ)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            return None
        with open(descriptor, encoding="utf-8", errors="replace", newline="") as file:
            file.read(offset)
            return file.read(characters or -1)
    except OSError:
        return None


def _session_folder(document: Row) -> str:
    """Return the folder that belongs to a document's session, under the source's root."""
    above, _, name = document["source_path"].rpartition("/")
    parts = above.split("/")
    if "subagents" in parts:
        return "/".join(parts[: parts.index("subagents")])
    stem = name.removesuffix(".jsonl")
    if document["type"] == "subagent":
        stem = document["parent_session_id"] or stem
    return f"{above}/{stem}"
