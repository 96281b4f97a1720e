"""Names of sources, which say which documents are the same from run to run."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace

from sjduck.settings import Source


def named(sources: Iterable[Source], known: Mapping[str, Mapping[str, str]]) -> dict[str, Source]:
    """Give each source the name that it had, else its own, else its kind with a number.

    `known` are the sources of earlier runs by name: a name must not depend on which other
    sources a run has.
    """
    names: dict[str, Source] = {}
    for source in sources:
        before = [name for name, place in known.items() if place == place_of(source)]
        name = source.name or next((n for n in before if n not in names), "")
        count = 1
        while not name or name in names:
            candidate = source.kind if count == 1 else f"{source.kind}-{count}"
            name = candidate if candidate not in known else ""
            count += 1
        names[name] = replace(source, name=name)
    return names


def place_of(source: Source) -> dict[str, str]:
    """Return what a manifest keeps of a source: its kind and its real root."""
    return {"kind": source.kind, "root": os.path.realpath(source.path)}
