"""Ways into nested data: the keys that lead to a value."""

from typing import Any

Way = tuple[str, ...]


def look_up(data: Any, way: Way) -> Any:
    """Return what is at the end of a way; None where it ends before."""
    for key in way:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def with_value(data: Any, way: Way, value: Any) -> Any:
    """Return data with a value at the end of a way, which is made where it is missing."""
    if not way:
        return value
    key, *rest = way
    return {**data, key: with_value(data.get(key, {}), tuple(rest), value)}


def without(data: Any, way: Way) -> Any:
    """Return data without what is at the end of a way."""
    if not isinstance(data, dict) or way[0] not in data:
        return data
    key, *rest = way
    if not rest:
        return {name: value for name, value in data.items() if name != key}
    return {**data, key: without(data[key], tuple(rest))}
