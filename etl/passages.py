"""The passages of an index: where in which row of `said` each stands, and the hash of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from sjduck.semantic.cutting import passages

if TYPE_CHECKING:
    import duckdb

_SCHEMA = pa.schema([("said_id", pa.int32()), ("start", pa.uint32()), ("content", pa.int64())])


class Passages:
    """Takes the rows of `said`; writes `passages`.

    Only of conversations: what people and the assistant said, summaries, documents and topics.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        connection.execute(
            "create table out.passages (said_id integer, start uinteger, content bigint)"
        )

    def take(self, ids: Sequence[int], blocks: pa.Table) -> None:
        """Take some rows, whose text is in `blocks`."""
        signals = blocks.column("signal").to_pylist()
        texts = blocks.column("text").to_pylist()
        rows = [
            (said_id, passage.start, passage.content)
            for said_id, signal, text in zip(ids, signals, texts, strict=True)
            if signal == "high"
            for passage in passages(text or "")
        ]
        if rows:
            columns = [
                pa.array(c, f.type) for c, f in zip(zip(*rows, strict=True), _SCHEMA, strict=True)
            ]
            self._connection.register("rows_passages", pa.table(columns, schema=_SCHEMA))
            self._connection.execute("insert into out.passages select * from rows_passages")
            self._connection.unregister("rows_passages")
