"""GitHub Copilot CLI's model responses: what a run used is logged once, at its end.

A response has at most its own output tokens. A run's shutdown has the sums of each model, of
this run alone: they are shared out among the run's responses, so that sums, days and numbers
of responses are right, and the input of one response is its run's mean.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from etl.document import LineFacts, hash64
from etl.fields import count, object_of, text_of
from etl.tables import CallRow

# Requests that no message was logged for; no run has so many.
MAX_UNLOGGED = 1_000


@dataclass(slots=True)
class _Response:
    """A response while its run goes on; its model is certain only where it was logged."""

    row: CallRow
    has_output: bool
    is_certain: bool


class Calls:
    """Collects the responses of one file, run by run."""

    def __init__(self, document: int, session_id: str | None, harness: str) -> None:
        self._document = document
        self._session_id = session_id
        self._harness = harness
        self._responses: dict[str, _Response] = {}
        self._of_tools: dict[str, _Response] = {}
        self._run: list[_Response] = []
        self._compactions: list[_Response] = []
        self._shut_down: dict[str, Any] | None = None

    def begin_run(self) -> None:
        """Begin a run: what the one before has used, if it was never shut down, is not known."""
        self._run.clear()
        self._compactions.clear()
        self._shut_down = None

    def log(self, data: dict[str, Any], line: LineFacts, tools: dict[str, str]) -> None:
        """Take one message, or one more piece of it; `tools` are the ids and names it used."""
        key = line.message_id or line.uuid or f"{self._session_id} line {line.number}"
        response = self._responses.get(key)
        if response is None:
            response = self._responses[key] = self._response(key, line)
            self._run.append(response)
        row = response.row
        response.has_output |= "outputTokens" in data
        response.is_certain |= bool(text_of(data.get("model")))
        response.row = row._replace(
            request_id=row.request_id or text_of(data.get("requestId")) or None,
            output_tokens=max(row.output_tokens, count(data, "outputTokens")),
            tools=list(dict.fromkeys([*row.tools, *filter(None, tools.values())])),
        )
        self._of_tools.update(dict.fromkeys(tools, response))

    def ran_tool(self, use_id: str, model: str) -> None:
        """Take the model that a tool's result names as that of the response that used it."""
        response = self._of_tools.get(use_id)
        if model and response and not response.is_certain:
            response.row = response.row._replace(model=model)
            response.is_certain = True

    def compact(self, data: dict[str, Any], line: LineFacts) -> None:
        """Take the response that wrote a compaction's summary."""
        used = object_of(data.get("compactionTokensUsed"))
        if not used:
            return
        key = text_of(data.get("requestId")) or line.uuid or f"line {line.number}"
        response = self._response(f"compaction {key}", line)
        if model := text_of(used.get("model")):
            response.row = response.row._replace(model=model)
        response.row = _with(response.row, _usage(used))
        self._responses[f"compaction {key}"] = response
        self._compactions.append(response)

    def shut_down(self, metrics: dict[str, Any], line: LineFacts) -> None:
        """End a run: share out what each model used in it; said twice, it counts once."""
        if metrics == self._shut_down:
            return
        by_model = {name: metric for name, metric in metrics.items() if isinstance(metric, dict)}
        for model, responses in self._by_model(list(by_model)).items():
            self._share_out(model, responses, by_model[model], line)
        self.begin_run()
        self._shut_down = metrics

    def rows(self) -> Iterable[CallRow]:
        """Return the responses, in the order of their first lines."""
        return [response.row for response in self._responses.values()]

    def _by_model(self, models: list[str]) -> dict[str, list[_Response]]:
        """Return the run's responses by the models that its sums name.

        One of another model, or of none, is of the model that no response names for certain.
        """
        if not models:
            return {}
        named = {response.row.model for response in self._run if response.is_certain}
        other = next((model for model in models if model not in named), models[0])
        for response in [*self._run, *self._compactions]:
            if response.row.model not in models and not response.is_certain:
                response.row = response.row._replace(model=other)
        found: dict[str, list[_Response]] = {model: [] for model in models}
        for response in self._run:
            found.get(response.row.model or "", found[other]).append(response)
        return found

    def _share_out(
        self, model: str, responses: list[_Response], metric: dict[str, Any], line: LineFacts
    ) -> None:
        used = _usage(object_of(metric.get("usage")))
        unlogged = count(metric.get("requests"), "count") - len(responses)
        for compaction in self._compactions:
            # It is among the requests only where there are more of them than messages.
            if compaction.row.model == model and unlogged > 0:
                unlogged -= 1
                used = used.without(compaction.row)
        if not responses and unlogged <= 0 and any(used.counts()):
            unlogged = 1
        for number in range(min(unlogged, MAX_UNLOGGED)):
            key = f"{line.uuid or f'{self._session_id} line {line.number}'} {model} {number}"
            response = self._responses[key] = self._response(key, line, model)
            responses.append(response)
        if responses:
            used.share_out(responses)

    def _response(self, key: str, line: LineFacts, model: str | None = None) -> _Response:
        row = CallRow(
            document=self._document,
            call_key=hash64(f"copilot {key}"),
            session_id=self._session_id,
            sent_at=line.sent_at,
            cwd=line.cwd,
            harness=self._harness,
            model=model or line.model,
            message_id=line.message_id,
            is_sidechain=line.is_sidechain,
        )
        return _Response(row, has_output=False, is_certain=False)


@dataclass(frozen=True, slots=True)
class _Usage:
    """Tokens without overlap; reasoning is a part of the output."""

    input: int
    cache_read: int
    cache_write: int
    output: int
    reasoning: int | None

    def counts(self) -> tuple[int, int, int, int]:
        """Return what adds up."""
        return self.input, self.cache_read, self.cache_write, self.output

    def without(self, row: CallRow) -> "_Usage":
        """Return what is left of it where a response's own usage is known."""
        return _Usage(
            max(self.input - row.input_tokens, 0),
            max(self.cache_read - row.cache_read_tokens, 0),
            max(self.cache_write - row.cache_write_5m_tokens, 0),
            max(self.output - row.output_tokens, 0),
            self.reasoning,
        )

    def share_out(self, responses: list[_Response]) -> None:
        """Give each response its share: what it logged itself, of the rest an equal part."""
        equal = [1] * len(responses)
        shares = zip(
            responses,
            _shares(self.input, equal),
            _shares(self.cache_read, equal),
            _shares(self.cache_write, equal),
            self._outputs(responses),
            strict=True,
        )
        for response, fresh, read, write, output in shares:
            response.row = response.row._replace(
                input_tokens=fresh,
                cache_read_tokens=read,
                cache_write_5m_tokens=write,
                output_tokens=output,
            )
        if self.reasoning is not None:
            outputs = [response.row.output_tokens for response in responses]
            for response, reasoning in zip(
                responses, _shares(self.reasoning, outputs), strict=True
            ):
                response.row = response.row._replace(reasoning_tokens=reasoning)

    def _outputs(self, responses: list[_Response]) -> list[int]:
        logged = [response.row.output_tokens for response in responses]
        lacking = [int(not response.has_output) for response in responses]
        rest = _shares(max(self.output - sum(logged), 0), lacking)
        return [own + more for own, more in zip(logged, rest, strict=True)]


def _usage(used: dict[str, Any]) -> _Usage:
    """Return a usage in either spelling; its input is logged with what the cache has of it."""
    read = count(used, "cacheReadTokens") or count(used, "cachedInput")
    write = count(used, "cacheWriteTokens")
    whole = count(used, "inputTokens") or count(used, "input")
    reasoning = count(used, "reasoningTokens") if "reasoningTokens" in used else None
    output = count(used, "outputTokens") or count(used, "output")
    return _Usage(max(whole - read - write, 0), read, write, output, reasoning)


def _with(row: CallRow, used: _Usage) -> CallRow:
    return row._replace(
        input_tokens=used.input,
        cache_read_tokens=used.cache_read,
        cache_write_5m_tokens=used.cache_write,
        output_tokens=used.output,
        reasoning_tokens=used.reasoning,
    )


def _shares(total: int, weights: Sequence[int]) -> list[int]:
    """Cut a number into whole parts by weight that add up to it; equal parts without weights."""
    whole = sum(weights)
    if not whole:
        weights, whole = [1] * len(weights), len(weights)
    shares = [total * weight // whole for weight in weights]
    for place in range(total - sum(shares)):
        shares[place] += 1
    return shares
