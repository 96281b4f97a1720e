"""Which priced model a logged model name means: by rules that are listed here, never by guess.

A name means a model where it is, letter for letter, a name that the price table gives that
model: its id, its display name, or the text of one of its matching rules, which the table
itself takes as the beginning or a part of a name. The names tried, in this order:

1. as logged, in lower case, without a context window in brackets (`[1m]`);
2. without what stands before the last `/`, where all of it names providers (`openai/gpt-5.5`);
3. without a Bedrock region and maker (`us.anthropic.`) and version (`-v1:0`);
4. each of these without a date (`-20250929`, `-2025-08-07`, `@20250929`) or `-latest`;
5. each of these with `-` for `.` and blanks (`Claude Opus 4.6`), and with `.` for `-` between
   digits;
6. of Claude models, without `-thinking`, which is not priced apart.

The provider that was logged decides whose prices count; one that the table does not know has
none. Where none was logged it is the maker, whose rules name the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, Provider

# A provider's name in a log → its id in the price table, where they differ.
_PROVIDERS = {
    "amazon-bedrock": "aws",
    "aws-bedrock": "aws",
    "azure-openai": "azure",
    "bedrock": "aws",
    "fireworks-ai": "fireworks",
    "gemini": "google",
    "google-vertex": "google",
    "google-vertex-anthropic": "google",
    "moonshot": "moonshotai",
    "moonshot-ai": "moonshotai",
    "togetherai": "together",
    "vertex": "google",
    "xai": "x-ai",
    "z-ai": "zai",
}
# No model has a longer name, and looking at one would take long.
_LONGEST = 200
_NO_PROVIDERS = frozenset({"models", "publishers"})
_WINDOW = re.compile(r"\[[^\]]*\]$")
_REGION = re.compile(r"^(?:(?:us-gov|us|eu|apac|au|jp|ca|sa|global)\.)?anthropic\.")
_VERSION = re.compile(r"-v\d+(?::\d+)?$")
_DATE = re.compile(r"(?:[-@]\d{8}|-\d{4}-\d{2}-\d{2}|-latest)$")
_DASHED_NUMBER = re.compile(r"(?<=\d)-(?=\d)")


class Priced(NamedTuple):
    """The model that a name means, and whose prices count."""

    provider: Provider
    model: ModelInfo


@cache
def priced_model(model: str, provider: str | None) -> Priced | None:
    """Return what a logged model name means, None where no listed rule tells."""
    seller = _provider(provider) if provider else None
    if (provider and seller is None) or len(model) > _LONGEST:
        return None
    for name in _names(model):
        for candidate in [seller] if seller else _makers(name):
            if found := _model_of(candidate, name):
                return Priced(candidate, found)
    return None


def _names(model: str) -> Iterator[str]:
    """Yield the names to try, each once, in the order of the rules."""
    logged = _WINDOW.sub("", model.strip().lower())
    plain = _without_providers(logged)
    bare = _REGION.sub("", _without_version(plain))
    short = (logged, plain, bare)
    undated = (*short, *(_DATE.sub("", name) for name in short))
    spelled = (
        *undated,
        *(re.sub(r"[. ]", "-", name) for name in undated),
        *(_DASHED_NUMBER.sub(".", name) for name in undated),
    )
    thoughtless = (n.removesuffix("-thinking") for n in spelled if n.startswith("claude-"))
    yield from dict.fromkeys((*spelled, *thoughtless))


def _without_version(name: str) -> str:
    """Return a name of Bedrock's without its version; `claude-v3` is no version of `claude`."""
    return _VERSION.sub("", name) if "anthropic." in name else name


def _without_providers(name: str) -> str:
    *parts, last = name.split("/")
    return last if all(part in _NO_PROVIDERS or _provider(part) for part in parts) else name


@cache
def _providers() -> dict[str, Provider]:
    from genai_prices.data_snapshot import get_snapshot

    return {provider.id: provider for provider in get_snapshot().providers}


def _provider(name: str) -> Provider | None:
    name = name.strip().lower()
    return _providers().get(_PROVIDERS.get(name, name))


def _makers(name: str) -> Iterator[Provider]:
    """Yield the providers whose own rules name the model."""
    for provider in _providers().values():
        if provider.model_match is not None and provider.model_match.is_match(name):
            yield provider


def _model_of(provider: Provider, name: str) -> ModelInfo | None:
    """Return a provider's model of this very name; some sell other makers' models as theirs."""
    makers = (_providers()[maker] for maker in provider.fallback_model_providers or ())
    for seller in (provider, *makers):
        if found := _aliases(seller.id).get(name):
            return found
    return None


@cache
def _aliases(provider: str) -> dict[str, ModelInfo]:
    """Return every name that the table gives a provider's models; the first model has it."""
    aliases: dict[str, ModelInfo] = {}
    models = _providers()[provider].models
    for model in models:
        aliases.setdefault(model.id.lower(), model)
    for model in models:
        for name in _names_given(model):
            aliases.setdefault(name.lower(), model)
    return aliases


def _names_given(model: ModelInfo) -> Iterable[str]:
    if model.name:
        yield model.name
    yield model.id.removesuffix("-latest")
    yield _without_version(model.id)
    yield from (text.rstrip("-@:") for text in _texts(model.match))


def _texts(clause: object) -> Iterator[str]:
    """Yield the texts of a matching rule; one with a `not` or several conditions gives none."""
    for name in ("equals", "starts_with", "ends_with", "contains"):
        if text := getattr(clause, name, None):
            yield text
    for part in getattr(clause, "or_", ()):
        yield from _texts(part)
