"""Small scrubjay storage trees: sessions, readables, plans, memory, notes and catalogue logs."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sjduck.archive import Archive
from sjduck.reading import get
from tests.trees import lines

Row = dict[str, Any]


class Storage:
    """A storage tree with its logs; `sources` are what etl is to take in."""

    def __init__(self, root: Path) -> None:
        self.tree = root / "storage"
        self.data = root / "data"
        self.tree.mkdir(parents=True)
        (self.data / "logs").mkdir(parents=True)

    @property
    def sources(self) -> tuple[str, str]:
        """Return the `KIND=PATH` flags of the tree and of its logs."""
        return f"scrubjay={self.tree}", f"scrubjay-logs={self.data}"

    def session(
        self,
        host: str,
        session: str,
        prompts: list[str],
        *,
        slug: str = "-home-ann-shop",
        more: Iterable[Row] = (),
        **options: Any,
    ) -> Path:
        """Write a raw session of a host; `more` are further records of it."""
        records = [*lines(session, prompts, **options), *more]
        content = "".join(json.dumps(record) + "\n" for record in records)
        return _write(self.tree / host / slug / f"{session}.jsonl", content)

    def subagent(self, host: str, session: str, agent: str, prompts: list[str]) -> Path:
        """Write a subagent's session below that of its parent."""
        records = [
            {**record, "isSidechain": True, "agentId": agent} for record in lines(session, prompts)
        ]
        folder = self.tree / host / "-home-ann-shop" / session / "subagents"
        content = "".join(json.dumps(record) + "\n" for record in records)
        return _write(folder / f"agent-{agent}.jsonl", content)

    def readable(self, host: str, name: str, text: str, *, project: str = "shop") -> Path:
        """Write the rendered readable of a session."""
        return _write(self.tree / host / "readable" / project / name, text)

    def plan(self, host: str, name: str, text: str) -> Path:
        """Write a plan."""
        return _write(self.tree / host / "plans" / name, text)

    def memory(self, key: str, name: str, text: str) -> Path:
        """Write a memory of a project."""
        return _write(self.tree / "memory" / key / name, text)

    def note(self, key: str, name: str, text: str) -> Path:
        """Write a note of a project."""
        return _write(self.tree / "memory" / key / "notes" / name, text)

    def log(self, host: str, *rows: str) -> Path:
        """Write a host's catalogue, one row a session."""
        return _write(self.data / "logs" / f"{host}.log", "".join(row + "\n" for row in rows))


def log_row(
    session: str,
    topic: str,
    *,
    at: str = "2026-03-01 12:00",
    host: str = "atlas",
    cwd: str = "/home/ann/shop",
    rest: str = " | harness=claude | model=claude-opus-4-5 | turns=4 | size=2048",
) -> str:
    """Return one row of a catalogue."""
    return f'{at} | {host} | {cwd} | "{topic}" | session={session}{rest}'


def whole(archive: Archive, ref: str, **options: Any) -> str:
    """Return a whole document as text."""
    answer = get(archive, ref, max_chars=0, **options)
    assert "error" not in answer, answer
    content: str = answer["content"]
    return content


def column(archive: Archive, query: str, **values: Any) -> list[Any]:
    """Return the only column of a query."""
    rows = archive.ask(lambda view: view.rows(query, **values))
    return [value for row in rows for value in row.values()]


def _write(file: Path, content: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode())
    return file
