"""The tools: what a model reads of each, and what answers."""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sjduck import listing, reading, usage, within
from sjduck.archive import Archive
from sjduck.bounds import Answer, bound
from sjduck.errors import UsageError
from sjduck.server.parameters import JSON, Parameter, shown
from sjduck.settings import Source
from sjduck.status import DETAILS, status


@dataclass(frozen=True, slots=True)
class Question:
    """One call: the archive, the sources it is filled from, and the arguments by name."""

    archive: Archive
    sources: tuple[Source, ...]
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: what a model reads of it, and the function that answers."""

    name: str
    title: str
    about: str
    parameters: tuple[Parameter, ...]
    answer: Callable[[Question], Answer]
    is_writing: bool = False

    @property
    def schema(self) -> JSON:
        """The parameters as one JSON Schema."""
        required = [parameter.name for parameter in self.parameters if parameter.is_required]
        return {
            "type": "object",
            "properties": {parameter.name: parameter.schema for parameter in self.parameters},
            **({"required": required} if required else {}),
            "additionalProperties": False,
        }

    def taken(self, sent: Mapping[str, Any]) -> JSON:
        """Return the arguments that a client sent, checked; raises UsageError.

        What is null or empty counts as left out.
        """
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in sent:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"it takes: {', '.join(known)}"
                raise UsageError(f"no argument {shown(name)}; {hint}")
        arguments = {
            name: known[name].taken(value)
            for name, value in sent.items()
            if value not in (None, "")
        }
        for parameter in self.parameters:
            if parameter.is_required and parameter.name not in arguments:
                raise UsageError(f"{parameter.name} is missing")
            if parameter.default is not None:
                arguments.setdefault(parameter.name, parameter.default)
        return arguments


_REF = Parameter(
    "ref",
    about="sid, session id, sj:// URI or path from another answer",
    is_required=True,
)
_FILTERS = (
    Parameter("host", about="Exact name of the machine"),
    Parameter("project", about="Text in the project's name"),
    Parameter("harness", about="Agent program, e.g. claude"),
    Parameter("since", about="First day (2026-03-31) or ISO instant"),
    Parameter("until", about="Last day or ISO instant"),
    Parameter("tz", about="IANA zone of days and times; default: this machine's"),
)
_MODE = Parameter(
    "mode", about="Default: hybrid if embedded", choices=("words", "meaning", "hybrid")
)
_SIDECHAINS = Parameter("include_sidechains", "boolean", "Subagents too", default=False)


def _cap(default: int | None, about: str = "Bound of the answer; 0: none") -> Parameter:
    return Parameter("max_chars", "integer", about, default=default)


def _list(question: Question) -> Answer:
    return listing.list_documents(question.archive, **question.arguments)


def _get(question: Question) -> Answer:
    return reading.get(question.archive, **question.arguments)


def _search_within(question: Question) -> Answer:
    return within.search_within(question.archive, **question.arguments)


def _search(question: Question) -> Answer:
    from sjduck.search import search

    return search(question.archive, **question.arguments)


def _context(question: Question) -> Answer:
    from sjduck.context import context

    return context(question.archive, **question.arguments)


def _usage(question: Question) -> Answer:
    return usage.usage(question.archive, **question.arguments)


def _status(question: Question) -> Answer:
    return status(question.archive, sources=question.sources, **question.arguments)


def _sql(question: Question) -> Answer:
    from sjduck.freesql import sql

    return sql(question.archive, **question.arguments)


def _recall(question: Question) -> Answer:
    from sjduck.recall import recall

    return recall(question.archive, **question.arguments)


def all_tools() -> tuple[Tool, ...]:
    """Return the tools; the default caps are those of the environment.

    Raises UsageError for a cap there that is no number.
    """
    return (
        recall_tool(),
        list_tool(),
        get_tool(),
        search_within_tool(),
        search_tool(),
        context_tool(),
        usage_tool(),
        sql_tool(),
        status_tool(),
    )


def recall_tool() -> Tool:
    return Tool(
        "sj_recall",
        "Recall earlier sessions",
        "Find earlier sessions, plans, memory and notes by topic, on every machine, best first. "
        "Use it whenever the user refers to earlier work. `score`, `why` and `snippets` show what "
        "matched; read on with sj_get ref=<sid> lines=<around a snippet's line>.",
        (
            Parameter(
                "query",
                about="Words that stood in the conversation; any may match, parts of words too",
                is_required=True,
            ),
            Parameter(
                "also",
                about="8-16 other words it may have used: synonyms, tool, file and API names, the "
                "formal name, the user's other languages. They decide the order; do give them",
            ),
            *_FILTERS,
            Parameter("type", about="Only this type", choices=listing.TYPES),
            _SIDECHAINS,
            Parameter("k", "integer", "Results", default=8, least=1),
            Parameter(
                "rank",
                about="fused: relevance and evidence; windows: evidence alone",
                default="fused",
                choices=("fused", "windows"),
            ),
            _MODE,
            _cap(12_000),
        ),
        _recall,
    )


def list_tool() -> Tool:
    return Tool(
        "sj_list",
        "List sessions and documents",
        "List what the archive holds, newest first: date, host, project, topic, sid, path. "
        "type=log lists the session catalogue, also of sessions whose transcript is not here "
        "(is_here).",
        (
            Parameter("type", about="Only this type", choices=listing.TYPES),
            *_FILTERS,
            Parameter("limit", "integer", "Rows", default=20, least=1),
            Parameter("offset", "integer", "For the next page", default=0),
            Parameter(
                "sort", about="Sorted by", default="date", choices=listing.SORTS, is_lenient=True
            ),
            Parameter("order", about="Sort order", default="desc", choices=("asc", "desc")),
            Parameter(
                "fields",
                about="full: also cwd, branch, models, turns, size, first prompt, …",
                default="compact",
                choices=listing.FIELDS,
            ),
            _SIDECHAINS,
            _cap(bound(None, listing.MAX_CHARS, "SJMCP_LIST_MAX_CHARS")),
        ),
        _list,
    )


def get_tool() -> Tool:
    whole = bound(None, reading.MAX_CHARS, "SJMCP_GET_MAX_CHARS")
    condensed = bound(None, reading.CONDENSED_MAX_CHARS, "SJMCP_GET_CONDENSED_MAX_CHARS")
    return Tool(
        "sj_get",
        "Read a document",
        "Read a session, plan, memory or note, whole or a slice. A session you don't know: start "
        "with format=condensed. Where it was cut, `hint` names the lines= that go on.",
        (
            _REF,
            Parameter(
                "format",
                about="readable: Markdown; condensed: tool calls and output folded; raw: the "
                "source file's lines",
                default="readable",
                choices=reading.FORMATS,
            ),
            Parameter("turns", about='Only these turns, e.g. "5-10"'),
            Parameter("lines", about='Only these lines, e.g. "670-700"'),
            _cap(None, f"Bound of content; default {whole}, condensed {condensed}; 0: none"),
        ),
        _get,
    )


def search_within_tool() -> Tool:
    return Tool(
        "sj_search_within",
        "Search within a document",
        "Find a literal text in one document, whatever its case: line, turn and excerpt of each "
        "passage.",
        (
            _REF,
            Parameter("query", about="One text, as it stands there", is_required=True),
            Parameter("context", "integer", "Lines around", default=2),
            _cap(within.MAX_CHARS),
        ),
        _search_within,
    )


def search_tool() -> Tool:
    return Tool(
        "sj_search",
        "Search messages",
        "Find single messages by the words in them, on every machine, best first: for a wording, "
        "name or error that is remembered. Any word may match, in other forms too. Read on with "
        "sj_context ref=<path> line=<line> (seq= where it is null). `corrected`: nothing had your "
        "words, so others were tried.",
        (
            Parameter(
                "query",
                about='Words; "a phrase" has to stand literally, -word excludes',
                is_required=True,
            ),
            *_FILTERS,
            Parameter("role", about="Who said it", choices=("user", "assistant", "system")),
            Parameter(
                "include_low_signal", "boolean", "Tool output and long input too", default=False
            ),
            _SIDECHAINS,
            Parameter(
                "rank",
                about="blended: BM25, with weight on what was said and on newer",
                default="blended",
                choices=("blended", "bm25"),
            ),
            _MODE,
            Parameter("limit", "integer", "Hits, at most 500", default=20, least=1),
            Parameter("offset", "integer", "For the next page", default=0),
            _cap(12_000),
        ),
        _search,
    )


def context_tool() -> Tool:
    return Tool(
        "sj_context",
        "Read around a hit",
        "Read the blocks around a place, whole, thinking and tool output included. Give one of "
        "line, turn, uuid, seq. `rest` of a block that was cut, `earlier` and `later` are the "
        "arguments that go on.",
        (
            _REF,
            Parameter("line", "integer", "Line of the readable", least=1),
            Parameter("turn", "integer", "All blocks of a turn", least=1),
            Parameter("uuid", about="A message's uuid"),
            Parameter("seq", "integer", "A block's seq"),
            Parameter("before", "integer", "Blocks above", default=3),
            Parameter("after", "integer", "Blocks below", default=3),
            Parameter("offset", "integer", "Only that block, from this character on", default=0),
            _cap(24_000),
        ),
        _context,
    )


def usage_tool() -> Tool:
    return Tool(
        "sj_usage",
        "Tokens and cost",
        "Sum up calls, tokens and US dollars over all machines and agents, each model response "
        "once. `totals` are over everything, `unpriced` names models without a known price.",
        (
            Parameter(
                "by",
                about=f"Comma list of {', '.join(usage.GROUPS)} (block: 5 hours; session: with "
                "its subagents)",
                default="day",
            ),
            *_FILTERS,
            Parameter("model", about="Text in the model's name"),
            Parameter(
                "cost",
                about="By tokens, or as the harness wrote it down",
                default="computed",
                choices=usage.COSTS,
            ),
            Parameter("sort", about="calls, tokens, cost or a group"),
            Parameter("order", about="Sort order", choices=("asc", "desc")),
            Parameter("limit", "integer", "Rows", default=30, least=1),
            Parameter("offset", "integer", "For the next page", default=0),
            _cap(usage.MAX_CHARS),
        ),
        _usage,
    )


def sql_tool() -> Tool:
    return Tool(
        "sj_sql",
        "Ask in SQL",
        "Run one SELECT (DuckDB) to count, group or join what no other tool does. Views: sessions "
        "(sid, host, project, topic, date, started_at, turns, models, cost_usd, …), messages, "
        "turns, tool_calls, files_touched, costs, daily_usage, prices, documents, blocks, calls, "
        "catalogue; from recall('words'), search('words'), readable('sid') too. DESCRIBE a view, "
        "or sj_status detail=schema, for columns. `document` joins views; …_at is UTC, date local.",
        (
            Parameter("query", about="The SELECT", is_required=True),
            Parameter("limit", "integer", "Rows; 0: all", default=100),
            _cap(12_000),
        ),
        _sql,
    )


def status_tool() -> Tool:
    return Tool(
        "sj_status",
        "Status of the archive",
        "What the archive holds, from where and as of when; what is lacking or damaged. Look here "
        "when something that should be there is not.",
        (
            Parameter(
                "detail",
                about="hosts: each machine; coverage: sessions known but not here; schema: tables "
                "and columns",
                default="summary",
                choices=DETAILS,
            ),
            Parameter("offset", "integer", "For the next page", default=0),
        ),
        _status,
    )
