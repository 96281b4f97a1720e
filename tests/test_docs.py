"""Docs are true: generated pages are fresh, the README's commands run, links lead somewhere."""

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import nbformat
import pytest
from nbclient import NotebookClient

from docs.generate import PAGES
from sjduck.cli import cli
from tests.conftest import SAMPLES, Fill

CHECKOUT = Path(__file__).parent.parent
WRITTEN = [CHECKOUT / "README.md", CHECKOUT / "AGENTS.md", *sorted(CHECKOUT.glob("docs/*.md"))]
HEADINGS = re.compile(r"^#+ (.+)$", re.MULTILINE)
LINKS = re.compile(r"\]\(([^)\s]+)\)")


class Example(NamedTuple):
    """A command of the README and what it says the command prints."""

    command: str
    printed: str


def examples() -> Iterator[Example]:
    """Yield the commands of the README's console blocks, in their order."""
    text = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            yield Example(command, printed)


# What differs from run to run is only of the same shape.
VARYING = (
    r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?",  # when it was run
    r"\b[0-9a-f]{12}\b",  # a writer
    r"\d+(\.\d+)? (kB|MB/s|MB|s)\b",  # how much, how long
    r"genai-prices \d+\.\d+\.\d+",  # the price table that is installed
)


def pattern(printed: str) -> re.Pattern[str]:
    """Return what an example's output may be: `…` alone on a line is any lines."""
    lines = ["(?:.*\n)*" if line == "…\n" else _shape(line) for line in printed.splitlines(True)]
    return re.compile("".join(lines))


def _shape(line: str) -> str:
    shapes = re.compile("|".join(f"(?P<v{n}>{shape})" for n, shape in enumerate(VARYING)))
    parts, at = [], 0
    for match in shapes.finditer(line):
        kind = int((match.lastgroup or "v0")[1:])
        parts += [re.escape(line[at : match.start()]), VARYING[kind]]
        at = match.end()
    return "".join([*parts, re.escape(line[at:])])


@pytest.fixture
def shell(tmp_path: Path, home: Path) -> dict[str, str]:
    """Return the environment of somebody who has just installed sjduck."""
    script = tmp_path / "bin" / "sjduck"
    script.parent.mkdir()
    script.write_text(f"#!{sys.executable}\nfrom sjduck.cli import main\nmain()\n")
    script.chmod(0o755)
    environment = {name: os.environ[name] for name in ("HOME", "TZ") if name in os.environ}
    return {
        **environment,
        "PATH": f"{script.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(CHECKOUT),
        "CLAUDE_HOST": "heron",
        "COLUMNS": "80",
        "LANG": "C.UTF-8",
    }


def test_the_readmes_commands_print_what_it_says(shell: dict[str, str], home: Path) -> None:
    shown = list(examples())

    assert len(shown) > 5
    for example in shown:
        ran = subprocess.run(
            ["bash", "-c", example.command], cwd=CHECKOUT, env=shell, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, encoding="utf-8",
        )  # fmt: skip
        printed = ran.stdout.replace(str(home), "/home/mira").replace(str(CHECKOUT), "/src/sjduck")
        assert pattern(example.printed).fullmatch(printed), f"$ {example.command}\n{printed}"


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_fresh(name: str) -> None:
    written = (CHECKOUT / "docs" / name).read_text(encoding="utf-8")

    assert written == PAGES[name](), "run: make docs"


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in LINKS.findall(page.read_text(encoding="utf-8")):
        if link.startswith(("http://", "https://")):
            continue
        place, _, anchor = link.partition("#")
        target = page.parent / place if place else page
        assert target.exists(), link
        if anchor:
            headings = HEADINGS.findall(target.read_text(encoding="utf-8"))
            assert anchor in {_anchor(heading) for heading in headings}, link


def test_every_command_is_in_the_readme() -> None:
    text = (CHECKOUT / "README.md").read_text(encoding="utf-8")

    for name in cli.list_commands(None):  # type: ignore[arg-type]
        assert f"sjduck {name}" in text, name


def test_every_variable_that_is_read_is_described() -> None:
    described = "".join(page.read_text(encoding="utf-8") for page in WRITTEN)
    named = {
        name
        for room in ("sjduck", "etl")
        for file in (CHECKOUT / room).rglob("*.py")
        for name in re.findall(
            r'"((?:SJDUCK|SJMCP|SCRUBJAY|CLAUDE|CODEX)_[A-Z_]+)"', file.read_text(encoding="utf-8")
        )
    }

    assert "SJDUCK_ARCHIVE" in named
    assert {name for name in named if name not in described} == set()


def _anchor(heading: str) -> str:
    kept = re.sub(r"[^\w\s-]", "", heading.lower())
    return re.sub(r"\s", "-", kept.strip())


def test_the_notebook_runs(fill: Fill, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(f"claude={SAMPLES}/claude", f"scrubjay={SAMPLES}/scrubjay/storage")
    monkeypatch.setenv("SJDUCK_ARCHIVE", str(root))
    file = CHECKOUT / "docs" / "notebooks" / "usage.ipynb"
    notebook = nbformat.read(file, as_version=4)  # type: ignore[no-untyped-call]
    assert not any(cell.get("outputs") for cell in notebook.cells), "clear the outputs"

    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()

    shown = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert any("image/svg+xml" in o.get("data", ()) for o in shown)
    assert any("orderbook" in o.get("data", {}).get("text/html", "") for o in shown)


def test_the_blocks_about_python_run(
    fill: Fill, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(f"claude={SAMPLES}/claude", f"scrubjay={SAMPLES}/scrubjay/storage")
    monkeypatch.setenv("SJDUCK_ARCHIVE", str(root))
    page = CHECKOUT / "docs" / "python.md"

    text = "\n".join(
        re.findall(r"^```pycon\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    )
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    examples = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    failed, tried = runner.run(examples)

    assert tried > 10
    assert not failed
