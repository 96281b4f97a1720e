"""One module a harness or kind of source: which files it claims, and how each is flattened."""

from collections.abc import Callable, Iterator
from typing import Literal

from etl.document import Claim, Document, SourceFile
from etl.lines import Lines
from etl.sources import (
    catalogue,
    claude,
    codex,
    copilot,
    gemini,
    history,
    markdown,
    opencode,
    scrubjay,
)
from sjduck.settings import Source

Claims = Callable[[Source, str, str], Claim | Literal["piece"] | None]
Pieces = list[tuple[str, SourceFile]]
Gather = Callable[[Source, str, Pieces], Iterator[tuple[Claim, SourceFile]]]
Flatten = Callable[[Document, Lines], None]


# Kind of source → what a path under its root is, None where it is not for us.
KINDS: dict[str, Claims] = {
    "claude": claude.claims,
    "codex": codex.claims,
    "copilot": copilot.claims,
    "gemini": gemini.claims,
    "opencode": opencode.claims,
    "scrubjay": scrubjay.claims,
    "scrubjay-memory": scrubjay.memory_claims,
    "scrubjay-logs": scrubjay.log_claims,
}

# Kind of source with documents that are no single file → the documents that its pieces make.
GATHER: dict[str, Gather] = {
    "opencode": opencode.gather,
}

# Format → what writes the rows of one file.
FORMATS: dict[str, Flatten] = {
    "claude": claude.flatten,
    "codex": codex.flatten,
    "copilot": copilot.flatten,
    "gemini": gemini.flatten,
    "opencode": opencode.flatten,
    "readable": markdown.flatten_readable,
    "markdown": markdown.flatten,
    "catalogue": catalogue.flatten,
    "history": history.flatten,
    "codex-history": codex.flatten_history,
}

# Format → what writes the rows of a document that is no single file.
GATHERED: dict[str, Callable[[Document], None]] = {
    "opencode-storage": opencode.flatten_gathered,
    "opencode-db": opencode.flatten_gathered,
}
