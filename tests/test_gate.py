"""The SSH door: what a key may ask, what it gets, and that nothing else is to be had."""

import io
import json
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sjduck.archive import Archive
from sjduck.errors import SjduckError
from sjduck.gate import Copy, Fetch, Resolve, copies, entry, parse
from sjduck.rawfiles import Place
from tests.conftest import Fill
from tests.opencode_home import EXPORTS, export_of, write_database, write_storage
from tests.sshd import Servers
from tests.storage import Storage
from tests.test_serving import Wire
from tests.trees import session_id, write_session

CHECKOUT = Path(__file__).parent.parent
ONE, TWO = session_id(1), session_id(2)
SLUG = "-home-ann-shop"
MAIN = "from sjduck.cli import main; main()"
SECRET = b"sk-not-for-you"
CREDENTIALS = ("auth.json", ".credentials.json", "opencode.db", "config.toml", "settings.json")

HOSTILE = [
    "ls",
    "id; cat /etc/passwd",
    "sh -c 'cat /etc/passwd'",
    "serve",
    "gate",
    "RESOLVE 12345678",
    "resolve",
    "resolve ",
    "resolve a b",
    "resolve -h",
    "resolve --help",
    "resolve ../../etc",
    "resolve '*'",
    "resolve $(id)",
    "resolve `id`",
    "resolve 1' or '1'='1",
    "resolve %",
    "resolve 'a\nb'",
    "resolve " + "a" * 300,
    "resolve 12345678; id",
    "resolve 12345678 && id",
    "resolve 12345678 | sh",
    "fetch",
    "fetch ",
    "fetch ''",
    "fetch /etc/passwd",
    "fetch //etc/passwd",
    "fetch ~/.ssh/id_ed25519",
    "fetch $HOME/.ssh/id_ed25519",
    "fetch ..",
    "fetch .",
    "fetch ../secret",
    "fetch atlas/../../secret",
    "fetch atlas/./secret",
    "fetch atlas//secret",
    "fetch atlas/",
    "fetch 'atlas/..'",
    "fetch -rf",
    "fetch --checkpoint-action=exec=sh",
    "fetch -- atlas",
    "fetch a b",
    "fetch a\tb",
    "fetch 'a\nb'",
    "fetch a\x00b",
    "fetch a\x01b",
    "fetch a\x7fb",
    "fetch 'a",
    'fetch "a',
    "fetch a\\",
    "fetch \udcff\udcfe",
    "fetch " + "a" * 5_000,
    "fetch atlas; cat /etc/passwd",
    "fetch *",
    "fetch atlas/*",
    "fetch file:///etc/passwd",
    "fetch sj://transcript/atlas/shop/x",
    "fetch %2e%2e/secret",
    "fetch ..\\secret",
    " ",
    "\n",
    "# resolve 12345678",
]


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    """Return a storage tree with one session, its subagent, what belongs to it, and secrets."""
    storage = Storage(tmp_path)
    file = storage.session("atlas", ONE, ["Why is the till short?"])
    storage.subagent("atlas", ONE, "7f3a", ["Count the receipts"])
    beside = file.with_suffix("")
    (beside / "subagents" / "agent-7f3a.meta.json").write_text('{"agentType": "counter"}')
    (beside / "tool-results").mkdir()
    (beside / "tool-results" / "b1.txt").write_text("receipt 1\n" * 9)
    for place in (storage.tree, storage.tree / "atlas", file.parent):
        for name in (
            "auth.json",
            ".credentials.json",
            "opencode.db",
            "config.toml",
            "settings.json",
        ):
            (place / name).write_bytes(SECRET)
    (tmp_path / "secret").write_bytes(SECRET)
    return storage


@pytest.fixture
def filled(storage: Storage, fill: Fill, archive: Archive) -> Archive:
    """Return an archive that holds the storage tree."""
    fill(*storage.sources)
    return archive


def send(archive: Archive, path: str, out: io.BytesIO) -> int:
    """Write what a path gives; return how many files became shorter meanwhile."""
    return entry(archive, path).send(out)


def fetched(archive: Archive, path: str) -> dict[str, bytes | None]:
    """Return what a path gives: each file's content, None for a folder."""
    out = io.BytesIO()
    assert send(archive, path, out) == 0
    return unpacked(out.getvalue())


def answered(archive: Archive, command: str) -> object:
    """Return what a command gives."""
    match parse(command):
        case Resolve(session):
            return copies(archive, session)
        case Fetch(path):
            return fetched(archive, path)


def unpacked(content: bytes) -> dict[str, bytes | None]:
    """Return what is in a tar: each file's content, None for a folder."""
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        found = {}
        for member in tar:
            file = tar.extractfile(member)
            found[member.name] = file.read() if file else None
        return found


def refuses(archive: Archive, path: str) -> bool:
    """Tell whether a path gives nothing, and nobody learns whether there is something."""
    out = io.BytesIO()
    with pytest.raises(SjduckError, match=r"^not found or outside the archive$"):
        send(archive, path, out)
    return out.getvalue() == b""


# -- what is asked -------------------------------------------------------------------------


def test_a_command_is_read_with_its_quotes() -> None:
    assert parse("resolve 0b1f22d4") == Resolve("0b1f22d4")
    assert parse(f"resolve  {ONE} ") == Resolve(ONE)
    assert parse("resolve ses_66a71b6fQx") == Resolve("ses_66a71b6fQx")
    assert parse("fetch atlas/-home-ann/x.jsonl") == Fetch("atlas/-home-ann/x.jsonl")
    assert parse("fetch 'tmp/my shop/a \"b\".json'") == Fetch('tmp/my shop/a "b".json')
    assert parse("fetch caf\u00e9/\u4e2d.md") == Fetch("caf\u00e9/\u4e2d.md")


@pytest.mark.parametrize("command", HOSTILE)
def test_a_hostile_command_is_refused(filled: Archive, command: str) -> None:
    with pytest.raises(SjduckError, match=r"^(refused: |not found)") as refused:
        answered(filled, command)

    assert refused.value.exit_code == 1
    assert "\n" not in str(refused.value)


# -- resolve -------------------------------------------------------------------------------


def test_resolve_gives_each_copy_of_each_host_the_longest_first(
    storage: Storage, fill: Fill, archive: Archive
) -> None:
    short = storage.session("atlas", ONE, ["one"])
    long = storage.session("birch", ONE, ["one", "two"], slug="-srv-shop")
    other = storage.session("birch", TWO, ["one"])
    storage.readable("cedar", f"2026-03-01_one__{ONE[:8]}.md", "# one\n\n_1 turns_\n")
    for number, file in enumerate((short, long, other)):
        os.utime(file, (1_780_000_000 + number, 1_780_000_000 + number))
    fill(*storage.sources)

    by_id = copies(archive, ONE)

    assert by_id == [
        Copy(f"birch/-srv-shop/{ONE}.jsonl", 6, 1_780_000_001),
        Copy(f"atlas/{SLUG}/{ONE}.jsonl", 3, 1_780_000_000),
    ]
    assert copies(archive, ONE[:8]) == copies(archive, ONE.upper()) == by_id
    assert copies(archive, "nobody00") == []


def test_resolve_counts_what_is_in_the_file_now(storage: Storage, filled: Archive) -> None:
    file = storage.tree / "atlas" / SLUG / f"{ONE}.jsonl"
    with file.open("a") as growing:
        growing.write("{}\n{}\ntorn")

    assert [copy.lines for copy in copies(filled, ONE)] == [5]


def test_a_copy_that_is_gone_is_not_offered(storage: Storage, filled: Archive, fill: Fill) -> None:
    (storage.tree / "atlas" / SLUG / f"{ONE}.jsonl").unlink()
    before_a_run = copies(filled, ONE)
    fill(*storage.sources)

    assert before_a_run == copies(filled, ONE) == []
    assert refuses(filled, f"atlas/{SLUG}/{ONE}.jsonl")
    assert f"atlas/{SLUG}/{ONE}/tool-results/b1.txt" in fetched(filled, f"atlas/{SLUG}/{ONE}")


def test_what_was_pruned_is_not_offered(storage: Storage, filled: Archive, root: Path) -> None:
    pruned = subprocess.run(
        [sys.executable, "-c", MAIN, "prune", "--archive", str(root), "--sid", ONE, "--yes"],
        cwd=CHECKOUT, capture_output=True, check=False,
    )  # fmt: skip

    assert pruned.returncode == 0, pruned.stderr
    assert copies(filled, ONE) == []
    for path in (f"{ONE}.jsonl", ONE, f"{ONE}/tool-results/b1.txt"):
        assert refuses(filled, f"atlas/{SLUG}/{path}")


def test_a_subagent_has_its_own_copy(filled: Archive) -> None:
    (copy,) = copies(filled, "agent-7f3a")

    assert copy.path == f"atlas/{SLUG}/{ONE}/subagents/agent-7f3a.jsonl"
    assert list(fetched(filled, copy.path)) == [copy.path]


def test_paths_of_several_homes_are_told_apart(
    tmp_path: Path, storage: Storage, fill: Fill, archive: Archive
) -> None:
    for name, prompts in (("new", ["one", "two", "three"]), ("old", ["one", "two"])):
        write_session(tmp_path / name, 1, prompts)
    fill(*storage.sources, f"claude={tmp_path}/new", f"claude={tmp_path}/old")

    found = copies(archive, ONE)

    assert [copy.lines for copy in found] == [9, 6, 3]
    assert found[2].path == f"atlas/{SLUG}/{ONE}.jsonl"
    for copy, name in zip(found, ("new", "old"), strict=False):
        label, _, path = copy.path.partition("/")
        assert label.startswith("@claude-")
        assert path == f"projects/{SLUG}/{ONE}.jsonl"
        content = (tmp_path / name / path).read_bytes()
        assert fetched(archive, copy.path) == {copy.path: content}
    assert refuses(archive, f"projects/{SLUG}/{ONE}.jsonl")


def test_paths_of_several_storages_are_told_apart(
    tmp_path: Path, fill: Fill, archive: Archive
) -> None:
    first, second = Storage(tmp_path / "one"), Storage(tmp_path / "two")
    first.session("atlas", ONE, ["one"])
    second.session("atlas", ONE, ["one", "two"])
    second.session("atlas", TWO, ["one"])
    fill(first.sources[0], second.sources[0])

    found = copies(archive, ONE)

    assert [(copy.path[:10], copy.lines) for copy in found] == [
        ("@scrubjay-", 6),
        ("@scrubjay-", 3),
    ]
    for copy in found:
        ((_, content),) = fetched(archive, copy.path).items()
        assert content is not None
        assert content.count(b"\n") == copy.lines
    assert refuses(archive, f"atlas/{SLUG}/{ONE}.jsonl"), "it may mean two"
    assert len(fetched(archive, f"atlas/{SLUG}/{TWO}.jsonl")) == 1


@pytest.mark.parametrize("write", [write_storage, write_database])
def test_a_session_that_is_no_file_of_its_own_is_not_offered(
    tmp_path: Path, fill: Fill, archive: Archive, write: Callable[[Path, object], object]
) -> None:
    write(tmp_path / "opencode", export_of(min(EXPORTS)))
    fill(f"opencode={tmp_path}/opencode")
    query = "select session_id, source_kind, source_root, source_path from documents"
    (row,) = archive.ask(lambda view: view.rows(query))
    label = f"@opencode-{Place(row['source_kind'], row['source_root']).digest}"

    assert copies(archive, row["session_id"]) == []
    for path in (row["source_path"], "opencode.db", "storage"):
        assert refuses(archive, f"{label}/{path}")


# -- fetch ---------------------------------------------------------------------------------


def test_fetch_gives_the_file_byte_by_byte(storage: Storage, filled: Archive) -> None:
    path = f"atlas/{SLUG}/{ONE}.jsonl"

    assert fetched(filled, path) == {path: (storage.tree / path).read_bytes()}


def test_fetch_gives_what_belongs_to_a_session(storage: Storage, filled: Archive) -> None:
    beside = f"atlas/{SLUG}/{ONE}"
    files = {
        str(file.relative_to(storage.tree)): file.read_bytes()
        for file in (storage.tree / beside).rglob("*")
        if file.is_file()
    }

    folder = fetched(filled, beside)

    assert {name: content for name, content in folder.items() if content is not None} == files
    assert list(folder)[:2] == [beside, f"{beside}/subagents"]
    meta = f"{beside}/subagents/agent-7f3a.meta.json"
    assert fetched(filled, meta) == {meta: b'{"agentType": "counter"}'}
    result = f"{beside}/tool-results/b1.txt"
    assert fetched(filled, result) == {result: files[result]}


def test_other_documents_are_given_too(storage: Storage, fill: Fill, archive: Archive) -> None:
    storage.plan("atlas", "2026-03-01_counting.md", "# Counting\n")
    storage.note("shop", "counting.md", "# Counting\n")
    fill(*storage.sources)

    for path in ("atlas/plans/2026-03-01_counting.md", "memory/shop/notes/counting.md"):
        assert fetched(archive, path) == {path: b"# Counting\n"}


BESIDE = [
    "auth.json",
    ".credentials.json",
    "opencode.db",
    "config.toml",
    "atlas",
    "atlas/auth.json",
    "atlas/settings.json",
    f"atlas/{SLUG}",
    f"atlas/{SLUG}/.credentials.json",
    f"atlas/{SLUG}/{TWO}.jsonl",
    f"atlas/{SLUG}/{TWO}",
    f"atlas/{SLUG}/{ONE}.meta.json",
    f"atlas/{SLUG}/{ONE}/subagents/none.meta.json.jsonl",
    f"atlas/{SLUG}/{ONE[:8]}",
    f"atlas/{SLUG}/{ONE}.jsonl/x",
    "atlas/history.jsonl",
    "secret",
    "@scrubjay-00000000/auth.json",
    "@claude-00000000/projects",
    "@",
]


@pytest.mark.parametrize("path", BESIDE)
def test_what_lies_beside_is_not_found(storage: Storage, filled: Archive, path: str) -> None:
    assert refuses(filled, path)


def test_a_history_is_not_given(storage: Storage, fill: Fill, archive: Archive) -> None:
    history = storage.tree / "atlas" / "history.jsonl"
    history.write_text(
        json.dumps({"display": "hi", "timestamp": 1_780_000_000_000, "sessionId": ONE}) + "\n"
    )
    fill(*storage.sources)

    assert archive.ask(lambda v: v.rows("select 1 from documents where type = 'log'"))
    assert refuses(archive, "atlas/history.jsonl")


def test_no_link_leads_anywhere(storage: Storage, tmp_path: Path, filled: Archive) -> None:
    session = storage.tree / "atlas" / SLUG / f"{ONE}.jsonl"
    beside = session.with_suffix("")
    for target in (tmp_path / "secret", storage.tree / "auth.json", "/etc/passwd", "/dev/zero"):
        session.unlink()
        session.symlink_to(target)
        assert refuses(filled, f"atlas/{SLUG}/{ONE}.jsonl")
        assert copies(filled, ONE) == []
    session.unlink()
    os.mkfifo(session)
    assert refuses(filled, f"atlas/{SLUG}/{ONE}.jsonl")
    (beside / "out").symlink_to(tmp_path)
    (beside / "key").symlink_to(tmp_path / "secret")
    (beside / "round").symlink_to(beside)
    os.mkfifo(beside / "pipe")

    folder = fetched(filled, f"atlas/{SLUG}/{ONE}")

    assert SECRET not in folder.values()
    names = {name.rpartition("/")[2] for name in folder}
    assert not names & {"out", "key", "round", "pipe", "secret"}
    for path in ("out", "out/secret", "key", "round/tool-results/b1.txt", "pipe"):
        assert refuses(filled, f"atlas/{SLUG}/{ONE}/{path}")


def test_a_folder_that_becomes_a_link_gives_nothing(
    storage: Storage, tmp_path: Path, filled: Archive
) -> None:
    outside = tmp_path / "outside" / SLUG
    (outside / ONE).mkdir(parents=True)
    for file in (outside / f"{ONE}.jsonl", outside / ONE / "key"):
        file.write_bytes(SECRET)
    folder = storage.tree / "atlas" / SLUG
    folder.rename(tmp_path / "away")
    folder.symlink_to(outside)

    assert copies(filled, ONE) == []
    for path in (f"{ONE}.jsonl", ONE, f"{ONE}/key"):
        assert refuses(filled, f"atlas/{SLUG}/{path}")


def test_a_root_and_what_is_right_below_may_be_links(
    tmp_path: Path, fill: Fill, archive: Archive
) -> None:
    write_session(tmp_path / "disk", 1, ["one"])
    (tmp_path / "home" / ".claude").mkdir()
    (tmp_path / "home" / ".claude" / "projects").symlink_to(tmp_path / "disk" / "projects")
    fill(f"claude={tmp_path}/home/.claude")

    (copy,) = copies(archive, ONE)

    assert list(fetched(archive, copy.path)) == [copy.path]


class Meddling(io.BytesIO):
    """An output that does something to the source when it gets its first bytes."""

    def __init__(self, meddle: Callable[[], None]) -> None:
        super().__init__()
        self._meddle: Callable[[], None] | None = meddle

    def write(self, data: bytes, /) -> int:  # type: ignore[override]
        if self._meddle:
            self._meddle()
            self._meddle = None
        return super().write(data)


@pytest.mark.parametrize(("change", "shortened"), [(1, 0), (-3 << 20, 1)])
def test_a_file_that_changes_while_it_is_read_keeps_its_size(
    storage: Storage, filled: Archive, change: int, shortened: int
) -> None:
    path = f"atlas/{SLUG}/{ONE}.jsonl"
    file = storage.tree / path
    file.write_bytes(b"x" * (4 << 20))
    out = Meddling(lambda: os.truncate(file, (4 << 20) + change))

    said = send(filled, path, out)

    assert said == shortened
    content = unpacked(out.getvalue())[path]
    assert content is not None
    assert len(content) == 4 << 20
    assert content.rstrip(b"\0").strip(b"x") == b""


# -- the command ---------------------------------------------------------------------------


def gate(root: Path, command: str, *, before: str = "") -> subprocess.CompletedProcess[bytes]:
    """Run the command as sshd would, after a statement."""
    arguments = [sys.executable, "-c", before + MAIN, "gate", "--archive", str(root)]
    return subprocess.run(arguments, env=asking(command), capture_output=True, check=False)


def asking(command: str) -> dict[str, str]:
    """Return the environment in which a client asks for something."""
    return {**os.environ, "PYTHONPATH": str(CHECKOUT), "SSH_ORIGINAL_COMMAND": command}


def test_fetch_says_that_it_sends_secrets_as_they_are(
    filled: Archive, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"atlas/{SLUG}/{ONE}.jsonl"
    monkeypatch.setenv("SJDUCK_REDACT", "secrets")

    fetch = gate(root, f"fetch {path}")

    assert list(unpacked(fetch.stdout)) == [path]
    assert b"secrets in this are not masked" in fetch.stderr
    assert gate(root, f"resolve {ONE[:8]}").stderr == b""


def test_the_command_prints_copies_and_gives_files(filled: Archive, root: Path) -> None:
    path = f"atlas/{SLUG}/{ONE}.jsonl"

    resolved = gate(root, f"resolve {ONE[:8]}")
    fetch = gate(root, f"fetch {path}")
    unknown = gate(root, "resolve 00000000")

    relpath, lines, modified_at = resolved.stdout.decode().removesuffix("\n").split("\t")
    assert (relpath, lines) == (path, "3")
    assert modified_at.isdecimal()
    assert list(unpacked(fetch.stdout)) == [path]
    assert (resolved.returncode, resolved.stderr, fetch.returncode, fetch.stderr) == (
        0,
        b"",
        0,
        b"",
    )
    said = b"sjduck: no raw copy of 00000000 on this machine\n"
    assert (unknown.returncode, unknown.stdout, unknown.stderr) == (0, b"", said)


@pytest.mark.parametrize(
    ("command", "code", "complaint"),
    [
        ("ls -la", 1, "sjduck: refused: the gate knows 'resolve <sid>', 'fetch <path>', and no"),
        (" ", 1, "sjduck: refused: "),
        ("fetch auth.json", 1, "sjduck: not found or outside the archive\n"),
    ],
)
def test_the_command_refuses_in_one_line(
    filled: Archive, root: Path, command: str, code: int, complaint: str
) -> None:
    ran = gate(root, command)

    assert (ran.returncode, ran.stdout) == (code, b"")
    assert ran.stderr.decode().startswith(complaint)
    assert ran.stderr.count(b"\n") == 1


def test_an_archive_that_was_never_filled_is_not_filled_by_the_gate(root: Path, home: Path) -> None:
    write_session(home / ".claude", 1, ["one"])

    ran = gate(root, f"resolve {ONE}")

    assert (ran.returncode, ran.stdout) == (3, b"")
    assert ran.stderr == f"sjduck: no snapshot in {root}; run 'sjduck etl' to make one\n".encode()
    assert not root.exists()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc to measure by")
def test_a_large_file_takes_no_more_memory(storage: Storage, filled: Archive, root: Path) -> None:
    path = f"atlas/{SLUG}/{ONE}.jsonl"
    measured = (
        "import atexit, pathlib, sys; "
        "atexit.register(lambda: sys.stderr.write(pathlib.Path('/proc/self/status').read_text())); "
    )
    peaks = []
    for size in (1 << 20, 300 << 20):
        os.truncate(storage.tree / path, size)
        ran = gate(root, f"fetch {path}", before=measured)
        assert len(ran.stdout) > size
        peaks += [int(kb) for kb in re.findall(r"VmHWM:\s+(\d+) kB", ran.stderr.decode())]
    small, large = peaks

    assert large - small < 20_000


def test_a_client_that_leaves_in_the_middle_leaves_no_traceback(
    storage: Storage, filled: Archive, root: Path
) -> None:
    path = f"atlas/{SLUG}/{ONE}.jsonl"
    os.truncate(storage.tree / path, 50 << 20)
    arguments = [sys.executable, "-c", MAIN, "gate", "--archive", str(root)]

    with subprocess.Popen(
        arguments, env=asking(f"fetch {path}"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as sending:
        assert sending.stdout is not None
        assert sending.stderr is not None
        assert len(sending.stdout.read(4_096)) == 4_096
        sending.stdout.close()
        said = sending.stderr.read()

    assert (sending.returncode, said) == (1, b"")


# -- through sshd --------------------------------------------------------------------------


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    """Return ssh servers that are stopped at the end."""
    servers = Servers(tmp_path / "ssh")
    yield servers
    servers.stop()


@pytest.fixture
def forced(tmp_path: Path, home: Path, root: Path) -> str:
    """Return the options of a key that is let in to the gate alone."""
    script = tmp_path / "bin" / "sjduck"
    script.parent.mkdir()
    script.write_text(
        f"#!{sys.executable}\nimport os, sys\nsys.path.insert(0, {str(CHECKOUT)!r})\n"
        f"os.environ.update(HOME={str(home)!r}, TZ='UTC', PYTHONPATH={str(CHECKOUT)!r})\n"
        "from sjduck.cli import main\nmain()\n"
    )
    script.chmod(0o755)
    return f'command="{script} gate --archive {root}",restrict'


def test_a_key_gets_resolve_and_fetch_through_sshd(
    servers: Servers, forced: str, storage: Storage, filled: Archive, tmp_path: Path
) -> None:
    servers.start("door", forced)
    path = f"atlas/{SLUG}/{ONE}.jsonl"
    beside = f"atlas/{SLUG}/{ONE}"
    unpack = ["tar", "-C", str(tmp_path), "-xf", "-"]

    resolved = servers.run("door", f"resolve {ONE[:8]}")
    fetch = servers.run("door", f"fetch {path}")
    folder = servers.run("door", f"fetch '{beside}'")
    subprocess.run(unpack, input=fetch.stdout, check=True)
    subprocess.run(unpack, input=folder.stdout, check=True)

    assert resolved.stderr == fetch.stderr == folder.stderr == b""
    assert resolved.stdout.decode().split("\t")[:2] == [path, "3"]
    for file in (path, f"{beside}/tool-results/b1.txt", f"{beside}/subagents/agent-7f3a.jsonl"):
        assert (tmp_path / file).read_bytes() == (storage.tree / file).read_bytes()


def test_a_key_gets_nothing_else_through_sshd(
    servers: Servers, forced: str, filled: Archive
) -> None:
    servers.start("door", forced)
    commands = [c for c in HOSTILE if "\udcff" not in c] + [f"fetch '{path}'" for path in BESIDE]

    # Each takes a second; all of them are asked above.
    for command in commands[:: len(commands) // 8]:
        ran = servers.run("door", command)
        assert (ran.returncode, ran.stdout, ran.stderr.count(b"\n")) == (1, b"", 1), command
    tunnel = servers.run("-W", f"127.0.0.1:{servers.ports['door']}", "door")
    assert tunnel.returncode != 0
    assert b"SSH-2.0" not in tunnel.stdout
    sftp = servers.run("-s", "door", "sftp")
    assert sftp.returncode != 0
    assert sftp.stdout == b""


@pytest.fixture
def wires() -> Iterator[list[Wire]]:
    """Return the clients of a test; they are ended with it."""
    wires: list[Wire] = []
    yield wires
    for wire in wires:
        wire.process.kill()
        wire.process.wait()
        for stream in (wire.process.stdin, wire.process.stdout, wire.process.stderr):
            assert stream is not None
            stream.close()


def test_without_a_command_it_is_the_mcp_server_by_way_of_a_jump_host(
    servers: Servers, forced: str, filled: Archive, wires: list[Wire]
) -> None:
    servers.start("door", forced)
    way = f"127.0.0.1:{servers.ports['door']}"
    servers.start("edge", f'restrict,port-forwarding,permitopen="{way}",command="/bin/false"')
    servers.start("far", "restrict")
    with servers.config.open("a") as config:
        config.write(
            f"Host hidden\nHostName 127.0.0.1\nPort {servers.ports['door']}\nProxyJump edge\n"
        )
        config.write(
            f"Host closed\nHostName 127.0.0.1\nPort {servers.ports['far']}\nProxyJump edge\n"
        )

    wire = Wire(servers.client("hidden"))
    wires.append(wire)
    shaken = wire.shake_hands()
    listed = wire.ask("tools/call", {"name": "sj_list", "arguments": {}})
    code, narrated = wire.leave()
    resolved = servers.run("hidden", f"resolve {ONE}")
    elsewhere = servers.run("closed", f"resolve {ONE}")
    shell = servers.run("edge", "id")

    assert shaken["result"]["serverInfo"]["name"] == "sjduck"
    assert listed["result"]["structuredContent"]["total"] == 1
    assert (code, narrated) == (0, "")
    assert resolved.stdout.startswith(f"atlas/{SLUG}/{ONE}.jsonl\t".encode())
    assert (elsewhere.stdout, elsewhere.returncode) == (b"", 255)
    assert (shell.stdout, shell.returncode) == (b"", 1)
