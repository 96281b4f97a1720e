"""Find secrets in text, and mask them: what kind it was is said, and no line is lost.

The same secret has the same mask, which tells nothing of it. What is masked stays as it is when
it is masked once more, and JSON stays JSON.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from sjduck import privatekeys
from sjduck.errors import SjduckError
from sjduck.secretrules import Rule, Span, library_rules, own_rules
from sjduck.secretwords import word_rules

if TYPE_CHECKING:
    import pyarrow as pa

PRIVATE_KEY = "private key"
# Raised with every change to what is found: what older rules masked is looked through again.
_RULES = 3
_LIBRARY = "detect-secrets"
_MISSING = (
    f"secrets can't be found without {_LIBRARY}; run pip install 'sjduck[secrets]', or set "
    'redact = "off"'
)
# Where one mask makes another possible; in practice the second finds nothing.
_MOST_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret in a text: its kind, and where it stands; only a private key has several places."""

    kind: str
    spans: tuple[Span, ...]

    @property
    def start(self) -> int:
        """Where it begins."""
        return self.spans[0][0]


def rules_version() -> str:
    """Return what tells these rules from others; raises SjduckError without the library."""
    try:
        return f"{_RULES}/{version(_LIBRARY)}"
    except PackageNotFoundError as error:
        raise SjduckError(_MISSING) from error


@cache
def _rules() -> tuple[Rule, ...]:
    """Return the rules, the surest first."""
    try:
        return (*own_rules(), *library_rules(), *word_rules())
    except ImportError as error:
        raise SjduckError(_MISSING) from error


@cache
def hint() -> str:
    """Return a pattern for RE2 that every text with a secret holds, and few others."""
    return "|".join(dict.fromkeys([privatekeys.HINT, *(rule.hint for rule in _rules())]))


def suspects(texts: Sequence[str] | pa.Array) -> list[int]:
    """Return which of some texts may hold a secret, fast: in the others no rule finds one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = texts if isinstance(texts, pa.Array) else pa.array(texts, pa.large_string())
    hits = pc.match_substring_regex(column, hint())
    return [int(number) for number in pc.indices_nonzero(hits).to_pylist()]


def find_all(texts: Sequence[str]) -> dict[int, list[Secret]]:
    """Return the secrets in some texts, by the number of the text; in each in their order."""
    lines = [(number, *line) for number in suspects(texts) for line in _lines(texts[number])]
    places: dict[int, list[tuple[int, str]]] = {}
    for at in suspects([line for _, _, line in lines]):
        number, start, line = lines[at]
        places.setdefault(number, []).append((start, line))
    found: dict[int, list[Secret]] = {}
    for number, hits in places.items():
        if secrets := _found(texts[number], hits):
            found[number] = secrets
    return found


def _lines(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for line in text.split("\n"):
        yield start, line
        start += len(line) + 1


def _found(text: str, hits: Iterable[tuple[int, str]]) -> list[Secret]:
    """Return the secrets of a text, of which some lines may hold one."""
    found = [Secret(PRIVATE_KEY, tuple(spans)) for spans in privatekeys.find_private_keys(text)]
    for rule in _rules():
        for start, line in hits:
            for first, last in rule.find(line):
                found.append(Secret(rule.kind, ((start + first, start + last),)))
    return _apart(found)


def _apart(found: Sequence[Secret]) -> list[Secret]:
    """Return secrets without overlap, in their order: of two that do, the surer one is both."""
    spans: dict[int, list[Span]] = {}
    owner, last = 0, -1
    for start, minus_end, number in sorted(
        (start, -end, number) for number, secret in enumerate(found) for start, end in secret.spans
    ):
        first = start
        if start < last:
            first, _ = spans[owner].pop()
            number, minus_end = min(owner, number), min(-last, minus_end)
        owner, last = number, -minus_end
        spans.setdefault(owner, []).append((first, last))
    kept = [Secret(found[number].kind, tuple(places)) for number, places in spans.items() if places]
    return sorted(kept, key=lambda secret: secret.start)


def mask_all(texts: Sequence[str]) -> dict[int, tuple[str, Counter[str]]]:
    """Return those of some texts that hold secrets, by number: masked, and how many of a kind."""
    changed: dict[int, tuple[str, Counter[str]]] = {}
    numbers, left = list(range(len(texts))), list(texts)
    for _ in range(_MOST_ROUNDS):
        found = find_all(left)
        for at, secrets in found.items():
            kinds = changed.get(numbers[at], ("", Counter()))[1]
            kinds.update(secret.kind for secret in secrets)
            changed[numbers[at]] = _masked(left[at], secrets), kinds
        numbers = [numbers[at] for at in found]
        left = [changed[number][0] for number in numbers]
        if not left:
            break
    return changed


def _masked(text: str, secrets: Iterable[Secret]) -> str:
    pieces, last = [], 0
    for start, end, kind in sorted((*span, s.kind) for s in secrets for span in s.spans):
        pieces += [text[last:start], mask_of(kind)]
        last = end
    return "".join([*pieces, text[last:]])


def mask_of(kind: str) -> str:
    """Return what stands in place of a secret."""
    return f"[secret: {kind}]"


def masked(value: Any) -> Any:
    """Return an answer, or any part of one, with the secrets in its texts masked."""
    texts: dict[str, None] = {}
    _gather(value, texts)
    listed = list(texts)
    changed = {listed[number]: text for number, (text, _) in mask_all(listed).items()}
    return _replaced(value, changed) if changed else value


def _gather(value: Any, texts: dict[str, None]) -> None:
    if isinstance(value, str):
        texts[value] = None
    elif isinstance(value, dict):
        _gather(list(value.values()), texts)
    elif isinstance(value, list | tuple):
        for part in value:
            _gather(part, texts)


def _replaced(value: Any, changed: dict[str, str]) -> Any:
    if isinstance(value, str):
        return changed.get(value, value)
    if isinstance(value, dict):
        return {name: _replaced(part, changed) for name, part in value.items()}
    if isinstance(value, list | tuple):
        parts = [_replaced(part, changed) for part in value]
        return parts if isinstance(value, list) else tuple(parts)
    return value
