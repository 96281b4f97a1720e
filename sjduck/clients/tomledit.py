"""TOML files of other programs: read as data, edited so that comments and order stay."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from sjduck.clients.ways import Way, look_up, with_value, without

_HEADER = re.compile(r"^[ \t]*\[(?P<path>[^\[\]\n]+)\][ \t]*(?:#[^\n]*)?\r?$", re.MULTILINE)


class Section(NamedTuple):
    """A table under its own header: where it begins, and where its last value ends."""

    way: Way
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TomlText:
    """A TOML file's text.

    Lines are added and cut where that gives what is wanted, since tomlkit counts what is written
    above a header to the table before it; tomlkit does the rest.
    """

    text: str

    def read(self) -> Any:
        """Return what it holds; raises ValueError."""
        try:
            return tomllib.loads(self.text)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error

    def put(self, way: Way, value: Any) -> "TomlText":
        """Return the text with a value at the end of a way, which is made where it is missing.

        Raises ValueError where something on the way is no table.
        """
        data = self.read()
        for depth in range(1, len(way)):
            if not isinstance(look_up(data, way[:depth]) or {}, dict):
                raise ValueError(f"{'.'.join(way[:depth])} is no table")
        expected = with_value(data, way, value)
        if look_up(data, way) is None:
            added = (
                self._appended(way, value) if isinstance(value, dict) else self._lined(way, value)
            )
            if added.holds(expected):
                return added
        return self._kit_put(way, value)

    def take(self, way: Way) -> "TomlText":
        """Return the text without what is at the end of a way."""
        data = self.read()
        if look_up(data, way) is None:
            return self
        cut = self._cut(way)
        return cut if cut.holds(without(data, way)) else self._kit_take(way)

    def holds(self, expected: Any) -> bool:
        """Tell whether it holds what is expected; a table without anything is none."""
        try:
            return bool(_dense(self.read()) == _dense(expected))
        except ValueError:
            return False

    # -- by lines --------------------------------------------------------------------------

    def _appended(self, way: Way, value: dict[str, Any]) -> "TomlText":
        """Return the text with a table at its end."""
        block = _dumped(with_value({}, way, value)).replace("\n", self._newline)
        before = self.text.rstrip()
        return TomlText(f"{before}{self._newline * 2}{block}" if before else block)

    def _lined(self, way: Way, value: Any) -> "TomlText":
        """Return the text with one more line at the end of a table."""
        line = _dumped({way[-1]: value}).rstrip()
        for section in self._sections():
            if section.way == way[:-1]:
                before, after = self.text[: section.end], self.text[section.end :]
                return TomlText(f"{before}{self._newline}{line}{after}")
        return self

    def _cut(self, way: Way) -> "TomlText":
        """Return the text without a table and those below it, but with what follows them."""
        text = self.text
        for section in reversed(list(self._sections())):
            if section.way[: len(way)] == way:
                before = text[: section.start].rstrip()
                text = before + text[section.end :] if before else text[section.end :].lstrip()
        return TomlText(text)

    def _sections(self) -> Iterator[Section]:
        headers = list(_HEADER.finditer(self.text))
        ends = [*(header.start() for header in headers[1:]), len(self.text)]
        for header, end in zip(headers, ends, strict=False):
            written = self.text[header.start() : end]
            yield Section(
                _way(header["path"]), header.start(), header.start() + _last_value(written)
            )

    @property
    def _newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    # -- by tomlkit ------------------------------------------------------------------------

    def _kit_put(self, way: Way, value: Any) -> "TomlText":
        import tomlkit

        document = tomlkit.parse(self.text)
        table: Any = document
        for key in way[:-1]:
            table = table.setdefault(key, {})
        table[way[-1]] = value
        return TomlText(tomlkit.dumps(document))

    def _kit_take(self, way: Way) -> "TomlText":
        import tomlkit

        document = tomlkit.parse(self.text)
        table: Any = document
        for key in way[:-1]:
            table = table[key]
        del table[way[-1]]
        return TomlText(tomlkit.dumps(document))


def _last_value(section: str) -> int:
    """Return where the last line of a section ends that is neither empty nor a comment."""
    lines = section.split("\n")
    while len(lines) > 1 and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        lines.pop()
    return len("\n".join(lines).rstrip("\r"))


def _dumped(value: dict[str, Any]) -> str:
    import tomlkit

    return tomlkit.dumps(value)


def _way(path: str) -> Way:
    """Return the keys of a header: `a."b c"` → a, b c."""
    try:
        table = tomllib.loads(f"[{path}]")
    except ValueError:
        return ()
    keys: list[str] = []
    while table:
        ((key, table),) = table.items()
        keys.append(key)
    return tuple(keys)


def _dense(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: dense for key, item in value.items() if (dense := _dense(item)) != {}}
