"""The parts of a search: words, `"phrases that stand literally"`, and what must not stand."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from sjduck.passages import bare
from sjduck.words import fold

MAX_PARTS = 200
# A phrase is in quotes; a `-` before it, or before a word, excludes. `--force` and `-1` are words.
_PARTS = re.compile(r'(?P<minus>-(?=["\w]))?(?:"(?P<phrase>[^"]+)"[.,;:!?)]*(?!\S)|(?P<word>\S+))')
_WORD = re.compile(r"[^\W_]+")
# Left by a sentence around a word, and no part of what was meant.
_AROUND = "()[]{},;:!?\"'`“”„«»。，、；：！？（）…"


class Part(NamedTuple):
    """One part as it was written: a `word`, a `phrase`, or `without`: what must not stand.

    What has punctuation or several words `is_written_so`: its text decides, not its words alone.
    """

    kind: str
    text: str

    @property
    def is_written_so(self) -> bool:
        """Whether its words alone don't tell that it stands somewhere."""
        return self.kind == "phrase" or not self.text.replace("'", "").isalnum()

    @property
    def literal(self) -> str:
        """The folded text that has to stand in the folded text of a block."""
        return folded(self.text)

    def corrected(self, meant: Mapping[str, str]) -> "Part":
        """Return the part with other words for those, bare, that `meant` has."""
        text = _WORD.sub(lambda word: meant.get(bare(word[0]), word[0]), self.text)
        return self._replace(text=text)


class Parts(NamedTuple):
    """The parts of a search, each once; how many had no room."""

    parts: tuple[Part, ...]
    left_out: int


def parse(query: str) -> Parts:
    """Return the parts of a query; where it only excludes, what it excludes is looked for."""
    found = [_part(match) for match in _PARTS.finditer(query) if match[0].strip(' "')]
    if all(part.kind == "without" for part in found):
        found = [_word(f"-{part.text}") for part in found]
    parts = tuple(dict.fromkeys(found))
    return Parts(parts[:MAX_PARTS], max(len(parts) - MAX_PARTS, 0))


def folded(text: str) -> str:
    """Return text in one case, each run of white space one space: a phrase may cross lines."""
    return " ".join(fold(text).split())


def _part(match: re.Match[str]) -> Part:
    phrase, word = match["phrase"], match["word"]
    text = phrase or word
    if match["minus"] and not text[0].isdigit():
        return Part("without", text)
    return Part("phrase", text) if phrase else _word(match[0])


def _word(text: str) -> Part:
    text = text.strip(_AROUND).rstrip(".") or text
    return Part("word", text)
