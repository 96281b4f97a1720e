"""Resources: the archive's documents by their URIs, listed in pages, read with the usual cap."""

import re
from collections.abc import Mapping
from typing import Any

from mcp import types

from sjduck.archive import Archive, Row, View, question
from sjduck.bounds import Budget, compact
from sjduck.errors import UsageError
from sjduck.reading import get
from sjduck.refs import is_answer, uri
from sjduck.sqlfiles import sql

PAGE = 50
COMPLETIONS = 100
_TITLE_CHARACTERS = 100
_MARKDOWN = "text/markdown"
_CURSOR = re.compile(r"(-?\d{1,19})\.(-?\d{1,19})")
_PAGE_CHARACTERS = 60_000

TEMPLATES = (
    types.ResourceTemplate(
        name="transcript",
        title="Session",
        uri_template="sj://transcript/{host}/{project}/{stem}",
        description="A session as Markdown; stem: its session id",
        mime_type=_MARKDOWN,
    ),
    types.ResourceTemplate(
        name="plan",
        title="Plan",
        uri_template="sj://plan/{host}/{stem}",
        description="A plan as Markdown; stem: its file name",
        mime_type=_MARKDOWN,
    ),
    types.ResourceTemplate(
        name="memory",
        title="Memory",
        uri_template="sj://memory/{project}/{name}",
        description="What an agent remembers of a project; name: its file name",
        mime_type=_MARKDOWN,
    ),
    types.ResourceTemplate(
        name="note",
        title="Note",
        uri_template="sj://note/{project}/{stem}",
        description="A note on a project; stem: its file name",
        mime_type=_MARKDOWN,
    ),
)
_TYPES = {template.uri_template: template.name for template in TEMPLATES}


@question
def listed(view: View, cursor: str | None) -> types.ListResourcesResult:
    """Return a page of the documents, newest first, and the cursor of the next.

    A cursor is a place in the order, so that what is taken in meanwhile moves nothing.
    """
    after_us, after_document = _place(cursor)
    rows = view.rows(
        sql("resources/newest"),
        tz=view.timezone,
        after_us=after_us,
        after_document=after_document,
        limit=PAGE + 1,
    )
    budget = Budget(_PAGE_CHARACTERS)
    shown: list[types.Resource] = []
    for row in rows[:PAGE]:
        resource = _resource(row)
        if not budget.take(compact(resource.model_dump())) and shown:
            break
        shown.append(resource)
    last = rows[len(shown) - 1] if len(shown) < len(rows) else None
    following = f"{last['placed_us']}.{last['document']}" if last else None
    return types.ListResourcesResult(resources=shown, next_cursor=following)


def read(archive: Archive, address: str) -> types.ReadResourceResult:
    """Return the document at a URI, cut where it is longer than sj_get's cap.

    Raises UsageError where there is none, saying what sj_get would answer.
    """
    if not address.startswith("sj://"):
        raise UsageError(f"unknown address {address[:200]!r}; those here begin with sj://")
    answer = get(archive, address)
    if is_answer(answer):
        raise UsageError("; ".join(filter(None, (answer["error"], answer.get("hint")))))
    text = answer["content"]
    if answer.get("truncated"):
        rest = answer["hint"].split('"')[1]
        text += (
            f"\n[cut: {answer['total_lines']} lines in all; "
            f'read on with sj_get ref="{address}" lines="{rest}"]\n'
        )
    contents = types.TextResourceContents(uri=address, mime_type=_MARKDOWN, text=text)
    return types.ReadResourceResult(contents=[contents])


@question
def completed(
    view: View, template: str, part: str, typed: str, known: Mapping[str, str]
) -> types.Completion:
    """Return the values that a part of a template can take, given the parts that are known."""
    if template not in _TYPES or f"{{{part}}}" not in template:
        return types.Completion(values=[])
    return _parts(view, _TYPES[template], part, typed, known)


@question
def completed_argument(view: View, argument: str, typed: str) -> types.Completion:
    """Return the values that a prompt's argument can take: projects, or handles of sessions."""
    part = {"project": "project", "ref": "sid"}.get(argument)
    if part is None:
        return types.Completion(values=[])
    return _parts(view, None, part, typed, {})


def _parts(
    view: View, type_: str | None, part: str, typed: str, known: Mapping[str, str]
) -> types.Completion:
    rows = view.rows(
        sql("resources/parts"),
        type=type_,
        part=part,
        typed=typed,
        host=known.get("host") if part != "host" else None,
        project=known.get("project") if part != "project" else None,
        limit=COMPLETIONS,
    )
    total = rows[0]["total"] if rows else 0
    return types.Completion(
        values=[row["value"] for row in rows], total=total, has_more=total > len(rows)
    )


def _place(cursor: str | None) -> tuple[int | None, int | None]:
    if cursor is None:
        return None, None
    match = _CURSOR.fullmatch(cursor)
    if not match:
        raise UsageError("unknown cursor; list from the start")
    return int(match[1]), int(match[2])


def _resource(row: Row) -> types.Resource:
    title = " · ".join(filter(None, (_short(row["topic"]), row["project"], row["date"])))
    turns = f"{row['turns']} turns" if row["type"] == "transcript" else None
    about = ", ".join(filter(None, (row["type"], turns, row["host"], row["harness"])))
    changed: Any = row["changed_at"]
    return types.Resource(
        uri=uri(row),
        name=row["sid"] or row["stem"],
        title=title or row["stem"],
        description=about,
        mime_type=_MARKDOWN,
        annotations=(
            types.Annotations(last_modified=f"{changed:%Y-%m-%dT%H:%M:%SZ}") if changed else None
        ),
    )


def _short(topic: str | None) -> str | None:
    if topic is None or len(topic) <= _TITLE_CHARACTERS:
        return topic
    return topic[: _TITLE_CHARACTERS - 1] + "…"
