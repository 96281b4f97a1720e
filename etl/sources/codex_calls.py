"""Codex's model responses: one call an increase of the session's token totals.

`token_count` events carry running totals of the session and the last response's own counts. What
a call used is what the totals rose by since the event before. Where they fell (the context window
was overrun, or an older state was taken up again), and in the file's first event, a new count
begins: the call used the last response's counts where they are logged and do not exceed the
totals, else the totals. What those hold beyond it was spent before, and is in another file.

A fork's file begins with a copy of its parent's events. Totals alone would make two forks that do
equal work one, so the key of a call names who did the work too: the turn, by its id (new for each
turn, the same in every copy, however many forks deep); where versions logged none, the session.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from etl.document import hash64
from etl.fields import MAX_COUNT
from etl.sources.codex_forks import UUID, Lineage
from etl.tables import CallRow

# The totals of a long session pass what one response can have.
_MAX_TOTAL = 2**53


class _Tokens(NamedTuple):
    """Counts as Codex logs them: input holds what was cached and written, output reasoning."""

    input: int
    cached: int
    written: int
    output: int
    reasoning: int
    # Besides, it says how full the context is: nothing is counted by it.
    total: int

    @property
    def counted(self) -> tuple[int, ...]:
        """The counts that a response is told by."""
        return self[:-1]

    def exceeds(self, other: "_Tokens") -> bool:
        """Tell whether any count is greater than another's."""
        return any(mine > theirs for mine, theirs in zip(self.counted, other.counted, strict=True))


@dataclass(slots=True)
class _Call:
    """One increase of the totals; what turn and tools it had may be told after it."""

    row: CallRow
    used: _Tokens
    totals: _Tokens
    session_id: str | None
    worker: str | None
    turn_id: str | None
    tools: list[str] = field(default_factory=list)
    web_searches: int = 0


class Calls:
    """Collects the responses of one file."""

    def __init__(self, lineage: Lineage) -> None:
        self._lineage = lineage
        self._calls: list[_Call] = []
        self._totals: _Tokens | None = None
        self._turn_id: str | None = None
        self._without_turn: list[_Call] = []
        self._tools: list[str] = []
        self._web_searches = 0
        self._open: _Call | None = None
        self._comes_last = False
        # Whether the record before was an item that the model or a tool gave.
        self.is_after_item = False

    # -- what stands around the counts ------------------------------------------------------

    def turn(self, turn_id: Any) -> None:
        """Say which turn the next counts are of."""
        self._turn_id = _unique(turn_id)
        self._without_turn.clear()

    def end_turn(self, turn_id: Any) -> None:
        """Say that a turn is over: where its beginning is cut off, this alone tells its id."""
        for call in self._without_turn:
            call.turn_id = _unique(turn_id)
        self.turn(None)

    def prompt(self) -> None:
        """Say that the model is asked anew: the tools from here are of no earlier call."""
        self._open = None

    def tool(self, name: str, *, is_web_search: bool = False) -> None:
        """Take the use of a tool."""
        if self._open is not None:
            self._open.tools.append(name)
            self._open.web_searches += is_web_search
        else:
            self._tools.append(name)
            self._web_searches += is_web_search

    # -- the counts -------------------------------------------------------------------------

    def count(self, info: dict[str, Any], row: CallRow) -> str | None:
        """Take the counts of one event; return what is odd about them, if anything.

        `row` holds what is known of the response apart from them.
        """
        totals = _tokens(info.get("total_token_usage"))
        if totals is None:
            return "token_count without totals"
        used = _increase(self._totals, totals, _tokens(info.get("last_token_usage")))
        self._totals = totals
        if any(used.counted):
            if "reasoning_output_tokens" in info["total_token_usage"]:
                row = row._replace(reasoning_tokens=used.reasoning)
            lineage = self._lineage
            call = _Call(row, used, totals, lineage.owner, lineage.worker, self._turn_id)
            self._calls.append(call)
            if self._turn_id is None:
                self._without_turn.append(call)
            self._give_tools(call)
        return None

    def _give_tools(self, call: _Call) -> None:
        """Give a call the tools before it, and those after it where its items come after it.

        Up to 0.69 a response is counted before its items, from 0.70 on after them.
        """
        call.tools, self._tools = self._tools, []
        call.web_searches, self._web_searches = self._web_searches, 0
        self._comes_last |= self.is_after_item
        self._open = None if self._comes_last else call

    def rows(self) -> Iterator[CallRow | None]:
        """Yield the responses, in the file's order; None for one that another file has.

        It is a copy, and nothing tells which key it has there: with another it would count twice.
        """
        seen: Counter[str] = Counter()
        for call in self._calls:
            worker = call.turn_id or call.worker
            if worker is None:
                yield None
                continue
            key = f"codex {worker} {' '.join(map(str, call.totals))}"
            seen[key] += 1
            # Totals that fall can pass the same place twice in a turn.
            again = f" again {seen[key]}" if seen[key] > 1 else ""
            yield _row(call, hash64(key + again))


def _row(call: _Call, key: int) -> CallRow:
    used = call.used
    cached = min(used.cached, used.input)
    written = min(used.written, used.input - cached)
    return call.row._replace(
        call_key=key,
        session_id=call.session_id,
        input_tokens=used.input - cached - written,
        cache_write_5m_tokens=written,
        cache_read_tokens=cached,
        output_tokens=used.output,
        web_searches=call.web_searches,
        tools=list(dict.fromkeys(call.tools)),
    )


def _increase(before: _Tokens | None, totals: _Tokens, last: _Tokens | None) -> _Tokens:
    """Return what was used since the totals before."""
    if before is not None and not before.exceeds(totals):
        used = _Tokens(*(now - then for now, then in zip(totals, before, strict=True)))
    elif last is not None and any(last.counted) and not last.exceeds(totals):
        used = last
    else:
        used = totals
    return _Tokens(*(value if value <= MAX_COUNT else 0 for value in used))


def _tokens(value: Any) -> _Tokens | None:
    if not isinstance(value, dict) or not value.keys() & {"input_tokens", "output_tokens"}:
        return None
    return _Tokens(
        _total(value.get("input_tokens")),
        _total(value.get("cached_input_tokens")),
        _total(value.get("cache_write_input_tokens")),
        _total(value.get("output_tokens")),
        _total(value.get("reasoning_output_tokens")),
        _total(value.get("total_tokens")),
    )


def _total(value: Any) -> int:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if is_number and 0 <= value <= _MAX_TOTAL else 0


def _unique(turn_id: Any) -> str | None:
    """Return the id of a turn; None where other sessions may have the same."""
    return turn_id if isinstance(turn_id, str) and UUID.fullmatch(turn_id) else None
