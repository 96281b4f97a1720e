"""The tools that change an archive, offered only where that was asked for (`--allow-writes`)."""

from typing import Any

from sjduck.bounds import Answer, page
from sjduck.doctor import diagnose
from sjduck.filling import start_reindex
from sjduck.listing import TYPES
from sjduck.server.parameters import Parameter
from sjduck.server.tools import Question, Tool
from sjduck.upkeep import prune, repair

_MAX_CHARS = 12_000
_OFFSET = Parameter("offset", "integer", "For the next page", default=0)
_CAP = Parameter("max_chars", "integer", "Bound of the answer; 0: none", default=_MAX_CHARS)


def writing_tools() -> tuple[Tool, ...]:
    """Return the tools that change an archive."""
    return (_reindex_tool(), _doctor_tool(), _prune_tool())


def _reindex(question: Question) -> Answer:
    start_reindex(question.archive.root)
    return {
        "started": True,
        "archive": str(question.archive.root),
        "hint": "it goes on without you; questions are answered meanwhile, as before",
    }


def _doctor(question: Question) -> Answer:
    options = dict(question.arguments)
    root = question.archive.root
    repaired = {"repaired": repair(root)} if options["fix"] else {}
    answer = diagnose(str(root), with_checksums=options["checksums"])
    return _paged({**answer, **repaired}, "findings", options)


def _prune(question: Question) -> Answer:
    options = dict(question.arguments)
    answer = prune(
        question.archive.root,
        tz=options.get("tz") or question.archive.timezone,
        before=options.get("before"),
        older_than=options.get("older_than"),
        host=options.get("host"),
        project=options.get("project"),
        harness=options.get("harness"),
        type=options.get("type"),
        sids=tuple(options.get("sid", "").replace(",", " ").split()),
        with_catalogue=options["catalogue"],
        is_dry=not options["confirm"],
    )
    return _paged(answer, "items", options)


def _paged(answer: Answer, name: str, options: dict[str, Any]) -> Answer:
    """Return an answer with as many of its rows as fit."""
    head = {key: value for key, value in answer.items() if key not in (name, "total")}
    rows, offset = answer[name], options["offset"]
    return page(
        head,
        rows[offset:],
        name=name,
        total=len(rows),
        offset=offset,
        max_chars=options["max_chars"],
    )


def _reindex_tool() -> Tool:
    return Tool(
        "sj_reindex",
        "Make the search index anew",
        "Make the search index anew from the archive, in the background: where sj_status or an "
        "answer says that it is damaged or missing.",
        (),
        _reindex,
        is_writing=True,
    )


def _doctor_tool() -> Tool:
    return Tool(
        "sj_doctor",
        "Look for what is wrong",
        "Look over the archive, its sources and this machine: each finding with its remedy. "
        "fix=true repairs what can be; damaged files are moved aside, never deleted.",
        (
            Parameter("fix", "boolean", "Repair, too; ask the user first", default=False),
            Parameter("checksums", "boolean", "Check every byte, which takes long", default=False),
            _OFFSET,
            _CAP,
        ),
        _doctor,
        is_writing=True,
    )


def _prune_tool() -> Tool:
    return Tool(
        "sj_prune",
        "Remove sessions for good",
        "Say what would be removed from the archive: all that passes every filter that is given. "
        "Show it to the user; only with their consent call again with confirm=true, which "
        "removes it for good.",
        (
            Parameter("sid", about="Handles or session ids, by comma"),
            Parameter("before", about="Used last before this day or ISO instant"),
            Parameter("older_than", about="Used last so long ago: 90d, 12w"),
            Parameter("host", about="Exact name of the machine"),
            Parameter("project", about="Text in the project's name"),
            Parameter("harness", about="Agent program, e.g. claude"),
            Parameter("type", about="Only this type", choices=TYPES),
            Parameter("catalogue", "boolean", "Rows in catalogues, too", default=False),
            Parameter("tz", about="IANA zone of days; default: this machine's"),
            Parameter("confirm", "boolean", "Remove it, for good", default=False),
            _OFFSET,
            _CAP,
        ),
        _prune,
        is_writing=True,
    )
