"""What a statement may be: one SELECT, of published views, by functions that only compute.

A list of what is allowed, held against the statement as DuckDB itself parses it: what a newer
DuckDB adds is barred until somebody has looked at it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import orjson

from sjduck import macros
from sjduck.errors import UsageError
from sjduck.sqlfiles import allowed_functions, functions, published

if TYPE_CHECKING:
    import duckdb

MAX_CHARACTERS = 100_000
TOO_DEEP = "the statement is nested too deeply; write it flatter"
Node = dict[str, Any]
_TABLE_FUNCTIONS = macros.NAMES | {"range", "generate_series", "unnest", "json_each", "json_tree"}
# What a parsed statement may consist of, besides the types of casts.
_EXPRESSIONS = frozenset(
    {
        "BETWEEN", "CASE", "CAST", "COLLATE", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT",
        "DEFAULT", "FUNCTION", "LAMBDA", "OPERATOR", "PARAMETER", "POSITIONAL_REFERENCE", "STAR",
        "SUBQUERY", "WINDOW",
    }
)  # fmt: skip
_NODES = frozenset(
    {
        "SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE",
        "BASE_TABLE", "EMPTY", "EXPRESSION_LIST", "JOIN", "PIVOT", "SHOW_REF", "SUBQUERY",
        "TABLE_FUNCTION",
        "DISTINCT_MODIFIER", "LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER", "ORDER_MODIFIER",
        "ASCENDING", "DESCENDING", "ORDER_DEFAULT",
    }
)  # fmt: skip
_TOO_DEEP = re.compile("expression depth|memory exhausted|tree depth")
_WORD = re.compile(r"\w+")
_LISTINGS = frozenset({'"tables"', "__show_tables_expanded"})


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that passed: its text as it is run, and what it names."""

    text: str
    names: frozenset[str]
    # `explain` or `explain analyze`, which a text stands behind.
    explains: str = ""
    # What it asks of the schema alone: the name of a relation, or "" for their list.
    described: str | None = None


def checked(query: str, parser: duckdb.DuckDBPyConnection, relations: Collection[str]) -> Statement:
    """Return the one statement of a query; raises UsageError for what may not run.

    `relations` are the names of all tables and views there are, `parser` a connection of its own.
    """
    explains, text = _one_statement(query)
    tree = _parsed(text, parser)
    described = _described(tree)
    if described is not None and not explains:
        return Statement(text, frozenset(), described=described)
    # As it is run: no text may mean more inside of brackets than it says alone.
    inside = _parsed(enclosed(text), parser)
    return Statement(text, frozenset(_names(inside, relations, parser)), explains)


def enclosed(text: str) -> str:
    """Return a statement as a relation that others can select from."""
    return f"from (\n{text}\n)"


def _one_statement(query: str) -> tuple[str, str]:
    """Return a leading EXPLAIN, and the statement behind it without its semicolon."""
    import duckdb

    if "\0" in query or len(query) > MAX_CHARACTERS:
        what = "a NUL" if "\0" in query else f"{len(query):,} characters"
        raise UsageError(f"can't take a statement of {what}; {MAX_CHARACTERS:,} at most")
    code = query.encode("utf-8", "replace")
    starts = [at for at, _ in duckdb.tokenize(code.decode())]
    ends = [at for at in starts if code[at : at + 1] == b";"]
    end = ends[0] if ends else len(code)
    if len(ends) != sum(at >= end for at in starts):
        raise UsageError("one statement at a time; leave out what follows the semicolon")
    starts = [at for at in starts if at < end]
    words = [_WORD.match(code[at:end].decode().lower()) for at in starts[:2]]
    leading = [word[0] if word else "" for word in words]
    skipped = 0 if leading[:1] != ["explain"] else 2 if leading[1:] == ["analyze"] else 1
    if not starts[skipped:]:
        raise UsageError("nothing to run; write a SELECT")
    return " ".join(leading[:skipped]), code[starts[skipped] : end].decode()


def _parsed(text: str, parser: duckdb.DuckDBPyConnection) -> Node:
    row = parser.execute("select json_serialize_sql($text)", {"text": text}).fetchone()
    try:
        parsed: Node = orjson.loads(row[0] if row else "")
    except orjson.JSONDecodeError as error:
        raise UsageError(TOO_DEEP) from error
    if not parsed["error"]:
        return parsed
    message = parsed["error_message"]
    if _TOO_DEEP.search(message):
        raise UsageError(TOO_DEEP)
    if parsed["error_type"] == "not implemented":
        raise UsageError(_not_a_select(text, message))
    at = f" (character {int(parsed['position']) + 1})" if "position" in parsed else ""
    raise UsageError(f"{message}{at}")


def _not_a_select(text: str, message: str) -> str:
    if text.lower().lstrip("( \n\t").startswith("pivot"):
        return "PIVOT needs its values: pivot … on column in ('a', 'b') using …"
    if message.startswith("Only SELECT"):
        return "only a SELECT may run here (also FROM, VALUES, DESCRIBE, SUMMARIZE, EXPLAIN)"
    return message


def _described(tree: Node) -> str | None:
    """Return what a DESCRIBE or SHOW of the schema asks of, else None."""
    node = tree["statements"][0]["node"]
    shown = node.get("from_table") or {}
    if shown.get("type") != "SHOW_REF" or node["cte_map"]["map"]:
        return None
    if shown["query"] is None:
        return "" if shown["table_name"] in _LISTINGS else None
    of = shown["query"].get("from_table") or {}
    name = of.get("table_name", "").lower()
    is_plain = shown["show_type"] == "DESCRIBE" and not of.get("schema_name")
    return name if is_plain and name in published() and _is_whole(shown["query"]) else None


def _is_whole(query: Node) -> bool:
    """Tell whether a query is all of one relation."""
    return (
        query["type"] == "SELECT_NODE"
        and not query["cte_map"]["map"]
        and [node["type"] for node in query["select_list"]] == ["STAR"]
    )


# -- what it consists of -------------------------------------------------------------------


def _names(
    tree: Node, relations: Collection[str], parser: duckdb.DuckDBPyConnection
) -> Iterator[str]:
    """Yield the views and macros that a statement names; raises UsageError for what is barred."""
    nodes = list(_nodes(tree))
    own = {name for node in nodes for name in _named_here(node)}
    for name in own:
        if not _WORD.fullmatch(name) or (name in relations and name not in published()):
            raise UsageError(f"a CTE can't be called {_shown(name)}; choose another name")
    for node in nodes:
        kind = node.get("type")
        if isinstance(kind, str):
            _check_kind(node, kind)
            if kind == "BASE_TABLE":
                yield from _relation(node, own)
            elif kind == "SHOW_REF" and node["query"] is None:
                raise UsageError("of SHOW there is SHOW TABLES; use DESCRIBE with a view")
        if "function_name" in node:
            yield from _function(node, parser)


def _nodes(tree: Node) -> Iterator[Node]:
    """Yield every object of a parsed statement, those called as tables marked as such."""
    waiting: list[Any] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            if node.get("type") == "TABLE_FUNCTION":
                node = {**node, "function": {**node["function"], "is_table": True}}
            yield node
            waiting += node.values()


def _named_here(node: Node) -> Iterator[str]:
    """Yield the names that a node gives to relations of the statement's own."""
    if isinstance(given := node.get("cte_map"), Mapping):
        yield from (entry["key"].lower() for entry in given["map"])
    if "cte_name" in node:
        yield node["cte_name"].lower()


def _check_kind(node: Node, kind: str) -> None:
    is_known = node["class"] in _EXPRESSIONS if "class" in node else kind in _NODES
    if not is_known and not kind.endswith("_TYPE_INFO"):
        raise UsageError(f"{kind.lower().replace('_', ' ')} is not allowed here")


def _relation(node: Node, own: Collection[str]) -> Iterator[str]:
    name = node["table_name"].lower()
    if node["catalog_name"] or node["schema_name"].lower() not in ("", "main"):
        raise UsageError(f"no schema {_shown(node['schema_name'])}; name the view alone")
    if node["at_clause"] is not None:
        raise UsageError("AT is not allowed here; read a past snapshot with as-of")
    if name in published():
        yield name
    elif name not in own or node["schema_name"]:
        raise UsageError(_no_relation(node["table_name"]))


def _no_relation(name: str) -> str:
    if not _WORD.fullmatch(name):
        return f"no view {_shown(name)}: files can't be read here; SHOW TABLES lists the views"
    if name.lower() in macros.NAMES:
        about = functions()[name.lower()].about
        return f"{name.lower()} is a function: from {about.partition('): ')[0]})"
    return f"no view {_shown(name)}{_nearest(name, published())}; SHOW TABLES lists the views"


def _function(node: Node, parser: duckdb.DuckDBPyConnection) -> Iterator[str]:
    name = node["function_name"].lower()
    allowed = _TABLE_FUNCTIONS if "is_table" in node else allowed_functions()
    if name in allowed:
        if name in macros.NAMES:
            yield name
        return
    if name in _TABLE_FUNCTIONS | allowed_functions():
        what = "a value, not a table" if "is_table" in node else "a table, not a value"
        raise UsageError(f"{name}() gives {what}")
    if name in _known_functions(parser):
        raise UsageError(f"{name}() is barred: it does more than compute a value")
    raise UsageError(f"no function {_shown(name)}(){_nearest(name, allowed)}")


@cache
def _known_functions(parser: duckdb.DuckDBPyConnection) -> frozenset[str]:
    rows = parser.execute("select distinct function_name from duckdb_functions()").fetchall()
    return frozenset(name for (name,) in rows)


def _nearest(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.5)
    return f"; nearest: {near[0]}" if near else ""


def _shown(name: str) -> str:
    return f"`{name[:60]}`"
