"""opencode's homes: the storage tree and the database, also in use, damaged, or both at once."""

import json
import os
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from etl.document import Claim
from etl.sources import KINDS
from sjduck.archive import Archive
from sjduck.settings import Source
from sjduck.usage import usage
from tests.conftest import Fill
from tests.flattened import flatten_file, golden
from tests.opencode_home import (
    EXPORTS,
    connect,
    export_of,
    flatten_home,
    insert,
    insert_part,
    look,
    write_database,
    write_storage,
)
from tests.storage import column
from tests.test_claude import JSON


@pytest.mark.parametrize("write", [write_storage, write_database])
@pytest.mark.parametrize("name", EXPORTS)
def test_every_shape_of_a_session_gives_the_same_rows(
    tmp_path: Path, name: str, write: Any
) -> None:
    write(tmp_path / "home", export_of(name))
    exported = flatten_file(EXPORTS[name], "opencode")

    (flat,) = flatten_home(tmp_path / "home")

    assert golden(flat) == golden(exported)
    keys = [[call["call_key"] for call in shape.calls] for shape in (flat, exported)]
    assert keys[0] == keys[1]


# -- which files ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "format"),
    [
        ("atlas/-home-ida/ses_3b90ff1c2ffeRyeAndHoneyCake.json", "opencode"),
        ("atlas/-home-ida/ses_3b90ff1c2ffe.jsonl", "claude"),
        ("atlas/-home-ida/sessions-index.json", None),
        ("atlas/-home-ida/ses_.json", None),
        ("atlas/-home-ida/ses_3b90/ses_3b90.json", None),
        ("atlas/ses_3b90.json", None),
    ],
)
def test_an_export_in_a_scrubjay_tree_is_known_by_its_name(path: str, format: str | None) -> None:
    claim = KINDS["scrubjay"](Source("scrubjay", Path("/nas"), "nas", name="s"), "/nas", path)

    assert (claim.format if isinstance(claim, Claim) else None) == format
    if isinstance(claim, Claim) and format == "opencode":
        assert (claim.host, claim.sid, claim.harness) == ("atlas", "3b90ff1c", "opencode")


@pytest.mark.parametrize(
    ("path", "is_piece"),
    [
        ("opencode.db", True),
        ("storage/session/global/ses_1.json", True),
        ("storage/message/ses_1/msg_1.json", True),
        ("storage/part/msg_1/prt_1.json", True),
        ("storage/part/msg_1/.oc-prt_1.json.123.tmp", False),
        ("storage/session/share/ses_1.json", False),
        ("storage/session_diff/ses_1.json", False),
        ("storage/share/ses_1.json", False),
        ("storage/migration", False),
        ("opencode.db/ses_1", False),
    ],
)
def test_a_home_has_pieces_of_sessions_and_other_things(path: str, is_piece: bool) -> None:  # noqa: FBT001
    claim = KINDS["opencode"](Source("opencode", Path("/h"), "h", name="o"), "/h", path)

    assert claim == ("piece" if is_piece else None)


# -- the storage tree ----------------------------------------------------------------------


def test_a_stored_session_is_as_large_as_its_pieces_and_as_new_as_the_newest(
    tmp_path: Path,
) -> None:
    write_storage(tmp_path, export_of("two_turns"), export_of("child_of_a_session"))
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    (part,) = tmp_path.glob("storage/part/*/prt_c46f00010006*")
    os.utime(part, ns=(10**18, 4 * 10**18))

    found = {claim.session_id: seen for claim, seen in look(tmp_path).files}

    assert sum(seen.size for seen in found.values()) == sum(f.stat().st_size for f in files)
    assert found["ses_3b90ff1c2ffeRyeAndHoneyCake"].mtime_ns == 4 * 10**18
    assert found["ses_3b90ff1c0aaeChildOfTheOven"].mtime_ns < 4 * 10**18


def test_messages_stand_in_the_order_of_their_times_and_parts_in_that_of_their_ids(
    tmp_path: Path,
) -> None:
    words = [("msg_9", 1, "one"), ("msg_2", 2, "two"), ("msg_3", 2, "three"), ("msg_1", 3, "four")]
    times = {"created": 1, "updated": 1}
    info = {"id": "ses_1", "directory": "/b", "title": "t", "version": "1", "time": times}
    messages = [
        {
            "info": {"id": id_, "sessionID": "ses_1", "role": "user", "time": {"created": created}},
            "parts": [
                {"id": f"prt_{n}{id_}", "sessionID": "ses_1", "messageID": id_, "type": "text",
                 "text": f"{word} {n}"}
                for n in (3, 1, 2)
            ],
        }
        for id_, created, word in reversed(words)
    ]  # fmt: skip
    write_storage(tmp_path, {"info": info, "messages": messages})
    write_database(tmp_path, {"info": info, "messages": messages})

    shapes = flatten_home(tmp_path)

    for flat in shapes:
        said = [block["text"] for block in flat.blocks]
        assert said == [f"{word} {n}" for _, _, word in words for n in (1, 2, 3)]
    assert len(shapes) == 2


def test_a_session_without_its_own_file_is_known_by_its_messages(tmp_path: Path) -> None:
    write_storage(tmp_path, export_of("two_turns"))
    (session,) = tmp_path.glob("storage/session/*/*.json")
    session.unlink()

    (flat,) = flatten_home(tmp_path)

    assert flat.file.claim.path == "storage/message/ses_3b90ff1c2ffeRyeAndHoneyCake"
    assert flat.document["session_id"] == "ses_3b90ff1c2ffeRyeAndHoneyCake"
    assert flat.document["cwd"] == "/home/ida/bakery"
    assert flat.document["turns"] == 2


def test_parts_of_a_message_that_was_taken_back_belong_to_nothing(tmp_path: Path) -> None:
    write_storage(tmp_path, export_of("two_turns"))
    before = look(tmp_path)
    (tmp_path / "storage/part/msg_gone").mkdir()
    (tmp_path / "storage/part/msg_gone/prt_1.json").write_text('{"type": "text", "text": "no"}')

    assert look(tmp_path).files == before.files


def test_a_torn_piece_is_a_reject_and_the_others_are_taken_in(tmp_path: Path) -> None:
    write_storage(tmp_path, export_of("two_turns"))
    (part,) = tmp_path.glob("storage/part/*/prt_c46f00010006*")
    part.write_bytes(part.read_bytes()[:50])

    (flat,) = flatten_home(tmp_path)

    assert [(r["source_line"], r["reason"]) for r in flat.rejects] == [(7, "not a JSON object")]
    assert len(flat.blocks) == 7


def test_a_piece_that_lies_elsewhere_is_left_out(tmp_path: Path) -> None:
    write_storage(tmp_path / "home", export_of("two_turns"))
    (part,) = tmp_path.glob("home/storage/part/*/prt_c46f00010006*")
    secret = tmp_path / "auth.json"
    secret.write_text('{"type": "text", "text": "SECRET"}')
    part.unlink()
    part.symlink_to(secret)

    (flat,) = flatten_home(tmp_path / "home")

    assert "SECRET" not in repr(flat)
    assert look(tmp_path / "home").skipped == {"link that leads outside the source": 1}


# -- the database --------------------------------------------------------------------------


def beside(home: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return everything that can be seen of the files of a home."""
    return {
        path.name: (path.stat().st_size, path.stat().st_mtime_ns, path.read_bytes())
        for path in home.iterdir()
        if path.is_file()
    }


def test_a_database_in_use_is_read_as_far_as_it_is_committed_and_left_as_it_is(
    tmp_path: Path,
) -> None:
    writer = connect(tmp_path)
    insert(writer, export_of("two_turns"))
    writer.execute("pragma wal_checkpoint(truncate)")
    insert(writer, export_of("child_of_a_session"))
    writer.execute("begin")
    insert(writer, export_of("errors_and_stops"))
    before = beside(tmp_path)

    flats = flatten_home(tmp_path)

    assert [flat.document["stem"][12:] for flat in flats] == [
        "0aaeChildOfTheOven", "2ffeRyeAndHoneyCake",
    ]  # fmt: skip
    assert beside(tmp_path) == before
    assert before["opencode.db-wal"][0] > 0

    writer.execute("commit")

    assert len(flatten_home(tmp_path)) == 3
    writer.close()


def test_a_database_that_is_not_in_use_is_read_without_a_trace(tmp_path: Path) -> None:
    write_database(tmp_path, export_of("two_turns"))
    before = beside(tmp_path)

    (flat,) = flatten_home(tmp_path)

    assert flat.document["turns"] == 2
    assert list(before) == ["opencode.db"]
    assert beside(tmp_path) == before


def test_what_a_killed_writer_left_is_read_too(tmp_path: Path) -> None:
    writer = connect(tmp_path / "home")
    insert(writer, export_of("two_turns"))
    left = tmp_path / "left"
    left.mkdir()
    for name, (_, _, content) in beside(tmp_path / "home").items():
        (left / name).write_bytes(content)
    writer.close()
    before = beside(left)

    (flat,) = flatten_home(left)

    assert flat.document["turns"] == 2
    assert beside(left) == before

    (left / "opencode.db-shm").unlink()

    assert look(left).files == []
    assert [failure.partition(": ")[2] for failure in look(left).failures] == [
        "the database's -wal is here without its -shm; open it once to join them"
    ]


def test_a_database_without_a_log_is_read(tmp_path: Path) -> None:
    write_database(tmp_path, export_of("two_turns"), journal="delete")
    before = beside(tmp_path)

    assert len(flatten_home(tmp_path)) == 1
    assert beside(tmp_path) == before


@pytest.mark.parametrize("trouble", ["locked", "damaged", "no database", "cut short"])
def test_a_database_that_cannot_be_read_is_one_warning_and_nothing_is_gone(
    tmp_path: Path, fill: Fill, archive: Archive, trouble: str
) -> None:
    home = tmp_path / "opencode"
    write_database(home, export_of("two_turns"), export_of("child_of_a_session"), journal="delete")
    write_storage(home, export_of("errors_and_stops"))
    source = f"opencode={home}"
    fill(source)
    write_storage(home, export_of("tokens_and_steps"))
    file = home / "opencode.db"
    writer = connect(home, journal="delete")
    if trouble == "locked":
        writer.execute("begin exclusive")
    else:
        content = file.read_bytes()
        file.write_bytes(
            {
                "damaged": content[:4096] + b"\xff" * (len(content) - 4096),
                "no database": b"not a database, but long enough to look at" * 100,
                "cut short": content[: len(content) // 2],
            }[trouble]
        )

    report = fill(source)
    writer.close()

    assert len(report.warnings) == 1
    assert report.warnings[0].startswith(f"{home}: the database can't be read: ")
    assert (report.new, report.gone) == (1, 0)
    assert column(archive, "select count(*) from documents where source_gone_at is null") == [4]


def test_columns_of_other_versions_are_no_matter(tmp_path: Path) -> None:
    database = connect(tmp_path)
    for name in ("parent_id", "share_url", "permission", "agent"):
        database.execute(f"alter table session drop column {name}")
    database.execute("alter table session add column workspace_id text")
    database.execute("alter table part add column kind text default 'x'")
    export = export_of("two_turns")
    info = export["info"]
    database.execute(
        "insert into session values (?, 'p', 's', ?, ?, ?, 1, 2, 'w')",
        [info["id"], info["directory"], info["title"], info["version"]],
    )
    database.close()

    (flat,) = flatten_home(tmp_path)

    assert flat.document["ai_title"] == "Oven schedule for Saturday"
    assert flat.document["cli_version"] == "1.17.18"


def test_a_row_without_json_is_a_reject_and_the_others_are_taken_in(tmp_path: Path) -> None:
    database = connect(tmp_path)
    insert(database, export_of("two_turns"))
    database.execute("update part set data = '{torn' where id like 'prt_c46f00010006%'")
    database.execute("update part set data = x'ff00' where id like 'prt_c46f00010007%'")
    database.execute("update message set time_updated = 'soon'")
    database.close()

    (flat,) = flatten_home(tmp_path)

    assert [r["source_line"] for r in flat.rejects] == [7, 8]
    assert flat.file.failure is None


def test_a_run_takes_in_what_changed_in_the_database_and_nothing_else(
    tmp_path: Path, fill: Fill, archive: Archive
) -> None:
    home = tmp_path / "opencode"
    writer = connect(home)
    insert(writer, export_of("two_turns"))
    insert(writer, export_of("child_of_a_session"))
    source = f"opencode={home}"

    assert fill(source).new == 2
    assert fill(source).unchanged == 2

    clock = {"time_created": 1770717700000, "time_updated": 1770717700000}
    part = {"id": "prt_z", "sessionID": "ses_3b90ff1c2ffeRyeAndHoneyCake", "type": "text"}
    message = {**export_of("two_turns")["messages"][-1]["info"]}
    insert_part(writer, {**part, "messageID": message["id"], "text": "And the cake."}, clock)

    report = fill(source)

    assert (report.changed, report.unchanged) == (1, 1)

    writer.execute(
        "update part set data = replace(data, 'cake', 'loaf'), time_updated = time_updated + 1"
        " where id = 'prt_z'"
    )

    assert fill(source).changed == 1
    assert column(archive, "select count(*) from blocks where text = 'And the loaf.'") == [1]

    writer.execute("delete from session where id like '%Child%'")

    assert fill(source).gone == 1
    writer.close()


# -- together ------------------------------------------------------------------------------


def test_a_session_in_three_shapes_is_one_and_its_calls_count_once(
    tmp_path: Path, fill: Fill, archive: Archive
) -> None:
    longer, session = export_of("two_turns"), export_of("two_turns")["info"]["id"]
    shorter = {**longer, "messages": longer["messages"][:2]}
    home, nas = tmp_path / "opencode", tmp_path / "nas"
    write_database(home, longer)
    write_storage(home, shorter)
    (nas / "testhost" / "-home-ida-bakery").mkdir(parents=True)
    exported = nas / "testhost" / "-home-ida-bakery" / f"{session}.json"
    exported.write_text(json.dumps(shorter))

    fill(f"opencode={home}", f"scrubjay={nas}")

    assert column(archive, "select source_path from documents") == [f"opencode.db/{session}"]
    assert column(archive, "select count(*) from stored_calls") == [4]
    spent = usage(archive, by="harness")["totals"]
    assert (spent["calls"], spent["output_tokens"]) == (2, 220)


# -- odd input -----------------------------------------------------------------------------


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_piece_and_no_row_makes_a_session_fail(tmp_path: Path, data: st.DataObject) -> None:
    write_storage(tmp_path, export_of("two_turns"))
    file = data.draw(st.sampled_from(sorted(tmp_path.glob("storage/*/*/*.json"))))
    piece = data.draw(st.binary(max_size=9) | JSON.map(orjson.dumps))
    file.write_bytes(piece)
    (tmp_path / "opencode.db").unlink(missing_ok=True)
    database = connect(tmp_path, journal="delete")
    insert(database, export_of("two_turns"))
    table = data.draw(st.sampled_from(["session", "message", "part"]))
    columns = ["title", "version"] if table == "session" else ["data", "id"]
    column = data.draw(st.sampled_from([*columns, "time_created", "time_updated"]))
    value = data.draw(st.integers(-(2**63), 2**63 - 1) | st.just(piece))
    database.execute(f"update or ignore {table} set {column} = ?", [value])
    database.close()

    flats = flatten_home(tmp_path)

    assert [flat.file.failure for flat in flats] == [None, None]


# -- real files ----------------------------------------------------------------------------


def test_the_sessions_of_a_real_storage_tree_are_whole(corpus: Path) -> None:
    home = corpus / "home" / ".local" / "share" / "opencode"
    flats = flatten_home(home)
    pieces = [json.loads(path.read_bytes()) for path in home.glob("storage/*/*/*.json")]
    calls = [call for flat in flats for call in flat.calls]
    blocks = [block for flat in flats for block in flat.blocks]

    assert len(flats) == 2
    assert all(flat.file.failure is None and not flat.rejects for flat in flats)
    assert all(not flat.file.unknown for flat in flats)
    told = [p for p in pieces if p.get("role") == "assistant" and p["tokens"]["output"]]
    assert sum(c["output_tokens"] for c in calls) == sum(p["tokens"]["output"] for p in told)
    assert len(calls) == len(told)
    texts = [p["text"] for p in pieces if p.get("type") == "text"]
    assert sorted(b["text"] for b in blocks if b["kind"] == "text" and b["role"] != "system") == (
        sorted(texts)
    )
    tools = [p for p in pieces if p.get("type") == "tool"]
    assert len([b for b in blocks if b["kind"] == "tool_use"]) == len(tools)
