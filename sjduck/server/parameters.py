"""Parameters of a tool: as a model sees them, and their values checked."""

from dataclasses import dataclass
from typing import Any

from sjduck.errors import UsageError

JSON = dict[str, Any]
_LARGEST = 2**31 - 1
_TYPE_NAMES = {"string": "a text", "integer": "a whole number", "boolean": "true or false"}
_SHOWN_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a tool, with its default; None says that it may be left out."""

    name: str
    type: str = "string"
    about: str = ""
    default: Any = None
    choices: tuple[str, ...] = ()
    least: int = 0
    is_required: bool = False
    # An unknown choice is passed on; the answer says what was taken instead.
    is_lenient: bool = False

    @property
    def schema(self) -> JSON:
        """The parameter as JSON Schema, as short as it can be."""
        schema: JSON = {"type": self.type}
        if self.choices:
            schema["enum"] = list(self.choices)
        if self.default is not None:
            schema["default"] = self.default
        if self.type == "integer" and self.least:
            schema["minimum"] = self.least
        if self.about:
            schema["description"] = self.about
        return schema

    def taken(self, value: Any) -> Any:
        """Return the value that a client sent, in its type; raises UsageError.

        Models write numbers and truth values as text now and then: those are taken.
        """
        match self.type, value:
            case "integer", bool():
                pass
            case "integer", int() | float() | str() if (number := _whole(value)) is not None:
                if not self.least <= number <= _LARGEST:
                    raise UsageError(f"{self.name} must be from {self.least} to {_LARGEST}")
                return number
            case "boolean", bool():
                return value
            case "boolean", "true" | "false":
                return value == "true"
            case "string", str():
                return self._chosen(value)
        wanted = _TYPE_NAMES[self.type]
        raise UsageError(f"{self.name} must be {wanted}, not {shown(value)}")

    def _chosen(self, value: str) -> str:
        if self.choices and value not in self.choices and not self.is_lenient:
            raise UsageError(
                f"unknown {self.name} {shown(value)}; one of: {', '.join(self.choices)}"
            )
        return value


def _whole(value: float | str) -> int | None:
    try:
        number = float(value) if isinstance(value, str) else value
        return int(number) if number == int(number) else None
    except (ValueError, OverflowError):
        return None


def shown(value: Any) -> str:
    """Return a value as it was sent, short enough for a line."""
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
