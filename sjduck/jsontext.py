"""JSON as other programs write it: read where it can be, with text that can be written again."""

import json
import math
from typing import Any

import orjson

_PADDING = "\0 \t\r\n"
_BOM = "\ufeff"


def value_of(text: str) -> Any:
    """Return the one JSON value of a text; raises ValueError where it is none.

    Padding around it, raw control characters and numbers that are none do no harm; half a
    surrogate pair becomes U+FFFD.
    """
    text = text.removeprefix(_BOM).strip(_PADDING)
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return _salvaged(text)


def line_of(value: Any) -> str:
    """Return a JSON value as compact text on one line; one nested too deeply says only that."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        pass
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        return '"nested too deeply"'


def _salvaged(text: str) -> Any:
    try:
        value = json.loads(
            text, strict=False, parse_float=_finite, parse_constant=lambda _constant: None
        )
        written = json.dumps(value, ensure_ascii=False)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return orjson.loads(written.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None
