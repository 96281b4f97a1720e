"""Read the fields of a record, whatever stands in them."""

import math
from typing import Any, TypeGuard

# More than any response can have: a greater number is none.
MAX_COUNT = 2**31 - 1


def text_of(value: Any) -> str:
    """Return a text, empty where there is none."""
    return value if isinstance(value, str) else ""


def object_of(value: Any) -> dict[str, Any]:
    """Return a JSON object, empty where there is none."""
    return value if isinstance(value, dict) else {}


def items_of(value: Any) -> list[Any]:
    """Return a JSON array, empty where there is none."""
    return value if isinstance(value, list) else []


def count(values: Any, name: str) -> int:
    """Return a count of tokens or the like that an object holds, 0 where it holds none."""
    value = values.get(name) if isinstance(values, dict) else None
    return int(value) if _is_number(value) and 0 <= value <= MAX_COUNT else 0


def cost(value: Any) -> float | None:
    """Return an amount of money, None where it is none."""
    return float(value) if _is_number(value) and 0 <= value < math.inf else None


def _is_number(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
