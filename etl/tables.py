"""The stored tables: their Arrow schemas, from the dictionary, and one row type for each."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import pyarrow as pa

from sjduck.sqlfiles import dictionary

_ARROW = {
    "BIGINT": pa.int64(),
    "INTEGER": pa.int32(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "VARCHAR": pa.string(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us"),
    "VARCHAR[]": pa.list_(pa.string()),
    "MAP(VARCHAR, VARCHAR)": pa.map_(pa.string(), pa.string()),
}


class DocumentRow(NamedTuple):
    """A row of `documents`; instants are microseconds since 1970 (UTC), dates days since."""

    document: int
    host: str | None
    type: str
    harness: str | None
    session_id: str | None
    sid: str | None
    parent_session_id: str | None
    agent_id: str | None
    agent_type: str | None
    stem: str
    cwd: str | None
    git_branch: str | None
    custom_title: str | None
    ai_title: str | None
    first_prompt: str | None
    slash_command: str | None
    started_at: int | None
    ended_at: int | None
    name_date: int | None
    turns: int
    lines: int
    bytes: int
    readable_hash: int
    models: list[str]
    cli_version: str | None
    source_kind: str
    source_format: str
    source_root: str
    source_path: str
    source_bytes: int
    source_modified_at: int


class BlockRow(NamedTuple):
    """A row of `blocks`."""

    document: int
    seq: int
    turn: int | None
    line_start: int | None
    line_end: int | None
    role: str | None
    kind: str
    signal: str
    is_meta: bool
    is_summary: bool
    is_replay: bool
    is_sidechain: bool
    tool_name: str | None
    tool_use_id: str | None
    is_error: bool | None
    sent_at: int | None
    cwd: str | None
    message_id: str | None
    uuid: str | None
    model: str | None
    source_line: int
    text: str


class CallRow(NamedTuple):
    """A row of `calls`."""

    document: int
    call_key: int
    session_id: str | None = None
    sent_at: int | None = None
    cwd: str | None = None
    harness: str = ""
    provider: str | None = None
    model: str | None = None
    message_id: str | None = None
    request_id: str | None = None
    input_tokens: int = 0
    cache_write_5m_tokens: int = 0
    cache_write_1h_tokens: int = 0
    cache_read_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int | None = None
    web_searches: int = 0
    service_tier: str | None = None
    speed: str | None = None
    stop_reason: str | None = None
    tools: Sequence[str] = ()
    is_sidechain: bool = False
    recorded_cost_usd: float | None = None


class CatalogueRow(NamedTuple):
    """A row of `catalogue`."""

    document: int
    line: int
    host: str | None
    session_id: str | None
    sid: str | None
    logged_local: int | None
    logged_at: int | None
    cwd: str | None
    topic: str | None
    harness: str | None
    model: str | None
    turns: int | None
    bytes: int | None
    extra: list[tuple[str, str]]


class RejectRow(NamedTuple):
    """A row of `rejects`."""

    document: int
    source_line: int | None
    byte_offset: int | None
    reason: str
    sample: str


Row = DocumentRow | BlockRow | CallRow | CatalogueRow | RejectRow

ROW_TYPES: dict[str, type[Row]] = {
    "documents": DocumentRow,
    "blocks": BlockRow,
    "calls": CallRow,
    "catalogue": CatalogueRow,
    "rejects": RejectRow,
}


@cache
def schema(table: str) -> pa.Schema:
    """Return the Arrow schema of a stored table."""
    columns = dictionary()[table].columns
    return pa.schema([(column.name, _ARROW[column.type]) for column in columns])


def to_batch(table: str, rows: list[Row]) -> pa.RecordBatch:
    """Return rows of one table as a record batch of its schema."""
    columns = zip(*rows, strict=True)
    fields = schema(table)
    arrays = [
        pa.array(column, type=field.type) for field, column in zip(fields, columns, strict=True)
    ]
    return pa.record_batch(arrays, schema=fields)
