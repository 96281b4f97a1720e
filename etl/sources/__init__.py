"""One module a kind of source: which files it claims, and how each format is flattened."""

from collections.abc import Callable
from typing import NamedTuple

from etl.document import Claim, Document
from etl.lines import Lines
from etl.sources import catalogue, claude, history, markdown, scrubjay
from sjduck.settings import Source

Claims = Callable[[Source, str, str], Claim | None]
Flatten = Callable[[Document, Lines], None]


class Kind(NamedTuple):
    """A kind of source: says what a path under its root is, None where it is not for us."""

    claims: Claims
    folders: tuple[str, ...] | None = None


KINDS: dict[str, Kind] = {
    "claude": Kind(claude.claims, ("projects", "plans", "history.jsonl")),
    "scrubjay": Kind(scrubjay.claims),
    "scrubjay-memory": Kind(scrubjay.memory_claims),
    "scrubjay-logs": Kind(scrubjay.log_claims, ("logs",)),
}

FORMATS: dict[str, Flatten] = {
    "claude": claude.flatten,
    "readable": markdown.flatten_readable,
    "markdown": markdown.flatten,
    "catalogue": catalogue.flatten,
    "history": history.flatten,
}
