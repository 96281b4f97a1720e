"""Private keys in a text: the lines between their marks, as a file, a listing or JSON has them."""

import re
from collections.abc import Iterator

from sjduck.secretrules import Span

HINT = "PRIVATE KEY(?: BLOCK)?-----|Private-Lines:"
_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|Private-Lines: \d+")
_MARK, _END = "-----BEGIN", "-----END"
# In JSON a line's end is written out, in JSON in JSON with more backslashes.
_LINE_END = re.compile(r"\r?\n|(?:\\{1,8}r)?\\{1,8}n")
# What a listing or a program puts before a line: a number, a bar, an arrow, quotes.
_SIGNS = r"(?:\\{1,8}[rt]|[^A-Za-z0-9+/=\\]){0,40}"
_BEFORE = rf"{_SIGNS}(?:\d{{1,7}}(?:→|\\{{1,8}}t|[\t:|-]){_SIGNS})?"
_KEY_LINE = re.compile(rf"{_BEFORE}\\{{0,8}}(?P<key>[A-Za-z0-9+/=]+)[^A-Za-z0-9]{{0,40}}")
_HEAD_LINE = re.compile(rf"{_BEFORE}(?:(?:Proc-Type|DEK-Info|Version|Comment|Hash): .*)?")
# Between the lines of a key that a program puts together: " +
_JOIN = re.compile(r"""[^A-Za-z0-9]{0,40}["'][^A-Za-z0-9]{0,40}""")
# A key on one line with its marks; without the second mark it must be longer than most paths.
_RUN = re.compile(r"[A-Za-z0-9+/=]{16,}|[A-Za-z0-9+/]{2,}={1,2}")
_LONG_RUN = re.compile(r"[A-Za-z0-9+/=]{48,}")
_LEAST = 16
# More than the largest keys have.
_MOST_CHARACTERS = 16_000
_MOST_LINES = 500


def find_private_keys(text: str) -> Iterator[list[Span]]:
    """Yield where the lines of each private key stand; its marks are no part of it."""
    for begin in _BEGIN.finditer(text):
        spans = list(_lines_of_key(text, begin.end()))
        if spans:
            yield spans


def _lines_of_key(text: str, start: int) -> Iterator[Span]:
    """Yield the lines of a key that begins at a place, up to what can't be one of it."""
    length = 0
    for number, (first, last) in enumerate(_lines(text, start)):
        end = text.find(_END, first, last)
        if end >= 0:
            yield from (run.span() for run in _RUN.finditer(text, first, end))
            return
        if number == 0:
            yield from (run.span() for run in _LONG_RUN.finditer(text, first, last))
            continue
        if _JOIN.fullmatch(text, first, last):
            continue
        match = _KEY_LINE.fullmatch(text, first, last)
        # The last line may be short; before the first, a short one is a word.
        if match and (len(match["key"]) >= _LEAST or length):
            yield match.span("key")
            is_last = len(match["key"]) < length and not match["key"].startswith("=")
            length = 0 if is_last else len(match["key"])
        elif length or not _HEAD_LINE.fullmatch(text, first, last):
            return


def _lines(text: str, start: int) -> Iterator[Span]:
    for _ in range(_MOST_LINES):
        most = min(start + _MOST_CHARACTERS, len(text))
        following = text.find(_MARK, start, most)
        most = most if following < 0 else following
        end = _LINE_END.search(text, start, most)
        yield start, end.start() if end else most
        if end is None:
            return
        start = end.end()
