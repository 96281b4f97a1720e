"""opencode's model responses: one a step of an assistant message, in most messages the only one."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from etl.document import LineFacts, hash64
from etl.fields import cost, count, object_of, text_of
from etl.tables import CallRow


class Usage(NamedTuple):
    """Counts of tokens as they are logged."""

    input: int
    output: int
    reasoning: int
    cache_read: int
    cache_write: int


@dataclass(slots=True)
class Response:
    """An assistant message and, as far as its parts were read, its steps."""

    message: dict[str, Any]
    line: LineFacts
    session_id: str | None
    tools: list[str] = field(default_factory=list)
    steps: list[tuple[dict[str, Any], list[str]]] = field(default_factory=list)

    def used(self, tool: str) -> None:
        """Note a tool that the step under way used."""
        if tool and tool not in self.tools:
            self.tools.append(tool)

    def stepped(self, part: dict[str, Any]) -> None:
        """Note the end of a step."""
        self.steps.append((part, self.tools))
        self.tools = []

    def calls(self, document: int, harness: str) -> Iterator[CallRow]:
        """Yield what was asked of the model for this message; nothing where nothing came of it."""
        for number, (logged, reason, tools) in enumerate(self._logged(), 1):
            usage = _usage(logged.get("tokens"))
            # Messages that opencode itself makes end too, but in no step.
            if not any(usage) and not (reason and self.steps):
                continue
            model = text_of(self.message.get("modelID")) or None
            provider = text_of(self.message.get("providerID")) or None
            yield CallRow(
                document=document,
                call_key=hash64(self._key(provider, model, usage, number)),
                session_id=self.session_id,
                sent_at=self.line.sent_at,
                cwd=self.line.cwd,
                harness=harness,
                provider=provider,
                model=model,
                message_id=self.line.message_id,
                input_tokens=usage.input,
                cache_write_5m_tokens=usage.cache_write,
                cache_read_tokens=usage.cache_read,
                output_tokens=_whole_output(usage, logged.get("tokens"), provider),
                reasoning_tokens=_reasoning(logged.get("tokens")),
                stop_reason=reason,
                tools=tools,
                is_sidechain=self.line.is_sidechain,
                recorded_cost_usd=cost(logged.get("cost")),
            )

    def _logged(self) -> list[tuple[dict[str, Any], str | None, list[str]]]:
        """Return what logs the usage, with why it ended and the tools: the message or its steps.

        A message of several steps has the tokens of the last one only.
        """
        told = [(part, tools) for part, tools in self.steps if any(_usage(part.get("tokens")))]
        own = _usage(self.message.get("tokens"))
        is_of_last = len(told) > 1 and own == _usage(told[-1][0].get("tokens"))
        if told and (is_of_last or not any(own)):
            return [(part, text_of(part.get("reason")) or None, tools) for part, tools in told]
        reasons = [self.message.get("finish"), *(part.get("reason") for part, _ in self.steps[-1:])]
        reason = next(filter(None, map(text_of, reasons)), None)
        tools = [tool for _, used in self.steps for tool in used] + self.tools
        return [(self.message, reason, list(dict.fromkeys(tools)))]

    def _key(self, provider: str | None, model: str | None, usage: Usage, number: int) -> str:
        """Return what names the response in every copy.

        A fork of a session gives its copies of the messages other ids, but leaves their times.
        """
        if self.line.sent_at is None:
            return f"opencode {self.line.message_id or repr(self.message)} {number}"
        counts = " ".join(map(str, usage))
        return f"opencode {self.line.sent_at} {provider} {model} {counts} {number}"


def _usage(tokens: Any) -> Usage:
    cache = object_of(object_of(tokens).get("cache"))
    return Usage(
        count(tokens, "input"),
        count(tokens, "output"),
        count(tokens, "reasoning"),
        count(cache, "read"),
        count(cache, "write"),
    )


def _reasoning(tokens: Any) -> int | None:
    is_logged = object_of(tokens).get("reasoning") is not None
    return count(tokens, "reasoning") if is_logged else None


def _whole_output(usage: Usage, tokens: Any, provider: str | None) -> int:
    """Return the output with its reasoning, which newer versions log apart.

    The total tells. Versions before there was one logged what the provider said, and of these
    Google alone leaves reasoning out.
    """
    apart = usage.output + usage.reasoning
    if total := count(tokens, "total"):
        rest = total - usage.input - usage.cache_read - usage.cache_write
        is_within = abs(rest - usage.output) < abs(rest - apart)
    else:
        is_google = (provider or "").startswith("google")
        is_within = usage.reasoning <= usage.output and not is_google
    return usage.output if is_within else apart
