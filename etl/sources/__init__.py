"""One module a kind of source: which files it claims, and how each format is flattened."""

from collections.abc import Callable

from etl.document import Claim, Document
from etl.lines import Lines
from etl.sources import catalogue, claude, history, markdown, scrubjay
from sjduck.settings import Source

Claims = Callable[[Source, str, str], Claim | None]
Flatten = Callable[[Document, Lines], None]


# Kind of source → what a path under its root is, None where it is not for us.
KINDS: dict[str, Claims] = {
    "claude": claude.claims,
    "scrubjay": scrubjay.claims,
    "scrubjay-memory": scrubjay.memory_claims,
    "scrubjay-logs": scrubjay.log_claims,
}

FORMATS: dict[str, Flatten] = {
    "claude": claude.flatten,
    "readable": markdown.flatten_readable,
    "markdown": markdown.flatten,
    "catalogue": catalogue.flatten,
    "history": history.flatten,
}
