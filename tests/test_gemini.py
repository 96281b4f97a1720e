"""Gemini CLI's session files, documents and lines: each sample beside the rows it gives."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from etl.sources.gemini import MAX_SIDECAR_BYTES, claims
from sjduck.archive import Archive
from sjduck.refs import resolve
from sjduck.settings import Source
from sjduck.spending import prepare
from sjduck.unrolled import records
from tests.conftest import Fill
from tests.flattened import Flat, expected, flatten_file, golden, samples
from tests.odd import Record, odd_records

ID = "5d1f2a90-4c77-4e0b-9a63-0f6b7c1d2e11"
PIECE = "session-2025-11-03T09-12-5d1f2a90.json"


def chat(*messages: Record, **fields: Any) -> Record:
    """Return a session that is one document."""
    return {"sessionId": ID, "projectHash": "7c", "messages": list(messages), **fields}


def header(**fields: Any) -> Record:
    """Return the first line of a session that is lines."""
    return {"sessionId": ID, "projectHash": "7c", "kind": "main", **fields}


def user(content: Any, id: str = "u1", **fields: Any) -> Record:
    """Return a message in the user's name."""
    return {"id": id, "timestamp": "2026-05-04T10:00:00Z", "type": "user", "content": content} | (
        fields
    )


def answer(content: Any = "", id: str = "g1", **fields: Any) -> Record:
    """Return a message of the model."""
    return {"id": id, "timestamp": "2026-05-04T10:00:05Z", "type": "gemini", "content": content} | (
        fields
    )


def call(id: str, *parts: Any, **fields: Any) -> Record:
    """Return a tool's call with its result."""
    return {"id": id, "name": "read_file", "args": {}, "result": list(parts)} | fields


def response(id: str, **said: Any) -> Record:
    """Return the part that answers a tool's call."""
    return {"functionResponse": {"id": id, "name": "read_file", "response": said}}


def flatten_chat(folder: Path, *lines: Any, name: str = "session.jsonl") -> Flat:
    """Return the rows of a session of these lines: bytes as they are, else records."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    written = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    path.write_bytes(b"".join(line + b"\n" for line in written))
    return flatten_file(path, "gemini")


@pytest.mark.parametrize("sample", samples("gemini"), ids=lambda path: path.stem)
def test_a_sample_gives_the_rows_of_its_golden(sample: Path) -> None:
    assert golden(flatten_file(sample, "gemini")) == expected(sample)


# -- which files ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "claimed"),
    [
        (f"tmp/7c/chats/{PIECE}", ("transcript", None, "5d1f2a90", None)),
        (f"tmp/bakery/chats/{PIECE}l", ("transcript", None, "5d1f2a90", None)),
        (f"tmp/bakery/chats/{ID}/x4k2q9.jsonl", ("subagent", "x4k2q9", "x4k2q9", ID)),
        (f"tmp/bakery/chats/{ID}/.tmp-12.jsonl", None),
        (f"tmp/bakery/chats/{ID}/a/b.jsonl", None),
        ("tmp/bakery/chats/session-.json", None),
        ("tmp/bakery/chats/notes.md", None),
        ("tmp/7c/logs.json", None),
        ("tmp/7c/checkpoint-before.json", None),
        ("tmp/bakery/.project_root", None),
        ("oauth_creds.json", None),
        ("settings.json", None),
    ],
)
def test_only_sessions_are_claimed(
    path: str, claimed: tuple[str, str | None, str, str | None] | None
) -> None:
    claim = claims(Source("gemini", Path("/home/ida/.gemini"), "heron"), "/home/ida/.gemini", path)

    found = claim and (claim.type, claim.session_id, claim.sid, claim.parent_session_id)
    assert found == claimed


def test_pieces_of_a_session_are_documents_of_their_own(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    chats = tmp_path / ".gemini" / "tmp" / "7c" / "chats"
    tokens = {"input": 5, "output": 1}
    one = chat(user("Bake."), answer("Yes.", tokens=tokens))
    two = chat(user("Cool.", "u2"), answer("Also.", "g2", tokens=tokens))
    flatten_chat(chats, one, name="session-2025-11-03T09-12-5d1f2a90.json")
    flatten_chat(chats, two, name="session-2025-11-03T09-15-5d1f2a90.json")

    fill(f"gemini={tmp_path / '.gemini'}")
    archive.ask(prepare)
    query = "select session_id, sid, calls from sessions order by session_id"
    rows = archive.ask(lambda view: view.rows(query))
    by_id = archive.ask(lambda view: resolve(view, ID))

    assert [(row["session_id"], row["sid"], row["calls"]) for row in rows] == [
        (f"{ID}@2025-11-03T09-12", "5d1f2a90", 1),
        (f"{ID}@2025-11-03T09-15", "5d1f2a90", 1),
    ]
    candidates = {candidate["session_id"] for candidate in by_id["candidates"]}
    assert candidates == {row["session_id"] for row in rows}


def test_the_lines_that_a_document_was_turned_into_are_a_copy_of_it(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    chats = tmp_path / ".gemini" / "tmp" / "7c" / "chats"
    messages = [user("Bake."), answer("Yes.", tokens={"input": 5, "output": 1})]
    more = [user("More?", "u2"), answer("More.", "g2", tokens={"input": 6, "output": 1})]
    flatten_chat(chats, chat(*messages), name=PIECE)
    lines = [{"sessionId": ID, "projectHash": "7c"}, *messages, *more]
    flatten_chat(chats, *lines, name=f"{PIECE}l")

    fill(f"gemini={tmp_path / '.gemini'}")
    archive.ask(prepare)
    rows = archive.ask(lambda view: view.rows("select turns, calls from sessions"))
    found = archive.ask(lambda view: resolve(view, ID))

    assert rows == [{"turns": 4, "calls": 2}]
    assert found["session_id"] == f"{ID}@2025-11-03T09-12"


def test_a_session_of_lines_has_the_id_that_gemini_shows(tmp_path: Path) -> None:
    flat = flatten_chat(tmp_path, header(), user("Bake."), name=f"{PIECE}l")

    assert (flat.document["session_id"], flat.document["agent_id"]) == (ID, None)


def test_a_subagent_of_lines_works_for_the_session_of_its_folder(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    chats = tmp_path / ".gemini" / "tmp" / "bakery" / "chats"
    lines = [header(sessionId="x4k2q9", kind="subagent"), user("Look."), answer("Seen.")]
    flatten_chat(chats / ID, *lines, name="x4k2q9.jsonl")

    fill(f"gemini={tmp_path / '.gemini'}")
    query = "select type, session_id, agent_id, parent_session_id from documents"
    (row,) = archive.ask(lambda view: view.rows(query))
    told = archive.ask(lambda view: view.rows("select distinct is_sidechain from blocks"))

    assert list(row.values()) == ["subagent", "x4k2q9", "x4k2q9", ID]
    assert told == [{"is_sidechain": True}]


# -- what is in them -----------------------------------------------------------------------


def test_a_message_that_later_lines_write_anew_is_one_message_in_its_first_place(
    tmp_path: Path,
) -> None:
    tokens = {"input": 10, "output": 2}
    flat = flatten_chat(
        tmp_path,
        header(),
        answer("Ba", tokens=tokens),
        user("Wait."),
        answer("Baked.", tokens=tokens | {"output": 4}, toolCalls=[call("c1")]),
    )

    texts = [block["text"] for block in flat.blocks if block["kind"] == "text"]
    assert texts == ["Baked.", "Wait."]
    (row,) = flat.calls
    assert (row["output_tokens"], row["tools"]) == (4, ["read_file"])


def test_what_was_taken_back_stays(tmp_path: Path) -> None:
    flat = flatten_chat(tmp_path, header(), user("Bake."), {"$rewindTo": "u1"}, user("Cool.", "u2"))

    assert [block["text"] for block in flat.blocks] == ["Bake.", "Cool."]
    assert flat.file.unknown == {}


def test_a_list_set_anew_adds_what_is_new_and_shortens_nothing(tmp_path: Path) -> None:
    long = answer("", toolCalls=[call("c1", response("c1", output="all of it"))])
    cut = answer("", toolCalls=[call("c1", response("c1", output="masked"))])
    snapshot = user("<state_snapshot>Baked.</state_snapshot>", "s1")

    flat = flatten_chat(
        tmp_path,
        header(),
        user("Bake."),
        long,
        {"$set": {"messages": [snapshot, cut, user([response("c1", output="masked")], "r1")]}},
        user("On.", "u2"),
    )

    told = [(block["kind"], block["text"]) for block in flat.blocks]
    assert told == [
        ("text", "Bake."),
        ("tool_use", "{}"),
        ("tool_result", "all of it"),
        ("summary", "<state_snapshot>Baked.</state_snapshot>"),
        ("text", "On."),
    ]


@pytest.mark.parametrize(
    ("tokens", "counts"),
    [
        ({"input": 100, "output": 10, "cached": 60, "thoughts": 5, "tool": 3}, (43, 60, 15, 5)),
        ({"input": 50, "output": 5}, (50, 0, 5, None)),
        ({"input": 10, "output": 5, "cached": 20, "thoughts": 0}, (0, 20, 5, 0)),
        ({"input": None, "output": "many", "cached": -1, "thoughts": []}, (0, 0, 0, 0)),
        ({}, (0, 0, 0, None)),
    ],
)
def test_tokens_do_not_overlap(tmp_path: Path, tokens: Any, counts: tuple[int | None, ...]) -> None:
    (row,) = flatten_chat(tmp_path, header(), answer("x", tokens=tokens)).calls

    names = ("input_tokens", "cache_read_tokens", "output_tokens", "reasoning_tokens")
    assert tuple(row[name] for name in names) == counts


def test_a_response_is_the_same_in_every_copy_and_only_there(tmp_path: Path) -> None:
    one = answer("x", tokens={"input": 1, "output": 1})

    def key(*lines: Record, name: str) -> int:
        (row,) = flatten_chat(tmp_path, *lines, name=name).calls
        return int(row["call_key"])

    first = key(header(), one, name="session.jsonl")

    assert key(chat(one), name="elsewhere.json") == first
    assert key(header(sessionId="other"), one, name="other.jsonl") != first
    assert key(header(), one | {"id": "g2"}, name="session.jsonl") != first


@pytest.mark.parametrize(
    ("tool", "text", "error"),
    [
        (call("c", response("c", output="out"), status="success"), "out", False),
        (call("c", response("c", error="no"), status="error"), "no", True),
        (call("c", response("c", error="no"), status="cancelled"), "no", True),
        (call("c", response("c", rows=[1]), status="success"), '{"rows":[1]}', False),
        (call("c", response("c", output="a"), {"text": "b"}), "a\nb", None),
        (call("c", status="success", resultDisplay="shown"), "shown", False),
        (call("c", status="success", resultDisplay={"fileDiff": "+"}), '{"fileDiff":"+"}', False),
        (call("c", status="success"), "", False),
        (call("c", status=["success"], result="bare"), "bare", None),
    ],
)
def test_a_result_is_what_the_model_saw(
    tmp_path: Path, tool: Record, text: str, error: object
) -> None:
    flat = flatten_chat(tmp_path, header(), answer(toolCalls=[tool]))

    (block,) = [block for block in flat.blocks if block["kind"] == "tool_result"]
    assert (block["text"], block["is_error"], block["tool_name"]) == (text, error, "read_file")


def test_a_call_that_waits_has_no_result(tmp_path: Path) -> None:
    waiting = call("c", status="awaiting_approval")

    flat = flatten_chat(tmp_path, header(), answer(toolCalls=[waiting]))

    assert [block["kind"] for block in flat.blocks] == ["tool_use"]


@pytest.mark.parametrize("name", ["session.json", "session.jsonl"])
def test_the_extension_does_not_matter(tmp_path: Path, name: str) -> None:
    messages = [user("Bake."), answer("Yes.")]

    whole = json.dumps(chat(*messages), indent=2).encode()
    lines = flatten_chat(tmp_path, header(), *messages, name=name)
    document = flatten_chat(tmp_path, b"\xef\xbb\xbf" + whole + b"\0\0", name=name)

    assert document.readable() == lines.readable()
    assert document.document["session_id"] == ID
    assert document.rejects == lines.rejects == []


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (json.dumps(chat(user("Bake.")), indent=2).encode()[:-9], "torn line"),
        (b"once upon a time\nin a bakery", "not JSON"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1", "git-lfs pointer"),
        (b"\0\0\0\0", "NUL bytes"),
        (b"[1, 2]", "not a JSON object"),
    ],
)
def test_what_can_not_be_read_is_one_reject(tmp_path: Path, content: bytes, reason: str) -> None:
    flat = flatten_chat(tmp_path, content)

    assert [reject["reason"] for reject in flat.rejects] == [reason]
    assert flat.document["type"] == "file"


def test_an_empty_file_is_an_empty_session(tmp_path: Path) -> None:
    path = tmp_path / PIECE
    path.write_bytes(b"")

    flat = flatten_file(path, "gemini")

    assert (flat.document["turns"], flat.rejects) == (0, [])


@pytest.mark.parametrize("sidecar", ["there", "missing", "folder", "huge", "bytes", "link"])
def test_the_working_folder_is_noted_beside_newer_sessions(tmp_path: Path, sidecar: str) -> None:
    path = tmp_path / ".project_root"
    match sidecar:
        case "there":
            path.write_text("/home/ida/bakery\n")
        case "folder":
            path.mkdir()
        case "huge":
            path.write_text("/x" * MAX_SIDECAR_BYTES)
        case "bytes":
            path.write_bytes(b"\xff\xfe")
        case "link":
            path.symlink_to(tmp_path / "elsewhere")

    flat = flatten_chat(tmp_path / "chats", header(), user("Bake."))

    assert flat.document["cwd"] == ("/home/ida/bakery" if sidecar == "there" else None)
    assert flat.blocks[0]["cwd"] == flat.document["cwd"]


def test_nested_values_and_large_numbers_do_no_harm(tmp_path: Path) -> None:
    deep = b'{"a":' * 500 + b"1" + b"}" * 500
    line = orjson.dumps(answer(toolCalls=[{"name": "T", "args": None}])).replace(b"null", deep)
    large = answer(id="g2", toolCalls=[{"name": "T", "args": {"n": 10**30}}])

    flat = flatten_chat(tmp_path, header(), line, large, user("On."))

    assert flat.file.failure is None
    assert flat.readable().endswith("## User\n\nOn.\n")


@pytest.mark.parametrize("sample", samples("gemini"), ids=lambda path: path.stem)
def test_a_block_names_the_place_that_reading_raw_gives_back(sample: Path) -> None:
    unrolled = records("gemini", str(sample.parent), sample.name)
    if unrolled is None:
        places: list[Any] = [line.decode() for line in sample.read_bytes().split(b"\n")]
    else:
        places = [json.dumps(place) for place in unrolled]

    for block in flatten_file(sample, "gemini").blocks:
        assert not block["uuid"] or f'"{block["uuid"]}"' in places[block["source_line"] - 1]


# -- any value, and real files ---------------------------------------------------------------

TEMPLATES: list[Record] = [
    json.loads(line)
    for sample in samples("gemini")
    if sample.suffix == ".jsonl" and sample.stem != "torn_lines"
    for line in sample.read_bytes().splitlines()
]


@settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(lines=st.lists(odd_records(TEMPLATES), min_size=1, max_size=6), is_document=st.booleans())
def test_no_value_in_any_place_makes_a_file_fail(
    tmp_path: Path, lines: list[Record], *, is_document: bool
) -> None:
    written = [chat(*lines)] if is_document else lines

    flat = flatten_chat(tmp_path, *map(orjson.dumps, written), name=PIECE)

    assert flat.file.failure is None
    if flat.document["type"] != "file":
        assert len(flat.readable().encode()) == flat.document["bytes"]
        assert flat.readable().count("\n") == flat.document["lines"]


def test_no_real_file_fails_and_every_response_counts_once(corpus: Path, tmp_path: Path) -> None:
    paths = sorted((corpus / "home" / ".gemini").rglob("session-*.json"))
    odd = corpus / "odd" / "gemini"
    paths += [
        odd / name for name in ("001.json", "002.jsonl", "005.jsonl", "008.jsonl", "010.json")
    ]

    for path in paths:
        raw = path.read_bytes().replace(
            b'"$uxt"', b'"$set"'
        )  # as it was before its names were taken
        (tmp_path / path.name).write_bytes(raw)
        flat = flatten_file(tmp_path / path.name, "gemini")

        assert flat.file.failure is None, path
        assert (flat.rejects, flat.file.unknown) == ([], {}), path
        assert _tokens_of(flat) == _tokens_in(raw), path
        words = Counter(block["kind"] for block in flat.blocks)
        assert words["text"] or path.name == "008.jsonl", path

    assert len(paths) == 17


def test_every_piece_of_the_real_home_is_listed(corpus: Path, archive: Archive, fill: Fill) -> None:
    fill(f"gemini={corpus / 'home' / '.gemini'}")

    query = "select count(*) as documents, count(distinct sid) as sids from documents"
    assert archive.ask(lambda view: view.rows(query)) == [{"documents": 12, "sids": 10}]


def _tokens_of(flat: Flat) -> tuple[int, int]:
    names = ("input_tokens", "cache_read_tokens", "output_tokens")
    return len(flat.calls), sum(row[name] for row in flat.calls for name in names)


def _tokens_in(raw: bytes) -> tuple[int, int]:
    """Return how many messages say what they used, and the sum, each id once."""
    try:
        messages = json.loads(raw)["messages"]
    except ValueError:
        messages = [json.loads(line) for line in raw.splitlines()]
    used = {message["id"]: message["tokens"] for message in messages if message.get("tokens")}
    parts = ("input", "output", "thoughts", "tool")
    return len(used), sum(tokens.get(part, 0) for tokens in used.values() for part in parts)
