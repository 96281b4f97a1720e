"""Claude Code's model responses: one call a message id, from the lines that repeat it."""

from collections.abc import Iterable, Iterator
from typing import Any

from etl.document import LineFacts, hash64
from etl.fields import cost, count, text_of
from etl.tables import CallRow


class Calls:
    """Collects the responses of one file; `name` is equal for its copies, and only for those."""

    def __init__(self, document: int, name: str, harness: str) -> None:
        self._document = document
        self._name = name
        self._harness = harness
        self._rows: dict[str, CallRow] = {}

    def log(self, record: dict[str, Any], message: dict[str, Any], line: LineFacts) -> None:
        """Take one assistant line; lines without a usage or a model of their own are none."""
        usage = message.get("usage")
        if not isinstance(usage, dict) or line.model == "<synthetic>":
            return
        key = line.message_id or line.uuid or f"{self._name} line {line.number}"
        row = self._row(key, record, message, usage, line)
        before = self._rows.get(key)
        self._rows[key] = row if before is None else _merged(before, row)

    def rows(self) -> Iterable[CallRow]:
        """Return the responses, in the order of their first lines."""
        return self._rows.values()

    def _row(
        self,
        key: str,
        record: dict[str, Any],
        message: dict[str, Any],
        usage: dict[str, Any],
        line: LineFacts,
    ) -> CallRow:
        """Return what one line alone says of the response."""
        write_5m, write_1h = _cache_writes(usage)
        details = usage.get("output_tokens_details")
        has_reasoning = isinstance(details, dict) and details.get("thinking_tokens") is not None
        return CallRow(
            document=self._document,
            call_key=hash64(key),
            session_id=text_of(record.get("sessionId")) or None,
            sent_at=line.sent_at,
            cwd=line.cwd,
            harness=self._harness,
            provider=_provider(line.message_id, line.model),
            model=line.model,
            message_id=line.message_id,
            request_id=text_of(record.get("requestId")) or None,
            input_tokens=count(usage, "input_tokens"),
            cache_write_5m_tokens=write_5m,
            cache_write_1h_tokens=write_1h,
            cache_read_tokens=count(usage, "cache_read_input_tokens"),
            output_tokens=count(usage, "output_tokens"),
            reasoning_tokens=count(details, "thinking_tokens") if has_reasoning else None,
            web_searches=count(usage.get("server_tool_use"), "web_search_requests"),
            service_tier=text_of(usage.get("service_tier")) or None,
            speed=text_of(usage.get("speed")) or None,
            stop_reason=text_of(message.get("stop_reason")) or None,
            tools=list(dict.fromkeys(_tools(message.get("content")))),
            is_sidechain=line.is_sidechain,
            recorded_cost_usd=cost(record.get("costUSD")),
        )


def _merged(before: CallRow, row: CallRow) -> CallRow:
    """Let a further line of the same response have its say.

    Usage, model and place are taken whole from one line, what only some lines have from any.
    """
    wins = row.output_tokens > before.output_tokens or (_is_zero(before) and not _is_zero(row))
    best, other = (row, before) if wins else (before, row)
    instants = [sent_at for sent_at in (before.sent_at, row.sent_at) if sent_at is not None]
    costs = [c for c in (before.recorded_cost_usd, row.recorded_cost_usd) if c is not None]
    return best._replace(
        request_id=best.request_id or other.request_id,
        stop_reason=best.stop_reason or other.stop_reason,
        sent_at=min(instants, default=None),
        tools=list(dict.fromkeys([*before.tools, *row.tools])),
        recorded_cost_usd=max(costs, default=None),
    )


def _is_zero(row: CallRow) -> bool:
    """Tell whether a line is a proxy's placeholder."""
    return not (
        row.input_tokens
        or row.output_tokens
        or row.cache_read_tokens
        or row.cache_write_5m_tokens
        or row.cache_write_1h_tokens
    )


def _tools(content: Any) -> Iterator[str]:
    items = content if isinstance(content, list) else [content]
    for item in items:
        is_use = isinstance(item, dict) and item.get("type") in ("tool_use", "server_tool_use")
        if is_use and (name := text_of(item.get("name"))):
            yield name


def _cache_writes(usage: dict[str, Any]) -> tuple[int, int]:
    """Return 5-minute and 1-hour writes; what the parts leave of the total is 5-minute."""
    parts = usage.get("cache_creation")
    write_5m = count(parts, "ephemeral_5m_input_tokens")
    write_1h = count(parts, "ephemeral_1h_input_tokens")
    rest = count(usage, "cache_creation_input_tokens") - write_5m - write_1h
    return write_5m + max(rest, 0), write_1h


def _provider(message_id: str | None, model: str | None) -> str | None:
    if message_id and message_id.startswith("msg_vrtx_"):
        return "google-vertex"
    if message_id and message_id.startswith("msg_bdrk_"):
        return "aws-bedrock"
    return "anthropic" if model and model.startswith("claude-") else None
