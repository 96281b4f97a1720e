"""Sessions whose source is not lines: each as JSON objects, in the document's order.

One reading of such a source for taking it in and for giving it back raw: an object's place,
from 1, is its line. A text among them is a piece that is no JSON object, as it is written.

A source is one JSON document (`_DOCUMENTS`: what it holds, or None where it is another
document), or it is several files or a database (`_PLACES`).
"""

import os
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import orjson

from sjduck import codex, gemini, opencode
from sjduck.jsontext import value_of

Records = Iterator[Any]


def is_unrolled(format: str) -> bool:
    """Tell whether documents of a format are, or may be, read through `records`."""
    return format in _DOCUMENTS or format in _PLACES


def is_gathered(format: str) -> bool:
    """Tell whether a document of a format is no single file, but several or part of a database."""
    return format in _PLACES


def records(format: str, root: str, path: str) -> Records | None:
    """Return a document's JSON objects; None where its file has them as lines.

    Raises FileNotFoundError where the source is gone, another OSError where it can't be read,
    also while it is read.
    """
    if format in _DOCUMENTS:
        return _of_file(format, os.path.join(root, path))
    objects = _PLACES[format](root, path)
    for first in objects:
        return chain([first], objects)
    raise FileNotFoundError(path)


def of_document(format: str, text: str) -> Records | None:
    """Return the JSON objects of a file that is one document; None where it is none."""
    try:
        value = value_of(text)
    except ValueError:
        return None
    return _DOCUMENTS[format](value)


def _of_file(format: str, path: str) -> Records | None:
    with open(path, "rb") as file:
        first = file.readline()
        # The first of several lines that is whole is no document: so the rest is not read.
        if _is_object(first) and (second := file.readline()) and _is_object(second):
            return None
        file.seek(0)
        return of_document(format, file.read().decode("utf-8", "replace"))


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(orjson.loads(line), dict)
    except orjson.JSONDecodeError:
        return False


_DOCUMENTS: dict[str, Callable[[Any], Records | None]] = {
    "codex": codex.rollout_records,
    "gemini": gemini.chat_records,
    "opencode": opencode.export_records,
}

_PLACES: dict[str, Callable[[str, str], Records]] = {
    "opencode-storage": opencode.storage_records,
    "opencode-db": opencode.database_records,
}
