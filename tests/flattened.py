"""One file flattened as a run flattens it, and its rows in a shape that a person can check.

`python -m tests.flattened` writes every golden anew. A golden says what is right only as far
as somebody read it: go through what `git diff tests/data` shows, against `formats.md`.
"""

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from etl.document import Claim, SourceFile, handle
from etl.flatten import Flattened, flatten_task
from etl.sources import FORMATS
from sjduck.readable import Block, header, numbered_lines

DATA = Path(__file__).parent / "data"
TYPES = {
    "catalogue": "log", "history": "log", "codex-history": "log", "markdown": "note",
    "readable": "transcript",
}  # fmt: skip
HARNESSES = {
    "claude": "claude", "history": "claude", "codex": "codex", "codex-history": "codex",
    "copilot": "copilot", "gemini": "gemini", "opencode": "opencode",
    "opencode-storage": "opencode", "opencode-db": "opencode",
}  # fmt: skip
# What says the same on every row, or only which machine the test ran on.
LEFT_OUT = frozenset(
    {
        "document", "seq", "call_key", "stem", "readable_hash", "source_kind", "source_format",
        "source_root", "source_path", "source_bytes", "source_modified_at",
    }
)  # fmt: skip
AS_IN_DOCUMENT = frozenset({"host", "harness", "cwd"})

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Flat:
    """What became of a file: the summary, and every table's rows."""

    file: Flattened
    documents: list[Row]
    blocks: list[Row]
    calls: list[Row]
    catalogue: list[Row]
    rejects: list[Row]

    @property
    def document(self) -> Row:
        """Return the row of the document."""
        (row,) = self.documents
        return row

    def shown_blocks(self) -> Iterator[Block]:
        """Yield the blocks that the readable shows, as a reader gets them."""
        for row in self.blocks:
            if row["line_start"] is not None:
                yield Block(*(row[name] for name in Block._fields))

    def readable(self) -> str:
        """Return the readable as a reader writes it from the stored rows."""
        lines = [line.text for line in numbered_lines(self.shown_blocks())]
        claim = self.file.claim
        if claim.type != "log" and claim.format not in ("readable", "markdown"):
            prompts = (block.text for block in self.shown_blocks() if block.role == "user")
            lines = header(next(prompts, None), self.document["turns"]) + lines
        return "".join(f"{line}\n" for line in lines)


def claim_of(path: Path, format: str = "claude") -> Claim:
    """Return a claim of a file that lies anywhere: an `agent-…` file is a subagent's."""
    is_agent = path.name.startswith("agent-")
    type_ = "subagent" if is_agent else TYPES.get(format, "transcript")
    is_session = format in HARNESSES and type_ != "log"
    return Claim(
        source="claude",
        kind="claude",
        root=str(path.parent),
        path=path.name,
        format=format,
        type=type_,
        host="testhost",
        harness=HARNESSES.get(format),
        session_id=path.stem if is_session else None,
        sid=handle(path.stem) if is_session else None,
        agent_id=path.stem.removeprefix("agent-") if is_agent else None,
    )


def flatten_file(path: Path, format: str = "claude") -> Flat:
    """Return the rows of one file."""
    status = path.stat()
    return flatten_claim(claim_of(path, format), SourceFile(status.st_size, status.st_mtime_ns))


def flatten_claim(claim: Claim, source: SourceFile) -> Flat:
    """Return the rows of what a source module claimed."""
    task = [(claim, source, False)]
    with tempfile.TemporaryDirectory() as scratch:
        batch = flatten_task(task, f"{scratch}/spill")
        rows: dict[str, list[Row]] = {}
        for part in batch.parts:
            stream = part.stream if isinstance(part.stream, bytes) else Path(part.stream)
            content = stream if isinstance(stream, bytes) else stream.read_bytes()
            rows.setdefault(part.table, []).extend(
                pa.ipc.open_stream(content).read_all().to_pylist()
            )
    (file,) = batch.files
    tables = ("documents", "blocks", "calls", "catalogue", "rejects")
    return Flat(file, *(rows.get(table, []) for table in tables))


def flatten_lines(folder: Path, *lines: Any, name: str = "session.jsonl") -> Flat:
    """Return the rows of a session of these lines: bytes as they are, else records."""
    path = folder / name
    written = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    path.write_bytes(b"".join(line + b"\n" for line in written))
    return flatten_file(path)


def golden(flat: Flat) -> Row:
    """Return the rows without what is empty or says nothing, and the readable they make."""
    assert [row["seq"] for row in flat.blocks] == list(range(len(flat.blocks)))
    tables = {
        name: [_shown(row, flat.document) for row in rows]
        for name, rows in (
            ("blocks", flat.blocks),
            ("calls", flat.calls),
            ("catalogue", flat.catalogue),
            ("rejects", flat.rejects),
        )
    }
    body: Row = {
        "readable": flat.readable().split("\n"),
        "unknown": dict(flat.file.unknown),
        "document": _shown(
            flat.document, {"host": "testhost", "harness": HARNESSES.get(flat.file.claim.format)}
        ),
        **{name: rows for name, rows in tables.items() if rows},
    }
    as_written: Row = json.loads(json.dumps(body))
    return as_written


def _shown(row: Row, known: Row) -> Row:
    return {
        name: str(value) if isinstance(value, date | datetime) else value
        for name, value in row.items()
        if not (
            name in LEFT_OUT
            or value in (None, [])
            or value is False
            or (name in AS_IN_DOCUMENT and value == known.get(name))
        )
    }


def samples(format: str) -> list[Path]:
    """Return the sample files of one format."""
    paths = (DATA / format).iterdir() if (DATA / format).is_dir() else ()
    return sorted(
        path for path in paths if not path.name.endswith((".expected.json", ".meta.json"))
    )


def golden_path(sample: Path) -> Path:
    """Return where a sample's golden lies: beside it."""
    return sample.with_name(f"{sample.stem}.expected.json")


def expected(sample: Path) -> Any:
    """Return a sample's golden."""
    return json.loads(golden_path(sample).read_text(encoding="utf-8"))


def _write_goldens() -> None:
    for format in FORMATS:
        for sample in samples(format):
            text = json.dumps(golden(flatten_file(sample, format)), ensure_ascii=False, indent=1)
            golden_path(sample).write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    _write_goldens()
