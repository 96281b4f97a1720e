"""Records with any value in any place, for the rule that no input makes a file fail."""

import json
from typing import Any

from hypothesis import strategies as st

Record = dict[str, Any]

_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.sampled_from(["", "<div>", "Caveat:", "\0", "\u2028", "```", "/clear", "/home/ida"]),
    st.sampled_from(["2026-01-01T00:00:00Z", "9999-12-31T23:59:59-12:00"]),
)
_JSON = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return every container inside a JSON value with each of its keys."""
    keys = value.keys() if isinstance(value, dict) else range(len(value))
    found = [(value, key) for key in keys]
    for key in keys:
        if isinstance(value[key], dict | list):
            found += _places(value[key])
    return found


@st.composite
def odd_records(draw: st.DrawFn, templates: list[Record]) -> Record:
    """Draw one of the records with any value in one to three places of it."""
    record: Record = json.loads(json.dumps(draw(st.sampled_from(templates))))
    for _ in range(draw(st.integers(1, 3))):
        if found := _places(record):
            container, key = draw(st.sampled_from(found))
            container[key] = draw(_JSON)
    return record
