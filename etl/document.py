"""One document while it is being flattened: collects its facts and its rows in order."""

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol

import orjson

from etl.tables import BlockRow, CallRow, CatalogueRow, DocumentRow, RejectRow, Row
from sjduck.readable import Layout, shown_text

SAMPLE_CHARACTERS = 200
SHORT_TOOL_INPUT = 1_000
PROMPT_CHARACTERS = 2_000
MAX_REJECTS = 1_000
# Blocks wait for the next shown one to tell their turn, but not in any number.
MAX_HIDDEN = 1_000
MAX_HIDDEN_CHARACTERS = 4 * 1024 * 1024
UNKNOWN_CHARACTERS = 60
UNKNOWN_NAMES = 100
# As milliseconds this is a day of 1973, as seconds one of the year 5138.
_MILLISECONDS_FROM = 100_000_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_NAME_DATE = re.compile(r"^(\d{4})-(\d{2})-(\d{2})(?:_|$)")


@dataclass(frozen=True, slots=True)
class Claim:
    """A file that a source claims: what it is, before it is opened."""

    source: str
    kind: str
    root: str
    path: str
    format: str
    type: str
    host: str | None
    harness: str | None = None
    session_id: str | None = None
    sid: str | None = None
    parent_session_id: str | None = None
    agent_id: str | None = None
    # Whose home a file without a host lies in: the same path on two machines is two documents.
    owner: str | None = None
    # What to call it where the file's own name is the same in every session.
    name: str | None = None

    @property
    def document(self) -> int:
        """64-bit hash of host (or owner), source and path under the root."""
        return document_number(self.host or self.owner, self.source, self.path)

    @property
    def stem(self) -> str:
        """File name without its extension, unless that says nothing."""
        name = self.path.rsplit("/", 1)[-1]
        return self.name or name.rpartition(".")[0] or name

    @property
    def file(self) -> str:
        """The file's path on this machine."""
        return f"{self.root}/{self.path}"


class SourceFile(NamedTuple):
    """What `stat` said of the file before it was read."""

    size: int
    mtime_ns: int


class Sink(Protocol):
    """Takes the rows of documents, table by table."""

    def add(self, table: str, row: Row, weight: int) -> None:
        """Take one row that holds about `weight` characters."""


def hash64(text: str) -> int:
    """Return a stable signed 64-bit hash of `text`."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def document_number(owner: str | None, source: str, path: str) -> int:
    """Return the number that stands for a document in every table."""
    return hash64(f"{owner or ''}\0{source}\0{path}")


def handle(session_id: str) -> str:
    """Return the 8-character handle of a whole session id."""
    bare = re.sub(
        r"^(?:ses_|agent-(?:[a-z_]+-(?=[0-9a-f]{6}))?|rollout-[\dT:.-]+?-(?=[0-9a-f]{8}-))",
        "",
        session_id,
    )
    return bare.replace("-", "")[:8]


def instant(value: Any) -> int | None:
    """Return an instant as microseconds since 1970, None where it is none.

    It is an ISO text, or a number of milliseconds; a number too small for that is of seconds.
    """
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            is_seconds = abs(value) < _MILLISECONDS_FROM
            moment = _EPOCH + timedelta(**{"seconds" if is_seconds else "milliseconds": value})
        else:
            return None
        return (moment - _EPOCH) // _MICROSECOND
    except (ValueError, OverflowError):
        return None


def days_of_name(stem: str) -> int | None:
    """Return the date that a file's name begins with as days since 1970, else None."""
    match = _NAME_DATE.match(stem)
    if match is None:
        return None
    try:
        return (date(*map(int, match.groups())) - date(1970, 1, 1)).days
    except ValueError:
        return None


@dataclass(slots=True)
class LineFacts:
    """What all blocks of one source line share."""

    number: int
    sent_at: int | None = None
    cwd: str | None = None
    uuid: str | None = None
    message_id: str | None = None
    model: str | None = None
    is_meta: bool = False
    is_summary: bool = False
    is_replay: bool = False
    is_sidechain: bool = False


@dataclass(slots=True)
class Facts:
    """The columns of `documents` that the file's content gives, as far as it has been read."""

    type: str | None = None
    session_id: str | None = None
    sid: str | None = None
    parent_session_id: str | None = None
    agent_id: str | None = None
    agent_type: str | None = None
    cwd: str | None = None
    git_branch: str | None = None
    custom_title: str | None = None
    ai_title: str | None = None
    first_prompt: str | None = None
    slash_command: str | None = None
    started_at: int | None = None
    ended_at: int | None = None
    cli_version: str | None = None
    models: dict[str, None] = field(default_factory=dict)

    def saw(self, sent_at: int | None) -> None:
        """Widen the document's time range by one instant."""
        if sent_at is None:
            return
        if self.started_at is None or sent_at < self.started_at:
            self.started_at = sent_at
        if self.ended_at is None or sent_at > self.ended_at:
            self.ended_at = sent_at


class Document:
    """Collects one file's rows; `finish` adds the row of `documents` and returns its year."""

    def __init__(self, claim: Claim, source: SourceFile, sink: Sink) -> None:
        self.claim = claim
        self.id = claim.document
        self.facts = Facts(
            session_id=claim.session_id,
            sid=claim.sid,
            parent_session_id=claim.parent_session_id,
            agent_id=claim.agent_id,
        )
        self.unknown: Counter[str] = Counter()
        self.rejected: Counter[str] = Counter()
        self._source = source
        self._sink = sink
        self._layout = Layout()
        self._seq = 0
        self._hidden: list[tuple[str, list[Any]]] = []
        self._hidden_characters = 0
        self._first_shown_prompt: str | None = None
        self._readable: tuple[int, int, int, int] | None = None

    # -- blocks ---------------------------------------------------------------------------

    def text(self, role: str, text: str, line: LineFacts, *, kind: str, signal: str) -> None:
        """Add words that the readable shows."""
        if role == "user" and self._first_shown_prompt is None:
            self._first_shown_prompt = text
        self._shown(role, shown_text(kind, text), kind, signal, line, text)

    def tool_use(self, name: str | None, use_id: str | None, value: Any, line: LineFacts) -> None:
        """Add a tool's call with its input."""
        try:
            text = orjson.dumps(value).decode()
        except TypeError:
            text = as_json(value)
        shown = shown_text("tool_use", text, tool_name=name)
        signal = "medium" if len(shown) <= SHORT_TOOL_INPUT else "low"
        self._shown("assistant", shown, "tool_use", signal, line, text, name, use_id)

    def tool_result(
        self,
        text: str,
        line: LineFacts,
        *,
        name: str | None,
        use_id: str | None,
        is_error: bool | None,
    ) -> None:
        """Add a tool's result, on the assistant's side."""
        shown = shown_text("tool_result", text, is_error=is_error)
        self._shown(
            "assistant", shown, "tool_result", "low", line, text, name, use_id, is_error=is_error
        )

    def hidden(self, role: str, text: str, line: LineFacts, *, kind: str, signal: str) -> None:
        """Add a block that the readable leaves out; it belongs to the turn it stands in."""
        row = self._row(role, kind, signal, line, text, None, None)
        self._hidden.append((role, row))
        self._hidden_characters += len(text)
        if len(self._hidden) > MAX_HIDDEN or self._hidden_characters > MAX_HIDDEN_CHARACTERS:
            self._place_hidden(role=None)

    def markdown(
        self, role: str | None, text: str, lines: tuple[int, int], *, turn: int | None, signal: str
    ) -> None:
        """Add verbatim lines of a Markdown file."""
        facts = LineFacts(number=lines[0])
        row = self._row(role, "markdown", signal, facts, text, None, None)
        row[2:5] = turn, *lines
        self._emit(row)

    def set_readable(self, *, turns: int, lines: int, size: int, digest: int) -> None:
        """Say what the readable amounts to where it is the file itself."""
        self._readable = turns, lines, size, digest

    def _shown(
        self,
        role: str,
        shown: str,
        kind: str,
        signal: str,
        line: LineFacts,
        text: str,
        tool_name: str | None = None,
        tool_use_id: str | None = None,
        *,
        is_error: bool | None = None,
    ) -> None:
        before = self._layout.turn
        turn, first, last = self._layout.place(role, shown)
        if self._hidden:
            self._place_hidden(role=role, turn=turn, before=before or turn)
        row = self._row(role, kind, signal, line, text, tool_name, tool_use_id, is_error=is_error)
        row[2:5] = turn, first, last
        self._emit(row)

    def _place_hidden(self, *, role: str | None, turn: int = 0, before: int | None = None) -> None:
        standing = self._layout.turn if before is None else before
        for hidden_role, row in self._hidden:
            row[2] = (turn if hidden_role == role else standing) or None
            self._emit(row)
        self._hidden.clear()
        self._hidden_characters = 0

    def _row(
        self,
        role: str | None,
        kind: str,
        signal: str,
        line: LineFacts,
        text: str,
        tool_name: str | None,
        tool_use_id: str | None,
        *,
        is_error: bool | None = None,
    ) -> list[Any]:
        return [
            self.id, 0, None, None, None, role, kind, signal,
            line.is_meta, line.is_summary, line.is_replay, line.is_sidechain,
            tool_name, tool_use_id, is_error,
            line.sent_at, line.cwd, line.message_id, line.uuid, line.model, line.number, text,
        ]  # fmt: skip

    def _emit(self, row: list[Any]) -> None:
        row[1] = self._seq
        self._seq += 1
        self._sink.add("blocks", BlockRow(*row), len(row[-1]))

    # -- the other tables -----------------------------------------------------------------

    def call(self, row: CallRow) -> None:
        """Add one model response."""
        self._sink.add("calls", row, 0)

    def catalogue(self, row: CatalogueRow) -> None:
        """Add one line of a log."""
        self._sink.add("catalogue", row, len(row.topic or ""))

    def count_unknown(self, what: str) -> None:
        """Count something that no rule knows, under a short name fit to be shown."""
        name = "".join(c if c.isprintable() else "\ufffd" for c in what[:UNKNOWN_CHARACTERS])
        known = name in self.unknown or len(self.unknown) < UNKNOWN_NAMES
        self.unknown[name if known else "more kinds"] += 1

    def reject(self, line: int | None, offset: int | None, reason: str, sample: str = "") -> None:
        """Keep what could not be taken in, with the reason; of very many keep the count."""
        self.rejected[reason] += 1
        if self.rejected.total() <= MAX_REJECTS:
            row = RejectRow(self.id, line, offset, reason, sample[:SAMPLE_CHARACTERS])
            self._sink.add("rejects", row, 0)

    def finish(self, *, type: str | None = None) -> int:
        """Add the row of `documents` and return the year of the document's partition."""
        self._place_hidden(role=None)
        if (more := self.rejected.total() - MAX_REJECTS) > 0:
            row = RejectRow(self.id, None, None, "more rejects than are kept", f"{more:,} more")
            self._sink.add("rejects", row, 0)
        turns, lines, size, digest = self._readable or (
            self._layout.turn,
            self._layout.lines,
            *self._layout.size_and_hash(self._first_shown_prompt),
        )
        facts, claim = self.facts, self.claim
        name_date = days_of_name(claim.stem)
        self._sink.add(
            "documents",
            DocumentRow(
                document=self.id,
                host=claim.host,
                type=type or facts.type or claim.type,
                harness=claim.harness,
                session_id=facts.session_id,
                sid=facts.sid,
                parent_session_id=facts.parent_session_id,
                agent_id=facts.agent_id,
                agent_type=facts.agent_type,
                stem=claim.stem,
                cwd=facts.cwd,
                git_branch=facts.git_branch,
                custom_title=facts.custom_title,
                ai_title=facts.ai_title,
                first_prompt=facts.first_prompt,
                slash_command=facts.slash_command,
                started_at=facts.started_at,
                ended_at=facts.ended_at,
                name_date=name_date,
                turns=turns,
                lines=lines,
                bytes=size,
                readable_hash=digest,
                models=list(facts.models),
                cli_version=facts.cli_version,
                source_kind=claim.kind,
                source_format=claim.format,
                source_root=claim.root,
                source_path=claim.path,
                source_bytes=self._source.size,
                source_modified_at=self._source.mtime_ns // 1_000,
            ),
            0,
        )
        return _year(facts.started_at, name_date)


def as_json(value: Any) -> str:
    """Return a JSON value as compact text, nested however deep; raises RecursionError."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _year(started_at: int | None, name_date: int | None) -> int:
    if started_at is not None:
        return (_EPOCH + timedelta(microseconds=started_at)).year
    if name_date is not None:
        return (date(1970, 1, 1) + timedelta(days=name_date)).year
    return 0
