"""File systems of other machines: told from the mount table, and asked without waiting for ever."""

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from queue import Empty, SimpleQueue

import pytest

from etl.pipeline import run
from sjduck import mounts
from sjduck.archive import Archive
from sjduck.context import context
from sjduck.errors import ArchiveUnusable, NothingToRead, SjduckError
from sjduck.filling import Filling
from sjduck.listing import list_documents
from sjduck.mounts import folders, has_events, is_remote, resolved, silent, watch_over
from sjduck.reading import get
from sjduck.settings import Source, load
from sjduck.status import status
from tests.conftest import Fill, Quiet
from tests.test_serving import COMMAND, Wire
from tests.trees import write_session

CHECKOUT = Path(__file__).parent.parent
SJDUCK = [sys.executable, "-c", "from sjduck.cli import main; main()"]
# A dead mount would hold for ever; a loaded machine must not fail the test.
BOUND_S = 60.0
# Says that it is mounted, then keeps the file system without ever answering for it.
DEAD = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
server = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={server},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}".encode()
failed = libc.mount(b"nas", sys.argv[1].encode(), b"fuse.sshfs", 0, options)
print("no" if failed else "mounted", flush=True)
sys.stdin.read()
"""
_MNT_DETACH = 2


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget which file systems answered."""
    monkeypatch.setattr(mounts, "_verdicts", {})
    monkeypatch.setattr(mounts, "_stuck", {})


def mounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: Path, kind: str) -> None:
    """Let the mount table say that `place` is a mount."""
    escaped = str(place).replace(" ", "\\040")
    table = tmp_path / "mountinfo"
    table.write_text(
        f"21 1 8:1 / / rw - ext4 /dev/sda rw\n"
        f"22 21 0:40 / {escaped} rw shared:1 - {kind} nas:/x rw\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(mounts, "_MOUNTS", table)


@pytest.fixture
def dead(tmp_path: Path) -> Iterator[Path]:
    """Return a folder whose file system is mounted and never answers; skips where none can be."""
    place = tmp_path / "nas"
    place.mkdir()
    command = [sys.executable, "-c", DEAD, str(place)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        if server.stdout.readline() != b"mounted\n":
            server.stdin.close()
            pytest.skip("can't mount a file system here")
        yield place
        ctypes.CDLL(None).umount2(os.fsencode(place), _MNT_DETACH)
        server.stdin.close()


@pytest.mark.parametrize(
    ("kind", "remote", "events"),
    [
        ("nfs4", True, False),
        ("cifs", True, False),
        ("fuse.sshfs", True, False),
        ("fuse.mergerfs", False, False),
        ("virtiofs", False, False),
        ("ext4", False, True),
        ("fuseblk", False, True),
    ],
)
def test_the_innermost_mount_says_what_a_path_lies_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, *, remote: bool, events: bool
) -> None:
    nas = tmp_path / "a nás"
    nas.mkdir()
    mounted(tmp_path, monkeypatch, nas, kind)

    assert is_remote(nas / "index.duckdb") is remote
    assert has_events(nas / "chats") is events
    assert is_remote(tmp_path / "a nás too" / "index.duckdb") is False
    assert has_events(tmp_path) is True


def test_links_into_a_mount_are_followed_without_touching_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nas = tmp_path / "nas"
    mounted(tmp_path, monkeypatch, nas, "nfs4")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "chats").symlink_to("../nas/of/../chats")
    (tmp_path / "again").symlink_to(tmp_path / "here" / "chats")
    (tmp_path / "round").symlink_to("round")

    assert resolved(tmp_path / "again" / "x") == f"{nas}/chats/x"
    assert is_remote(tmp_path / "again" / "x")
    assert resolved(tmp_path / "here" / "none") == str(tmp_path / "here" / "none")
    assert not is_remote(tmp_path / "round" / "x")


def test_without_a_mount_table_every_path_is_local(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mounts, "_MOUNTS", tmp_path / "none")

    assert not is_remote(tmp_path)
    assert has_events(tmp_path)
    assert folders([tmp_path, tmp_path / "none"]) == {tmp_path}


def test_a_mount_that_answers_is_asked_once_in_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = tmp_path / "asked"
    mounted(tmp_path, monkeypatch, tmp_path / "nas", "nfs4")
    monkeypatch.setattr(mounts, "_ASK", f"open({str(asked)!r}, 'a').write('x')")
    nas = [tmp_path / "nas" / name for name in ("one", "two")]

    found = [silent(nas), silent(nas), silent([tmp_path])]
    monkeypatch.setattr(mounts, "_FRESH_S", -1.0)
    silent(nas)

    assert found == [{}, {}, {}]
    assert asked.read_text() == "xx"


def test_several_that_hang_are_waited_for_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "mountinfo"
    places = [tmp_path / f"nas{n}" for n in range(4)]
    rows = [f"{n} 1 0:4 / {place} rw - nfs4 nas:/x rw\n" for n, place in enumerate(places)]
    table.write_text("".join(rows))
    monkeypatch.setattr(mounts, "_MOUNTS", table)
    monkeypatch.setattr(mounts, "_ASK", "import time; time.sleep(600)")
    monkeypatch.setattr(mounts, "WAIT_S", 0.5)

    started = time.monotonic()
    found = silent(places)

    assert time.monotonic() - started < BOUND_S
    assert found[places[1]] == f"does not answer: nfs4 on {places[1]} is silent"
    assert len(found) == 4


def test_a_file_system_that_falls_silent_under_a_question_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_dead = tmp_path / "dead"
    mounted(tmp_path, monkeypatch, tmp_path / "nas", "nfs4")
    ask = f"import os, time; time.sleep(600 if os.path.exists({str(is_dead)!r}) else 0)"
    monkeypatch.setattr(mounts, "_ASK", ask)
    monkeypatch.setattr(mounts, "WAIT_S", 0.5)
    monkeypatch.setattr(mounts, "_FRESH_S", 0.1)
    told: SimpleQueue[str] = SimpleQueue()
    watch_over(tmp_path / "nas" / "sjduck", told.put)
    watch_over(tmp_path, told.put)
    with pytest.raises(Empty):
        told.get(timeout=1.0)
    is_dead.touch()

    assert told.get(timeout=10.0) == f"does not answer: nfs4 on {tmp_path}/nas is silent"


def test_what_is_on_a_dead_file_system_is_an_error_and_no_wait(
    dead: Path, tmp_path: Path, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mounts, "WAIT_S", 0.5)
    archive = Archive(dead / "sjduck", timezone="UTC")
    config = tmp_path / "config.toml"
    config.write_text(f'[[source]]\nkind = "scrubjay"\npath = "{dead}/chats"\n')
    monkeypatch.setenv("SJDUCK_CONFIG", str(config))
    sources = load().sources
    write_session(tmp_path / "claude", 1, ["one"])
    fill(f"claude={tmp_path}/claude")

    with pytest.raises(ArchiveUnusable, match=r"the archive .* does not answer: fuse.sshfs on"):
        list_documents(archive)
    with pytest.raises(SjduckError, match="does not answer"):
        load(sources=[f"scrubjay={dead}/chats"])
    with pytest.raises(ArchiveUnusable, match="does not answer"):
        fill(f"claude={tmp_path}/claude", archive=dead / "sjduck")
    assert not Filling(tmp_path / "other", sources).begin()
    here = Archive(tmp_path / "archive", timezone="UTC")
    assert [s["is_reachable"] for s in status(here, sources=sources)["sources"]] == [False]


def test_a_question_about_a_session_whose_source_is_on_a_dead_file_system_is_answered(
    dead: Path, tmp_path: Path, archive: Archive, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mounts, "WAIT_S", 0.5)
    file = write_session(tmp_path / "claude", 1, ["one"])
    fill(f"claude={tmp_path}/claude")
    (tmp_path / "claude").rename(tmp_path / "moved")
    (tmp_path / "claude").symlink_to(dead)

    read = get(archive, file.stem[:8], format="raw")
    around = context(archive, file.stem[:8], turn=1)
    by_path = get(archive, str(dead / "projects" / "x.jsonl"))

    assert "not the source file" in read["source"]
    assert around["source"] == "archive: the source file is not on this machine"
    assert by_path["error"] == "not found or outside the archive"


def test_a_run_leaves_a_dead_source_out_and_makes_nothing_of_it_gone(
    dead: Path, tmp_path: Path, archive: Archive, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mounts, "WAIT_S", 0.5)
    write_session(tmp_path / "claude", 1, ["here"])
    write_session(tmp_path / "other", 2, ["there"])
    fill(f"claude={tmp_path}/claude", f"claude={tmp_path}/other")
    (tmp_path / "other").rename(tmp_path / "moved")
    (tmp_path / "other").symlink_to(dead)
    write_session(tmp_path / "claude", 3, ["new"])
    settings = load(archive=str(archive.root))
    sources = tuple(Source("claude", tmp_path / n, "testhost") for n in ("claude", "other"))
    report = run(replace(settings, sources=sources), "tester", Quiet())
    with pytest.raises(NothingToRead, match="is silent; check that it is mounted"):
        run(replace(settings, sources=sources[1:]), "tester", Quiet())

    why = f"does not answer: fuse.sshfs on {dead} is silent"
    assert report.warnings == [f"claude source {tmp_path}/other {why}; left out of this run"]
    assert (report.new, report.gone) == (1, 0)


@pytest.mark.parametrize(
    "command",
    [
        ["list"],
        ["recall", "backup"],
        ["status"],
        ["etl", "--quiet"],
    ],
    ids=lambda command: command[0],
)
def test_a_command_on_a_dead_archive_says_so_and_does_not_hang(
    dead: Path, tmp_path: Path, command: list[str]
) -> None:
    write_session(tmp_path / "home" / ".claude", 1, ["one"])

    started = time.monotonic()
    ran = subprocess.run(
        [*SJDUCK, *command],
        cwd=CHECKOUT,
        env={**os.environ, "SJDUCK_ARCHIVE": str(dead / "sjduck")},
        capture_output=True,
        text=True,
        check=False,
        timeout=2 * BOUND_S,
    )

    assert time.monotonic() - started < BOUND_S
    assert ran.returncode == 1
    assert ran.stderr == (
        f"sjduck: the archive {dead}/sjduck does not answer: fuse.sshfs on {dead} is silent; "
        "check that its server and network are up\n"
    )


def test_the_server_of_a_dead_archive_says_so_and_does_not_hang(dead: Path) -> None:
    wire = Wire([*COMMAND, "--archive", str(dead / "sjduck")])
    try:
        wire.shake_hands()
        tools = wire.ask("tools/list")
        started = time.monotonic()
        answer = wire.ask("tools/call", {"name": "sj_list", "arguments": {}})
        took_s = time.monotonic() - started
        code, _ = wire.leave()
    finally:
        wire.process.kill()
        wire.process.wait()
        assert wire.process.stdout is not None
        wire.process.stdout.close()

    assert len(tools["result"]["tools"]) > 4
    assert answer["result"]["isError"]
    assert "does not answer: fuse.sshfs on" in answer["result"]["content"][0]["text"]
    assert took_s < BOUND_S
    assert code == 0
