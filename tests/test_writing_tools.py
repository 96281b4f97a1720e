"""The tools that change an archive: offered where asked for, and careful."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.server import Server

from sjduck.archive import Archive
from sjduck.server import build_server
from sjduck.server.tools import all_tools
from sjduck.server.writing import writing_tools
from sjduck.snapshots import latest_key
from tests.conftest import Fill
from tests.test_server import answer_of, error_of
from tests.trees import session_id, write_session

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server(home: Path, archive: Archive, fill: Fill) -> Server[Any]:
    """Return a server that may write, of three sessions."""
    for number in range(3):
        write_session(home / ".claude", number, [f"pot {number}"], day=1 + number)
    fill(f"claude={home}/.claude")
    return build_server(archive, offered=all_tools() + writing_tools())


async def answered(server: Server[Any], name: str, **arguments: Any) -> dict[str, Any]:
    """Return the answer of one call."""
    async with Client(server) as client:
        return answer_of(await client.call_tool(name, arguments))


async def test_tools_that_write_are_offered_only_where_asked_for(
    server: Server[Any], archive: Archive
) -> None:
    async with Client(build_server(archive)) as client:
        usual = {t.name for t in (await client.list_tools()).tools}
    async with Client(server) as client:
        tools = {t.name: t.annotations for t in (await client.list_tools()).tools}

    writing = {name for name, hints in tools.items() if hints and not hints.read_only_hint}
    assert writing == {"sj_reindex", "sj_doctor", "sj_prune"}
    assert not writing & usual


async def test_a_prune_is_dry_until_it_is_confirmed(server: Server[Any], archive: Archive) -> None:
    dry = await answered(server, "sj_prune", sid=f"{session_id(0)[:8]}, {session_id(1)}")
    listed = await answered(server, "sj_list")
    wet = await answered(server, "sj_prune", before="2026-03-02", tz="UTC", confirm=True)
    after = await answered(server, "sj_list")

    assert (dry["is_dry"], dry["total"], listed["total"]) == (True, 2, 3)
    assert [item["session_id"] for item in wet["items"]] == [session_id(0)]
    assert (wet["is_dry"], after["total"]) == (False, 2)


async def test_a_prune_without_a_filter_is_refused(server: Server[Any]) -> None:
    assert "name what to prune" in await error_of(server, "sj_prune", {"confirm": True})


async def test_the_doctor_finds_and_repairs(server: Server[Any], root: Path) -> None:
    well = await answered(server, "sj_doctor")
    next(root.rglob("blocks/**/*.parquet")).unlink()
    sick = await answered(server, "sj_doctor")
    repaired = await answered(server, "sj_doctor", fix=True)

    assert (well["serious"], sick["serious"], repaired["serious"]) == (0, 1, 0)
    assert repaired["repaired"]["retaken"] == 3


async def test_the_index_is_made_anew_in_the_background(
    server: Server[Any], archive: Archive, root: Path
) -> None:
    before = latest_key(root)

    started = await answered(server, "sj_reindex")

    assert started["started"]
    await until(lambda: latest_key(root) != before)


async def until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    with anyio.fail_after(30):
        while not condition():
            await anyio.sleep(0.05)
