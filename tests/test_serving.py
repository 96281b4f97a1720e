"""`sjduck serve` as a process: the protocol on a real stdin and stdout, and bad clients."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

from sjduck.archive import Archive
from sjduck.bounds import MAX_REPLY_BYTES
from sjduck.listing import list_documents
from tests.conftest import SAMPLES, Fill
from tests.trees import write_session

CHECKOUT = Path(__file__).parent.parent
COMMAND = [sys.executable, "-c", "from sjduck.cli import main; main()", "serve"]
PATIENCE_S = 60.0
# A server with one tool more: what it does is the test's.
WITH_A_TOOL = """
import os, sys
import sjduck.server
from sjduck.server.tools import Tool, all_tools

def answer(question):
    {answer}

offered = (*all_tools(), Tool("sj_test", "Test", "For a test.", (), answer))
sjduck.server.all_tools = lambda: offered
from sjduck.cli import main
main()
"""
SLOW = 'question.archive.ask(lambda v: v.rows("select count(*) from range(10**8) a, range(10**8)"))'
STRAY = """print("stray print"); os.write(1, b"stray write\\n"); os.system("echo stray child")
    return {"is_answered": True}"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Wire:
    """A client that sends what it likes and sees every byte that comes back."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=CHECKOUT,
        )
        self._got = b""

    def send(self, message: Any) -> None:
        """Send a message, or a line as it is."""
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def line(self) -> bytes:
        """Return the next line that the server writes."""
        assert self.process.stdout is not None
        while b"\n" not in self._got:
            ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE_S)
            assert ready, "the server is silent"
            got = os.read(self.process.stdout.fileno(), 1 << 20)
            assert got, "the server has left"
            self._got += got
        line, self._got = self._got.split(b"\n", 1)
        return line

    def ask(self, method: str, params: Any = None, *, identifier: Any = 7) -> dict[str, Any]:
        """Return the answer to a request."""
        request = {"jsonrpc": "2.0", "id": identifier, "method": method}
        self.send({**request, **({} if params is None else {"params": params})})
        return self.answer()

    def answer(self) -> dict[str, Any]:
        """Return the next message."""
        message: dict[str, Any] = json.loads(self.line())
        return message

    def shake_hands(self) -> dict[str, Any]:
        """Initialize the session; return the server's answer."""
        client = {"name": "test", "version": "1"}
        answer = self.ask(
            "initialize",
            {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client},
        )
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def leave(self) -> tuple[int, str]:
        """Close stdin; return the server's exit code and all that it wrote to stderr."""
        assert self.process.stdin is not None
        assert self.process.stderr is not None
        self.process.stdin.close()
        with self.process.stderr as stderr:
            narrated = stderr.read().decode()
        return self.process.wait(PATIENCE_S), narrated


Serve = Callable[..., Wire]


@pytest.fixture
def serve(root: Path) -> Iterator[Serve]:
    """Return a function that starts a server of the archive."""
    wires: list[Wire] = []

    def started(*, answer: str | None = None) -> Wire:
        command = list(COMMAND)
        if answer is not None:
            command[2] = WITH_A_TOOL.format(answer=answer)
        wires.append(Wire([*command, "--archive", str(root)]))
        return wires[-1]

    yield started
    for wire in wires:
        wire.process.kill()
        wire.process.wait()
        for stream in (wire.process.stdin, wire.process.stdout, wire.process.stderr):
            assert stream is not None
            stream.close()


@pytest.fixture
def parameters(root: Path) -> StdioServerParameters:
    """Return how the SDK's client starts a server of the archive."""
    return StdioServerParameters(
        command=COMMAND[0],
        args=[*COMMAND[1:], "--archive", str(root)],
        env=dict(os.environ),
        cwd=CHECKOUT,
    )


@pytest.mark.anyio
async def test_a_whole_session_over_stdio(parameters: StdioServerParameters, fill: Fill) -> None:
    fill(f"claude={SAMPLES}/claude", f"scrubjay={SAMPLES}/scrubjay/storage")
    async with Client(parameters, mode="legacy") as client:
        listed_tools = await client.list_tools()
        listed = await client.call_tool("sj_list", {"type": "transcript", "limit": 1})
        assert listed.structured_content is not None
        sid = listed.structured_content["items"][0]["sid"]
        read = await client.call_tool("sj_get", {"ref": sid, "format": "condensed"})
        resources = await client.list_resources()
        resource = await client.read_resource(resources.resources[0].uri)
        prompt = await client.get_prompt("sjget", {"ref": sid})

    assert len(listed_tools.tools) >= 4
    assert read.structured_content is not None
    assert read.structured_content["content"]
    assert resource.contents
    assert sid in str(prompt.messages[0].content)


@pytest.mark.anyio
async def test_fifty_calls_at_once_while_an_etl_is_killed_and_run_again_beneath(
    parameters: StdioServerParameters, root: Path, tmp_path: Path, fill: Fill
) -> None:
    home = tmp_path / "home-of-sessions"
    for number in range(5):
        write_session(home, number, [f"topic {number}"])
    fill(f"claude={home}")
    etl = [sys.executable, "-m", "etl", "--archive", str(root), "--source", f"claude={home}"]
    totals: list[int] = []
    after_runs: list[int] = []
    async with Client(parameters, mode="legacy") as client:

        async def call(totals: list[int]) -> None:
            result = await client.call_tool("sj_list", {})
            assert result.structured_content is not None
            totals.append(result.structured_content["total"])

        async def run_etl() -> None:
            for number in range(5, 8):
                write_session(home, number, [f"topic {number}"])
                async with await anyio.open_process(etl, cwd=CHECKOUT) as killed:
                    await call(totals)
                    killed.kill()
                await anyio.run_process(etl, cwd=CHECKOUT)
                await call(after_runs)

        async with anyio.create_task_group() as calls:
            calls.start_soon(run_etl)
            for _ in range(50):
                calls.start_soon(call, totals)

    assert len(totals) == 53
    assert set(totals) <= {5, 6, 7, 8}
    assert after_runs == [6, 7, 8]


def test_nothing_heavy_is_imported_before_the_first_question(sample_free_root: Path) -> None:
    script = f"""
import anyio, sys
from mcp import Client
from pathlib import Path
from sjduck.archive import Archive
import sjduck.cli.serve
from sjduck.server import build_server

async def session():
    server = build_server(Archive(Path({str(sample_free_root)!r}), timezone="UTC"))
    async with Client(server, mode="legacy") as client:
        await client.list_tools()
        await client.list_prompts()
        await client.list_resource_templates()

anyio.run(session)
print(sorted({{"duckdb", "polars", "pyarrow", "rich", "numpy"}} & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )

    assert done.stdout == "[]\n"


@pytest.fixture
def sample_free_root(tmp_path: Path) -> Path:
    return tmp_path / "archive"


GARBAGE: list[tuple[bytes, int, Any]] = [
    (b"this is not JSON", -32700, None),
    (b'{"jsonrpc":"2.0","id":1,"method":', -32700, None),
    (b"\xff\xfe\x00", -32700, None),
    (b"[" * 100_000, -32700, None),
    (b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}', -32700, None),
    (b"[]", -32600, None),
    (b"7", -32600, None),
    (b'{"id":"a1","method":"ping"}', -32600, "a1"),
    (b'{"jsonrpc":"2.0","id":12,"method":5}', -32600, 12),
    (b'{"jsonrpc":"2.0","id":13,"method":"tools/call","params":[1]}', -32600, 13),
    (b'{"jsonrpc":"2.0","id":14,"method":"no/such"}', -32601, 14),
    (b'{"jsonrpc":"2.0","id":15,"method":"tools/call"}', -32602, 15),
    (b'{"jsonrpc":"2.0","id":16,"method":"tools/call","params":{"name":5}}', -32602, 16),
    (
        b'{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"sj_get","arguments":7}}',
        -32602,
        17,
    ),
    (b'{"jsonrpc":"2.0","id":18,"method":"resources/read","params":{"uri":3}}', -32602, 18),
    (b'{"jsonrpc":"2.0","id":19,"method":"resources/list","params":{"cursor":{}}}', -32602, 19),
    (b'{"jsonrpc":"2.0","id":20,"method":"prompts/get","params":{"name":"sjget"}}', -32602, 20),
    (b'{"jsonrpc":"2.0","id":21,"method":"completion/complete","params":{}}', -32602, 21),
]


def test_garbage_is_answered_with_errors_of_the_protocol(serve: Serve, fill: Fill) -> None:
    fill(f"claude={SAMPLES}/claude")
    wire = serve()
    wire.shake_hands()
    for line, code, identifier in GARBAGE:
        wire.send(b"")
        wire.send(line)
        answer = wire.answer()
        assert (answer["error"]["code"], answer["id"]) == (code, identifier), line[:80]
        assert "\n" not in answer["error"]["message"]
    after = wire.ask("tools/call", {"name": "sj_status", "arguments": {}})
    code, narrated = wire.leave()

    assert "structuredContent" in after["result"]
    assert code == 0
    assert "Traceback" not in narrated


def test_garbage_before_the_handshake_does_no_harm(serve: Serve) -> None:
    wire = serve()
    wire.send(b"GET / HTTP/1.1")
    first = wire.answer()
    early = wire.ask("tools/list")
    shaken = wire.shake_hands()

    assert first["error"]["code"] == -32700
    assert early["error"]["code"] == -32602
    assert shaken["result"]["serverInfo"]["name"] == "sjduck"


def test_only_the_protocol_reaches_stdout(serve: Serve, fill: Fill) -> None:
    fill(f"claude={SAMPLES}/claude")
    wire = serve(answer=STRAY)
    wire.shake_hands()
    answer = wire.ask("tools/call", {"name": "sj_test", "arguments": {}})
    code, narrated = wire.leave()
    assert wire.process.stdout is not None
    rest = wire.process.stdout.read()

    assert answer["result"]["structuredContent"] == {"is_answered": True}
    assert rest == b""
    assert code == 0
    for stray in ("stray print", "stray write", "stray child"):
        assert stray in narrated


def test_a_client_that_leaves_in_the_middle_ends_the_server_at_once(
    serve: Serve, fill: Fill
) -> None:
    fill(f"claude={SAMPLES}/claude")
    wire = serve(answer=f"sys.stderr.write('asked\\n'); sys.stderr.flush(); {SLOW}")
    wire.shake_hands()
    call = {"name": "sj_test", "arguments": {}}
    wire.send({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": call})
    assert wire.process.stderr is not None
    assert wire.process.stderr.readline() == b"asked\n"
    wire.send(b'{"jsonrpc":"2.0","id":10,"meth')
    code, narrated = wire.leave()

    assert code == 0
    assert "Traceback" not in narrated


def test_a_client_that_stops_reading_ends_the_server_without_a_word(
    serve: Serve, fill: Fill
) -> None:
    fill(f"claude={SAMPLES}/claude")
    wire = serve()
    wire.shake_hands()
    assert wire.process.stdout is not None
    wire.process.stdout.close()
    for number in range(20):
        call = {"name": "sj_list", "arguments": {}}
        wire.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call})
    code, narrated = wire.leave()

    assert code == 0
    assert narrated == ""


def test_a_killed_client_leaves_no_server_behind(root: Path, fill: Fill) -> None:
    fill(f"claude={SAMPLES}/claude")
    client = f"""
import subprocess, sys
server = subprocess.Popen({[*COMMAND, "--archive", str(root)]!r}, stdin=-1, stdout=-1)
server.stdin.write(b'{{"jsonrpc":"2.0","id":1,"method":"ping"}}\\n')
server.stdin.flush()
print(server.stdout.readline(), flush=True)
sys.stdin.read()
"""
    # The server has it as stderr: it ends when the last of both is gone.
    alive, held = os.pipe()
    killed = subprocess.Popen(
        [sys.executable, "-c", client],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=held,
        cwd=CHECKOUT,
    )
    os.close(held)
    with killed:
        assert killed.stdout is not None
        assert b'"id":1' in killed.stdout.readline()
        killed.send_signal(signal.SIGKILL)
    ready, _, _ = select.select([alive], [], [], PATIENCE_S)
    said = os.read(alive, 100)
    os.close(alive)

    assert ready
    assert said == b""


@pytest.mark.parametrize(
    ("arguments", "variables", "complaint"),
    [
        (["--tz", "Mars/Base"], {}, "sjduck: unknown time zone 'Mars/Base'"),
        ([], {"SJMCP_LIST_MAX_CHARS": "lots"}, "sjduck: can't take SJMCP_LIST_MAX_CHARS='lots'"),
    ],
)
def test_serve_refuses_what_it_cannot_be_told(
    root: Path, arguments: list[str], variables: dict[str, str], complaint: str
) -> None:
    done = subprocess.run(
        [*COMMAND, "--archive", str(root), *arguments],
        cwd=CHECKOUT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(complaint)
    assert done.stderr.count("\n") == 1


def test_every_reply_on_real_sessions_is_within_its_bounds(
    serve: Serve, fill: Fill, corpus: Path, archive: Archive
) -> None:
    fill(
        f"scrubjay={corpus}/storage",
        f"scrubjay-logs={corpus}/data",
        f"claude={corpus}/home/.claude",
    )
    largest_first = list_documents(
        archive, sort="size", limit=25, include_sidechains=True, max_chars=0
    )
    calls: list[tuple[str, dict[str, Any]]] = [
        ("sj_list", {"type": type_, "fields": fields, "limit": 1_000})
        for type_ in ("transcript", "subagent", "plan", "memory", "note", "log", "file")
        for fields in ("compact", "full")
    ]
    calls += [("sj_status", {"detail": d}) for d in ("summary", "hosts", "coverage", "schema")]
    for item in largest_first["items"]:
        ref = item["path"]
        for bound in ({}, {"max_chars": 75_000}):
            calls += [
                ("sj_get", {"ref": ref, "format": f, **bound})
                for f in ("readable", "condensed", "raw")
            ]
            calls.append(("sj_search_within", {"ref": ref, "query": "e", **bound}))
    wire = serve()
    wire.shake_hands()
    for name, arguments in calls:
        request = {"name": name, "arguments": arguments}
        wire.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": request})
        line = wire.line()
        text = json.loads(line)["result"]["content"][0]["text"]
        answer = json.loads(text)
        assert "error" not in answer, (name, arguments, text[:200])
        assert len(line) <= MAX_REPLY_BYTES, (name, arguments)
        shown = answer["content"] if name == "sj_get" else text
        cap = 48_000 if arguments.get("format") == "condensed" else 24_000
        cap = arguments.get("max_chars", cap if name == "sj_get" else 12_000)
        # A slice says which above its content.
        assert len(shown) <= cap, (name, arguments)
