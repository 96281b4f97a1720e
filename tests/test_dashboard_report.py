"""`sjduck dashboard --html`: one private file with everything in it, whatever names it shows."""

import base64
import hashlib
import importlib.util
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sjduck.archive import Archive
from sjduck.cli import main
from sjduck.dashboard.figures import Filters, choices, figures
from sjduck.dashboard.report import report, write_private
from sjduck.errors import SjduckError
from tests import bakery
from tests.conftest import Fill
from tests.test_cli import Ran

NASTY = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u2028'\"&amp;"
SCRIPTS = re.compile(r"<script([^>]*)>(.*?)</script>", re.DOTALL)
Command = Callable[..., Ran]


@pytest.fixture
def filled(tmp_path: Path, fill: Fill, archive: Archive) -> Archive:
    """Return an archive of the bakery."""
    bakery.write(tmp_path / "storage")
    fill(f"scrubjay={tmp_path / 'storage'}")
    return archive


@pytest.fixture
def command(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Return a function that runs `sjduck dashboard` on the archive."""

    def ran(*arguments: str) -> Ran:
        given = ["sjduck", "dashboard", "--archive", str(root), "--no-fill", *arguments]
        monkeypatch.setattr(sys, "argv", given)
        with pytest.raises(SystemExit) as left:
            main()
        return Ran(int(left.value.code or 0), *capsys.readouterr())

    return ran


def written(archive: Archive, filters: Filters | None = None) -> str:
    filters = filters or Filters()
    return report(figures(archive, filters), choices(archive), filters, "2026-03-31 12:00")


def data_of(page: str) -> Any:
    """Return the charts and rows that a page holds."""
    (data,) = [body for head, body in SCRIPTS.findall(page) if "application/json" in head]
    return json.loads(data)


def without_scripts(page: str) -> str:
    return SCRIPTS.sub("", page)


# -- the page ------------------------------------------------------------------------------


def test_a_page_has_its_rows_once_and_needs_nothing_from_elsewhere(filled: Archive) -> None:
    page = written(filled)
    data = data_of(page)
    shown = {spec["data"]["name"] for spec in data["specs"]}

    assert shown == set(data["datasets"])
    assert len(data["specs"]) > 2 * len(shown)
    assert not re.search(r"""(?:src|href)\s*=|url\(|@import""", without_scripts(page))
    assert len(page) < 1_300_000


def test_the_policy_lets_only_the_pages_own_scripts_run(filled: Archive) -> None:
    page = written(filled)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    scripts = [body for head, body in SCRIPTS.findall(page) if 'type="module"' in head]
    hashes = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]

    assert policy is not None
    assert policy[1].startswith("default-src 'none';")
    assert re.findall(r"'sha256-([^']+)'", policy[1]) == hashes
    assert "'unsafe-inline'" not in policy[1].partition("style-src")[0]


def test_names_and_topics_are_text_wherever_they_stand(
    tmp_path: Path, fill: Fill, archive: Archive
) -> None:
    bakery.write(
        tmp_path / "storage", days=3, projects=(NASTY,), topics=(NASTY,), models=(NASTY, "oven-9")
    )
    fill(f"scrubjay={tmp_path / 'storage'}")

    page = written(archive, Filters(model=NASTY))

    assert len(SCRIPTS.findall(page)) == 3
    assert "alert(1)" in page
    assert "<img" not in without_scripts(page)
    assert "\u2028" not in "".join(body for _, body in SCRIPTS.findall(page)[:1])
    assert NASTY in {
        row.get("series") for rows in data_of(page)["datasets"].values() for row in rows
    }


def test_a_page_says_its_period_filters_zone_and_prices(filled: Archive) -> None:
    page = without_scripts(written(filled, Filters(since="2026-02-10", host="wren")))

    for said in ("2026-02-10 to ", "host wren", "UTC", "genai-prices", "oven-9: ", "unpriced"):
        assert said in page, said


def test_a_page_about_nothing_says_what_to_do(filled: Archive, tmp_path: Path) -> None:
    empty = Archive(tmp_path / "nothing", timezone="UTC")

    assert "Nothing was used within these filters" in written(filled, Filters(host="owl"))
    assert "sjduck etl" in written(empty)


# -- the file ------------------------------------------------------------------------------


def test_only_its_owner_may_read_the_file(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text("older")
    file.chmod(0o644)

    write_private(file, "newer")

    assert file.read_text() == "newer"
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.glob("*.html*")] == ["report.html"]


@pytest.mark.parametrize("place", [".", "not/there/report.html"])
def test_what_cannot_be_written_is_one_line(place: str, tmp_path: Path) -> None:
    with pytest.raises(SjduckError, match="can't write"):
        write_private(tmp_path / place, "page")


# -- the command ---------------------------------------------------------------------------


@pytest.mark.usefixtures("filled")
def test_the_command_writes_a_page_and_says_so(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    ran = command("--html", str(file), "--project", "RYE")
    as_json = command("--html", str(file), "--json").json
    on_stdout = command("--html", "-")

    assert ran.code == 0
    assert not ran.out
    assert re.fullmatch(rf"wrote {file}, \d\.\d MB: 42 calls; open it in any browser\n", ran.err)
    assert as_json == {"html": str(file), "bytes": file.stat().st_size, "calls": 120}
    assert on_stdout.out.startswith("<!doctype html>")


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--html", "x.html", "--port", "8080"], 2, "--html writes a file"),
        (["--html", "x.html", "--since", "soon"], 2, "can't read since='soon'"),
        (["--port", "0"], 2, "0 is not in the range"),
        (["--no-open", "--since", "soon"], 2, "can't read since='soon'"),
    ],
)
def test_what_cannot_be_taken_is_one_line(
    arguments: list[str], code: int, said: str, command: Command
) -> None:
    ran = command(*arguments)

    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.usefixtures("filled")
def test_without_the_packages_it_says_how_to_get_them(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "marimo" else real(name)
    )
    ran = command("--html", "x.html")

    assert ran.code == 1
    assert ran.err == ("sjduck: the dashboard needs marimo; run: pip install 'sjduck[dashboard]'\n")


def test_without_an_archive_it_exits_with_3(command: Command) -> None:
    ran = command("--html", "x.html")

    assert ran.code == 3
    assert "no snapshot" in ran.err
