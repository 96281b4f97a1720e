"""A scrubjay storage tree: every host's sessions, readables, plans, memory, notes and logs."""

import re

from etl.document import Claim
from etl.sources import claude, codex, opencode
from sjduck.settings import Source

_NOT_HOSTS = frozenset({"memory", "memory.git"})
_HANDLE = re.compile(r"__([0-9A-Za-z]{8})$")


def claims(source: Source, root: str, path: str) -> Claim | None:
    """Say what a path under the storage root is."""
    host, *rest = path.split("/")
    if host == "memory":
        return _memory(source, root, path, rest)
    if host in _NOT_HOSTS or host.startswith(".") or not rest:
        return None
    match rest:
        case ["readable", _, name] if name.endswith(".md"):
            return Claim(
                source.name, source.kind, root, path, "readable", "transcript", host,
                sid=_sid_of(name),
            )  # fmt: skip
        case ["readable", *_]:
            return None
        case ["plans", name] if name.endswith(".md"):
            return Claim(source.name, source.kind, root, path, "markdown", "plan", host)
        case ["history.jsonl"]:
            return Claim(
                source.name, source.kind, root, path, "history", "log", host, claude.HARNESS
            )
        case [_, *below] if below:
            for claim_of in (codex.session_claim, opencode.session_claim, claude.session_claim):
                if claim := claim_of(source, root, path, below, host=host):
                    return claim
    return None


def memory_claims(source: Source, root: str, path: str) -> Claim | None:
    """Say what a path under a memory tree of its own is."""
    return _memory(source, root, path, path.split("/"))


def log_claims(source: Source, root: str, path: str) -> Claim | None:
    """Say what a path under the tree of the catalogue is."""
    match path.split("/"):
        case ["logs", name] if name.endswith(".log"):
            host = name.removesuffix(".log")
            return Claim(source.name, source.kind, root, path, "catalogue", "log", host)
    return None


def _memory(source: Source, root: str, path: str, rest: list[str]) -> Claim | None:
    match rest:
        case [_, name] if name.endswith(".md"):
            return Claim(source.name, source.kind, root, path, "markdown", "memory", None)
        case [_, "notes", name] if name.endswith(".md"):
            return Claim(
                source.name, source.kind, root, path, "markdown", "note", None, sid=_sid_of(name)
            )
    return None


def _sid_of(name: str) -> str | None:
    match = _HANDLE.search(name.removesuffix(".md"))
    return match.group(1) if match else None
