"""The dashboard in a real browser: it draws, filters, finds and reads, and asks nobody else."""

import http.client
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from etl.pipeline import run
from sjduck.archive import Archive
from sjduck.dashboard.figures import Filters, choices, figures
from sjduck.dashboard.report import report
from sjduck.dashboard.serving import ADDRESS, Served, application, is_own
from sjduck.errors import UsageError
from sjduck.settings import load
from tests import bakery
from tests.conftest import Quiet

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, Request

CHECKOUT = Path(__file__).parent.parent
COMMAND = [sys.executable, "-c", "from sjduck.cli import main; main()", "dashboard"]
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
PATIENCE_MS = 60_000
TOPIC = "Why does <img src=x onerror=document.title='owned'> the rye loaf collapse?"
HEADING = "#sjd-over-time .sjd-h2"
CALLS = ".sjd-tile:nth-child(3) .sjd-value"


@dataclass
class Seen:
    """A page, and what its browser said and asked for."""

    page: "Page"
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    @property
    def foreign(self) -> list[str]:
        """Requests that left this machine."""
        local = ("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:", "file:")
        return [url for url in self.requests if not url.startswith(local)]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an archive of the bakery, one topic of which is no HTML."""
    folder = tmp_path_factory.mktemp("bakery")
    bakery.write(folder / "storage", topics=(TOPIC, *bakery.TOPICS[1:]))
    plan = folder / "claude" / "plans" / "sourdough.md"
    plan.parent.mkdir(parents=True)
    plan.write_text("# Sourdough\n" + "".join(f"Feed the starter, day {n}.\n" for n in range(900)))
    (folder / "claude" / "projects").mkdir()
    sources = (f"scrubjay={folder / 'storage'}", f"claude={folder / 'claude'}")
    run(load(archive=str(folder / "archive"), sources=sources), "tester", Quiet())
    return folder / "archive"


@pytest.fixture(scope="module")
def url(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of one server for all tests."""
    # What stands in for a person's browser writes down what it is to open.
    started = filled.parent / "started"
    program = started.with_suffix(".sh")
    program.write_text(f'#!/bin/sh\nprintf %s "$1" > {started}\n')
    program.chmod(0o755)
    environment = {
        **os.environ,
        "HOME": str(tmp_path_factory.mktemp("home")),
        "TZ": "UTC",
        "BROWSER": f"{program} %s",
    }
    process = subprocess.Popen(
        [*COMMAND, "--json", "--archive", str(filled), "--tz", "Europe/Berlin"],
        stdout=subprocess.PIPE,
        env=environment,
        cwd=CHECKOUT,
    )
    assert process.stdout is not None
    with process:
        yield json.loads(process.stdout.readline())["url"]
        process.terminate()


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """Return a browser; skips where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no chromium on this machine")
    with sync_api.sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=program, args=list(OPTIONS))


def opened(context: "BrowserContext", address: str) -> Seen:
    """Return a page at an address, once its charts are drawn."""
    seen = Seen(context.new_page())
    seen.page.set_default_timeout(PATIENCE_MS)
    seen.page.on("pageerror", lambda error: seen.errors.append(str(error)))
    seen.page.on(
        "console", lambda said: seen.errors.append(said.text) if said.type == "error" else None
    )
    seen.page.on("request", lambda request: _note(seen, request))
    seen.page.goto(address)
    seen.page.wait_for_selector("#sjd-blocks svg.marks")
    return seen


def _note(seen: Seen, request: "Request") -> None:
    seen.requests.append(request.url)


@pytest.fixture
def app(browser: "Browser", url: str) -> Iterator[Seen]:
    """Return the app in a window of its own; its console stays empty, it asks nobody else."""
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        app = opened(context, url)
        yield app
        assert (app.errors, app.foreign) == ([], [])


# -- the app -------------------------------------------------------------------------------


def choose(app: Seen, label: str, option: str) -> None:
    app.page.get_by_label(label, exact=True).select_option(label=option)


def test_it_draws_every_chart_from_this_machine_alone(app: Seen) -> None:
    assert app.page.locator(".sjd svg.marks").count() == 5
    assert app.page.locator(CALLS).inner_text() == "120"
    assert "oven-9: 30" in app.page.locator(".sjd-warning").inner_text()
    assert len(app.requests) > 20
    assert "access_token" not in app.page.url


def test_what_is_chosen_changes_the_charts(app: Seen) -> None:
    choose(app, "by", "project")
    choose(app, "show", "tokens")
    app.page.wait_for_selector(f"{HEADING}:text-is('Tokens by project')")
    choose(app, "each", "month")
    app.page.wait_for_selector("#sjd-over-time .sjd-about:has-text('by month')")

    bars = app.page.locator("#sjd-over-time svg.marks .mark-rect path")
    assert bars.count() == 3 * 2


def test_a_filter_narrows_everything(app: Seen) -> None:
    app.page.get_by_label("host", exact=True).click()
    app.page.get_by_role("option", name="wren").click()
    app.page.keyboard.press("Escape")
    app.page.wait_for_selector(f"{CALLS}:text-is('60')")

    errors = app.page.locator(".sjd-tile:nth-child(5) .sjd-note").inner_text()
    assert errors.startswith("0 of 60 results")


def test_recall_finds_and_a_hit_is_read(app: Seen) -> None:
    find = app.page.get_by_label("Find a conversation")
    find.fill("supplier flour")
    find.press("Enter")
    app.page.wait_for_selector(".sjd-list mark")
    app.page.locator(".sjd-list").get_by_role("button", name="read").first.click()
    app.page.wait_for_selector(".sjd-text .sjd-turn")

    assert "supplier" in app.page.locator(".sjd-text").inner_text()
    assert app.page.locator(".sjd-text mark").count() > 0
    assert app.page.get_by_role("button", name="later").is_disabled()


def test_a_long_document_is_read_page_by_page(app: Seen) -> None:
    find = app.page.get_by_label("Find a conversation")
    find.fill("sourdough starter")
    find.press("Enter")
    app.page.wait_for_selector(".sjd-list b:has-text('Sourdough')")
    app.page.locator(".sjd-list").get_by_role("button", name="read").first.click()
    text = app.page.locator(".sjd-text")
    text.get_by_text("day 0.").wait_for()
    app.page.get_by_role("button", name="later").click()
    text.get_by_text("day 700.").wait_for()
    app.page.get_by_role("button", name="earlier").click()
    text.get_by_text("day 0.").wait_for()

    assert "day 899." not in text.inner_text()


def test_text_of_a_session_runs_nothing(app: Seen) -> None:
    find = app.page.get_by_label("Find a conversation")
    find.fill("rye collapse onerror")
    find.press("Enter")
    app.page.wait_for_selector(".sjd-list b:has-text('onerror')")
    app.page.locator(".sjd-list").get_by_role("button", name="read").first.click()
    app.page.wait_for_selector(".sjd-text:has-text('onerror')")

    assert app.page.title() != "owned"
    assert app.page.locator(".sjd img").count() == 0


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_colours_follow_the_system_on_a_phone_too(
    scheme: str, browser: "Browser", url: str
) -> None:
    with browser.new_context(
        color_scheme="dark" if scheme == "dark" else "light",
        viewport={"width": 400, "height": 800},
    ) as context:
        seen = opened(context, url)
        inks = [
            seen.page.locator(where).first.evaluate("place => getComputedStyle(place).color")
            for where in (".sjd-value", "#sjd-blocks svg text")
        ]
        overflow = seen.page.evaluate("document.querySelector('#App').scrollWidth")

        ink = [int(part) for part in inks[0].removeprefix("rgb(").rstrip(")").split(",")]
        assert (min(ink) > 200) == (scheme == "dark")
        assert inks[1] == inks[0]
        assert overflow <= 400
        assert (seen.errors, seen.foreign) == ([], [])


# -- the report ----------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_the_report_draws_and_changes_without_any_network(
    scheme: str, browser: "Browser", filled: Path, tmp_path: Path
) -> None:
    archive = Archive(filled, timezone="UTC")
    file = tmp_path / "report.html"
    file.write_text(report(figures(archive, Filters()), choices(archive), Filters(), "today"))

    with browser.new_context(color_scheme="dark" if scheme == "dark" else "light") as context:
        context.set_offline(True)
        seen = opened(context, file.as_uri())
        seen.page.get_by_role("button", name="by project").click()
        seen.page.get_by_role("button", name="tokens").click()
        shown = seen.page.locator(".sjd-choice:not([hidden]) #sjd-over-time")
        shown.locator("svg.marks").wait_for()

        assert shown.locator(".sjd-h2").inner_text() == "Tokens by project"
        assert seen.page.title() == "sjduck: usage and cost"
        assert (seen.errors, seen.foreign) == ([], [])


# -- the door ------------------------------------------------------------------------------


def asked(url: str, path: str = "/", **headers: str) -> tuple[int, dict[str, str]]:
    """Return the status and headers that the server answers a request with."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    with closing(connection):
        connection.request("GET", path, headers=headers)
        with connection.getresponse() as response:
            found = {name.lower(): value for name, value in response.getheaders()}
            return response.status, found


def test_nobody_without_the_token_sees_anything(url: str) -> None:
    path = f"/?{urlsplit(url).query}"

    assert asked(url, path)[0] in (200, 303, 307)
    for wrong in ("/", "/?access_token=guessed", "/api/status", "/?ticket=guessed"):
        status, headers = asked(url, wrong)
        assert status == 401 or "/auth/login" in headers["location"], wrong


def test_other_sites_and_names_are_sent_away(url: str) -> None:
    path, place = f"/?{urlsplit(url).query}", urlsplit(url).netloc

    assert asked(url, path, Host="bakery.example")[0] == 403
    assert asked(url, path, Origin="http://bakery.example")[0] == 403
    assert asked(url, path, Origin=f"http://{place}")[0] != 403
    assert "connect-src 'self'" in asked(url, path)[1]["content-security-policy"]


def test_only_this_machines_names_are_its_own() -> None:
    assert is_own({b"host": b"127.0.0.1:8000"})
    assert is_own({b"host": b"localhost:9000", b"origin": b"http://localhost:9000"})
    assert not is_own({b"host": b"localhost:9000", b"origin": b"http://localhost:9001"})
    assert not is_own({b"host": b"localhost.bakery.example"})
    assert not is_own({b"host": b"[::1"})
    assert not is_own({})


def test_files_of_the_working_folder_play_no_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.marimo.runtime]\npythonpath = ["flour"]\n')
    (tmp_path / ".env").write_text("FLOUR=rye\n")
    monkeypatch.chdir(tmp_path)

    application("token")

    assert Path.cwd() == CHECKOUT / "sjduck" / "dashboard"


def test_a_port_that_is_taken_is_said() -> None:
    with Served(0) as first:
        port = urlsplit(first.url).port

        assert urlsplit(first.url).hostname == ADDRESS
        with pytest.raises(UsageError, match="leave --port out"):
            Served(port or 0)


def test_the_browser_is_started_with_a_ticket_that_is_good_for_once(url: str, filled: Path) -> None:
    assert asked(url)[0] != 200  # Once it answers, the browser was started.
    ticket = (filled.parent / "started").read_text().removeprefix(url.partition("?")[0])

    first, again = (asked(url, f"/{ticket}") for _ in range(2))
    assert "token" not in ticket
    assert (first[0], first[1]["location"]) == (303, url)
    assert url not in again[1].get("location", "")
