"""JSON files of other programs: read as data, edited as text, so that all else stays as it is."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

Way = tuple[str, ...]
_STRING = r'"(?:[^"\\]|\\.)*"'
_COMMENTS = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING = re.compile(rf"{_STRING}|,(?=\s*[}}\]])", re.DOTALL)
_SPACE = re.compile(r"\s*")
_FIRST_INDENT = re.compile(r"^([ \t]+)\S", re.MULTILINE)
_DECODER = json.JSONDecoder()


class Member(NamedTuple):
    """Where one member of an object stands in the text."""

    key: str
    start: int
    value: int
    end: int


@dataclass(frozen=True, slots=True)
class JsonText:
    """A JSON file's text; `is_lenient`: comments, and commas after the last member, are allowed."""

    text: str
    is_lenient: bool = False

    def read(self) -> Any:
        """Return what it holds, an empty object where it is blank; raises ValueError."""
        try:
            plain = self._plain
            return json.loads(plain, parse_constant=_refused) if plain.strip() else {}
        except RecursionError as error:
            raise ValueError("nested too deeply") from error

    def holds(self, expected: Any) -> bool:
        """Tell whether it holds what is expected."""
        try:
            return bool(self.read() == expected)
        except ValueError:
            return False

    def put(self, way: Way, value: Any) -> "JsonText":
        """Return the text with a value at the end of a way, which is made where it is missing.

        Raises ValueError where something on the way is no object.
        """
        if not self._plain.strip():
            return self._with(f"{self.text.rstrip()}\n{{}}\n".lstrip()).put(way, value)
        place = _SPACE.match(self._plain).end()  # type: ignore[union-attr]
        for depth, key in enumerate(way):
            self._check_object(place, way[:depth])
            member = self._member(place, key)
            if member is None:
                for missing in reversed(way[depth + 1 :]):
                    value = {missing: value}
                return self._with(self._added(place, key, value))
            if depth == len(way) - 1:
                return self._with(self._replaced(member, value))
            place = member.value
        raise AssertionError("an empty way")

    def take(self, way: Way) -> "JsonText":
        """Return the text without the member at the end of a way."""
        place = _SPACE.match(self._plain).end()  # type: ignore[union-attr]
        for key in way[:-1]:
            member = self._member(place, key)
            if member is None:
                return self
            place = member.value
            if self._plain[place] != "{":
                return self
        return self._with(self._removed(place, way[-1]))

    # -- what is where ---------------------------------------------------------------------

    @property
    def _uncommented(self) -> str:
        """The text with blanks for comments: everything stands where it stood."""
        return _COMMENTS.sub(_blank_comment, self.text) if self.is_lenient else self.text

    @property
    def _plain(self) -> str:
        return _TRAILING.sub(_blank_comma, self._uncommented) if self.is_lenient else self.text

    def _with(self, text: str) -> "JsonText":
        return JsonText(text, self.is_lenient)

    def _check_object(self, place: int, way: Way) -> None:
        if self._plain[place : place + 1] != "{":
            what = ".".join(way) or "the file"
            raise ValueError(f"{what} is no object")

    def _members(self, place: int) -> Iterator[Member]:
        """Yield the members of the object that begins at a place."""
        plain = self._plain
        at = _end_of_space(plain, place + 1)
        while plain[at] != "}":
            key, end = _DECODER.raw_decode(plain, at)
            value = _end_of_space(plain, _end_of_space(plain, end) + 1)
            _, end = _DECODER.raw_decode(plain, value)
            yield Member(key, at, value, end)
            at = _end_of_space(plain, end)
            if plain[at] == ",":
                at = _end_of_space(plain, at + 1)

    def _member(self, place: int, key: str) -> Member | None:
        """Return the member that readers take: of several of one name, the last."""
        found = [member for member in self._members(place) if member.key == key]
        return found[-1] if found else None

    def _closing(self, place: int) -> int:
        return _DECODER.raw_decode(self._plain, place)[1] - 1

    # -- how the text changes --------------------------------------------------------------

    def _added(self, place: int, key: str, value: Any) -> str:
        """Return the text with one more member at the end of an object."""
        text, close = self.text, self._closing(place)
        members = list(self._members(place))
        if self._is_in_line(place, close):
            return self._added_in_line(members, close, key, value)
        if not members:
            indent = _indent_of_line(text, place)
            inner = f"{self._newline}{indent}{self._unit}"
            member = inner + _named(key, self._dumped(value, indent + self._unit))
            kept = text[place + 1 : close].rstrip()
            return f"{text[: place + 1]}{kept}{member}{self._newline}{indent}{text[close:]}"
        last = members[-1]
        indent = _indent_of_line(text, last.start)
        member = f"{self._newline}{indent}" + _named(key, self._dumped(value, indent))
        end = len(text[:close].rstrip())
        before, after = (",", "") if not self._has_comma(last.end, close) else ("", ",")
        return f"{text[: last.end]}{before}{text[last.end : end]}{member}{after}{text[end:]}"

    def _is_in_line(self, place: int, close: int) -> bool:
        """Tell whether an object is written on one line, or the whole file is."""
        if self.text[place + 1 : close].strip():
            return "\n" not in self.text[place:close]
        return "\n" not in self.text.strip() and self.text.strip() != "{}"

    def _added_in_line(self, members: list[Member], close: int, key: str, value: Any) -> str:
        text = self.text
        is_tight = ": " not in text
        dumped = json.dumps(
            {key: value}, ensure_ascii=False, separators=(",", ":") if is_tight else (", ", ": ")
        )[1:-1]
        if not members:
            return text[:close] + dumped + text[close:]
        end = members[-1].end
        return f"{text[:end]}{',' if is_tight else ', '}{dumped}{text[end:]}"

    def _replaced(self, member: Member, value: Any) -> str:
        text = self.text
        in_line = "\n" not in text.strip()
        indent = _indent_of_line(text, member.start)
        dumped = json.dumps(value, ensure_ascii=False) if in_line else self._dumped(value, indent)
        return text[: member.value] + dumped + text[member.end :]

    def _removed(self, place: int, key: str) -> str:
        """Return the text without a member, its comma, and the space before it."""
        text, members = self.text, list(self._members(place))
        numbers = [n for n, member in enumerate(members) if member.key == key]
        if not numbers:
            return text
        number = numbers[-1]
        member, close = members[number], self._closing(place)
        start = len(text[: member.start].rstrip())
        comma = self._uncommented.find(",", member.end, close)
        end = member.end if comma < 0 else comma + 1
        if len(members) == 1 and not (text[place + 1 : start] + text[end:close]).strip():
            return text[: place + 1] + text[close:]
        glue = self._newline if self._needs_newline(start, member.start, end) else ""
        if number + 1 < len(members) or number == 0 or comma >= 0:
            return text[:start] + glue + text[end:]
        before = self._uncommented.rindex(",", members[number - 1].end, member.start)
        return text[:before] + text[before + 1 : start] + glue + text[end:]

    def _needs_newline(self, start: int, member: int, end: int) -> bool:
        """Tell whether what follows would get into the line, and the comment, before."""
        follows = self.text[end:].lstrip(" \t\r")
        return "\n" in self.text[start:member] and not follows.startswith("\n")

    def _has_comma(self, start: int, end: int) -> bool:
        return "," in self._uncommented[start:end]

    def _dumped(self, value: Any, indent: str) -> str:
        dumped = json.dumps(value, ensure_ascii=False, indent=self._unit)
        return dumped.replace("\n", self._newline + indent)

    @property
    def _newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    @property
    def _unit(self) -> str:
        first = _FIRST_INDENT.search(self.text)
        return first.group(1) if first else "  "


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _named(key: str, dumped: str) -> str:
    return f"{json.dumps(key, ensure_ascii=False)}: {dumped}"


def _blank_comment(match: re.Match[str]) -> str:
    found = match[0]
    return found if found.startswith('"') else re.sub(r"[^\n]", " ", found)


def _blank_comma(match: re.Match[str]) -> str:
    return " " if match[0] == "," else match[0]


def _end_of_space(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]


def _indent_of_line(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]
