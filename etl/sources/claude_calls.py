"""Claude Code's model responses: one call a message id, from the lines that repeat it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from etl.document import LineFacts, hash64
from etl.tables import CallRow


@dataclass(slots=True)
class _Call:
    """One response while its lines come in: the greatest output so far gives the usage."""

    line: LineFacts
    session_id: str | None
    request_id: str | None
    usage: dict[str, Any]
    model: str | None
    stop_reason: str | None
    cost: float | None
    sent_at: int | None
    tools: dict[str, None] = field(default_factory=dict)


class Calls:
    """Collects the responses of one file."""

    def __init__(self, document: int, harness: str) -> None:
        self._document = document
        self._harness = harness
        self._calls: dict[str, _Call] = {}

    def log(self, record: dict[str, Any], message: dict[str, Any], line: LineFacts) -> None:
        """Take one assistant line; lines without a usage or a model of their own are none."""
        usage = message.get("usage")
        if not isinstance(usage, dict) or line.model == "<synthetic>":
            return
        key = line.message_id or line.uuid or f"line {line.number}"
        candidate = _Call(
            line=line,
            session_id=_text(record.get("sessionId")),
            request_id=_text(record.get("requestId")),
            usage=usage,
            model=line.model,
            stop_reason=_text(message.get("stop_reason")),
            cost=_cost(record.get("costUSD")),
            sent_at=line.sent_at,
        )
        call = self._calls.setdefault(key, candidate)
        if call is not candidate:
            _merge(call, candidate)
        content = message.get("content")
        for item in content if isinstance(content, list) else []:
            if isinstance(item, dict) and item.get("type") in ("tool_use", "server_tool_use"):
                call.tools.setdefault(str(item.get("name")))

    def rows(self) -> Iterator[CallRow]:
        """Yield the responses, in the order of their first lines."""
        for key, call in self._calls.items():
            yield self._row(key, call)

    def _row(self, key: str, call: _Call) -> CallRow:
        usage = call.usage
        write_5m, write_1h = _cache_writes(usage)
        details = usage.get("output_tokens_details")
        reasoning = details.get("thinking_tokens") if isinstance(details, dict) else None
        searches = usage.get("server_tool_use")
        return CallRow(
            document=self._document,
            call_key=hash64(
                key if call.line.message_id or call.line.uuid else f"{self._document} {key}"
            ),
            session_id=call.session_id,
            sent_at=call.sent_at,
            cwd=call.line.cwd,
            harness=self._harness,
            provider=_provider(call.line.message_id, call.model),
            model=call.model,
            message_id=call.line.message_id,
            request_id=call.request_id,
            input_tokens=_count(usage, "input_tokens"),
            cache_write_5m_tokens=write_5m,
            cache_write_1h_tokens=write_1h,
            cache_read_tokens=_count(usage, "cache_read_input_tokens"),
            output_tokens=_count(usage, "output_tokens"),
            reasoning_tokens=reasoning if isinstance(reasoning, int) else None,
            web_searches=_count(searches, "web_search_requests"),
            service_tier=_text(usage.get("service_tier")),
            speed=_text(usage.get("speed")),
            stop_reason=call.stop_reason,
            tools=list(call.tools),
            is_sidechain=call.line.is_sidechain,
            recorded_cost_usd=call.cost,
        )


def _merge(call: _Call, other: _Call) -> None:
    """Let a further line of the same response have its say."""
    if _wins(other.usage, call.usage):
        call.usage, call.model, call.line = other.usage, other.model, other.line
        call.session_id = other.session_id
        call.request_id = other.request_id or call.request_id
    call.stop_reason = other.stop_reason or call.stop_reason
    call.cost = call.cost if other.cost is None else max(other.cost, call.cost or 0.0)
    if call.sent_at is None or (other.sent_at is not None and other.sent_at < call.sent_at):
        call.sent_at = other.sent_at


def _wins(usage: dict[str, Any], over: dict[str, Any]) -> bool:
    output, other = _count(usage, "output_tokens"), _count(over, "output_tokens")
    if output != other:
        return output > other
    return _is_zero(over) and not _is_zero(usage)


def _is_zero(usage: dict[str, Any]) -> bool:
    return not any(
        _count(usage, name)
        for name in (
            "input_tokens",
            "output_tokens",
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
        )
    )


def _cache_writes(usage: dict[str, Any]) -> tuple[int, int]:
    """Return 5-minute and 1-hour writes; what the parts leave of the total is 5-minute."""
    parts = usage.get("cache_creation")
    write_5m = _count(parts, "ephemeral_5m_input_tokens")
    write_1h = _count(parts, "ephemeral_1h_input_tokens")
    rest = _count(usage, "cache_creation_input_tokens") - write_5m - write_1h
    return write_5m + max(rest, 0), write_1h


def _provider(message_id: str | None, model: str | None) -> str | None:
    if message_id and message_id.startswith("msg_vrtx_"):
        return "google-vertex"
    if message_id and message_id.startswith("msg_bdrk_"):
        return "aws-bedrock"
    return "anthropic" if model and model.startswith("claude-") else None


def _count(values: Any, name: str) -> int:
    value = values.get(name) if isinstance(values, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        return 0
    return int(min(value, 2**62))


def _cost(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
