"""Sources that are not lines: their objects as lines, the same ones that were taken in."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sjduck import unrolled
from sjduck.archive import Archive
from sjduck.errors import SjduckError
from sjduck.jsontext import line_of, value_of
from sjduck.opencode import database_records
from sjduck.reading import get
from sjduck.sqlitefile import opened
from tests.conftest import Fill
from tests.opencode_home import (
    EXPORTS,
    connect,
    export_of,
    insert,
    write_database,
    write_storage,
)
from tests.storage import column, whole
from tests.trees import stored_rows

Row = dict[str, Any]
ONE, CHILD = "ses_3b90ff1c2ffeRyeAndHoneyCake", "ses_3b90ff1c0aaeChildOfTheOven"


def write_exports(home: Path, *exports: Row) -> None:
    """Write sessions as exports in a scrubjay tree."""
    folder = home / "testhost" / "-home-ida-bakery"
    folder.mkdir(parents=True)
    for export in exports:
        (folder / f"{export['info']['id']}.json").write_text(json.dumps(export, indent=2))


SHAPES: dict[str, Any] = {
    "scrubjay": write_exports,
    "opencode storage": write_storage,
    "opencode": write_database,
}


@pytest.fixture(params=SHAPES)
def filled(request: pytest.FixtureRequest, tmp_path: Path, fill: Fill, archive: Archive) -> Archive:
    """Return an archive of every sample, taken in from one of the shapes."""
    SHAPES[request.param](tmp_path / "place", *map(export_of, EXPORTS))
    report = fill(f"{request.param.split()[0]}={tmp_path / 'place'}")
    assert report.new == len(EXPORTS)
    return archive


def raw(archive: Archive, ref: str, **options: Any) -> list[Any]:
    """Return the lines of a raw document, parsed."""
    content = whole(archive, ref, format="raw", **options)
    lines = content.removesuffix("\n").split("\n")
    return [json.loads(line) for line in lines if not line.startswith("[")]


# -- raw -----------------------------------------------------------------------------------


def test_raw_has_each_object_on_the_line_that_its_blocks_name(filled: Archive) -> None:
    for name in EXPORTS:
        session = export_of(name)["info"]["id"]
        lines = raw(filled, session)
        of_session = "from blocks join documents using (document) where session_id = $session"
        numbers = column(filled, f"select source_line {of_session} order by seq", session=session)
        uuids = column(filled, f"select uuid {of_session} order by seq", session=session)

        assert lines[0]["id"] == session
        assert len(numbers) > 1
        assert [lines[number - 1]["id"] for number in numbers] == uuids


def test_raw_is_cut_at_lines_and_turns_as_any_source_is(filled: Archive) -> None:
    lines = raw(filled, ONE)

    assert len(lines) == 15
    assert get(filled, ONE, format="raw", lines="15")["content"].startswith("[lines 15-15 of 15]\n")
    assert raw(filled, ONE, lines="3-5") == lines[2:5]
    assert raw(filled, ONE, turns="1") == lines[2:3]
    assert raw(filled, ONE, turns="2") == lines[6:13]


def test_raw_of_a_session_shows_nothing_of_another_one(filled: Archive) -> None:
    for name in EXPORTS:
        export = export_of(name)

        for line in raw(filled, export["info"]["id"])[1:]:
            assert line["sessionID"] == export["info"]["id"]


def test_raw_of_a_session_that_is_gone_is_what_the_archive_holds(
    tmp_path: Path, fill: Fill, archive: Archive
) -> None:
    database = connect(tmp_path / "db")
    insert(database, export_of("two_turns"))
    write_storage(tmp_path / "tree", export_of("child_of_a_session"))
    fill(f"opencode={tmp_path / 'db'}", f"opencode={tmp_path / 'tree'}")
    database.execute("delete from session")
    database.close()
    for file in (tmp_path / "tree" / "storage").rglob("*.json"):
        file.unlink()

    for session in (ONE, CHILD):
        answer = get(archive, session, format="raw", max_chars=0)

        assert answer["source"] == "not the source file: the archive's blocks, one a line"
        assert "rye" in answer["content"]


def test_raw_of_a_database_that_cannot_be_read_says_so(
    tmp_path: Path, fill: Fill, archive: Archive
) -> None:
    write_database(tmp_path / "home", export_of("two_turns"))
    fill(f"opencode={tmp_path / 'home'}")
    (tmp_path / "home" / "opencode.db").write_bytes(b"no database" * 1_000)

    with pytest.raises(SjduckError, match=r"can't read .*: the database can't be read: file is"):
        get(archive, ONE, format="raw")


def test_raw_of_a_file_that_became_lines_is_its_lines(
    tmp_path: Path, fill: Fill, archive: Archive
) -> None:
    write_exports(tmp_path / "nas", export_of("two_turns"))
    fill(f"scrubjay={tmp_path / 'nas'}")
    (file,) = (tmp_path / "nas").rglob("*.json")
    file.write_text('{"a": 1}\n{"b": 2}\n')

    assert raw(archive, ONE) == [{"a": 1}, {"b": 2}]


# -- doors ---------------------------------------------------------------------------------


def test_secrets_beside_the_sessions_are_never_read(
    tmp_path: Path, fill: Fill, archive: Archive
) -> None:
    home = tmp_path / "opencode"
    database = connect(home)
    insert(database, export_of("two_turns"), share_url="SECRET-0")
    insert(database, export_of("child_of_a_session"), permission="SECRET-1")
    database.execute("insert into account values ('a', 'ida@example.org', 'SECRET-2', 'SECRET-3')")
    database.execute("insert into credential values ('c', 'SECRET-4', 'SECRET-5')")
    database.execute(f"insert into session_share values ('{ONE}', 'i', 'SECRET-6', 'SECRET-7')")
    database.close()
    for name in ("auth.json", "opencode.db.json", "storage/share/x.json"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(json.dumps({"id": ONE, "key": "SECRET-8"}))

    fill(f"opencode={home}")

    assert "SECRET" not in repr(stored_rows(archive))
    assert "SECRET" not in repr([raw(archive, ONE), raw(archive, CHILD)])


@pytest.mark.parametrize(
    "ref",
    ["opencode.db", "auth.json", "opencode.db/", "opencode.db/../auth.json", "opencode.db-wal"],
)
def test_a_path_beside_the_sessions_leads_nowhere(
    tmp_path: Path, fill: Fill, archive: Archive, ref: str
) -> None:
    home = tmp_path / "opencode"
    write_database(home, export_of("two_turns"))
    (home / "auth.json").write_text("{}")
    fill(f"opencode={home}")

    for path in (ref, f"{home}/{ref}"):
        for format in ("raw", "readable"):
            assert get(archive, path, format=format)["error"] == "not found or outside the archive"
    assert get(archive, f"{home}/opencode.db/{ONE}", format="raw")["format"] == "raw"


@pytest.mark.parametrize(
    "path", ["opencode.db/ses_1' or '1'='1", "opencode.db/%", "opencode.db", "opencode.db/"]
)
def test_only_a_whole_id_is_a_session_of_the_database(tmp_path: Path, path: str) -> None:
    write_database(tmp_path, export_of("two_turns"))

    assert list(database_records(str(tmp_path), path)) == []


READABLE = {"session": frozenset({"id", "title"}), "part": frozenset({"id"})}


@pytest.mark.parametrize(
    "query",
    [
        "select * from account",
        "select count(*) from account",
        "select id from session where id in (select id from credential)",
        "select * from leak",
        "select data from message",
        "select * from sqlite_master",
        "pragma table_info(session)",
        "attach 'x.db' as other",
        "create table t (x)",
        "delete from session",
    ],
)
def test_nothing_but_the_readable_tables_can_be_asked(tmp_path: Path, query: str) -> None:
    database = connect(tmp_path)
    database.execute("create view leak as select access_token from account")
    insert(database, export_of("two_turns"))
    database.close()

    with (
        pytest.raises(OSError, match=r"prohibited|not authorized|readonly"),
        opened(str(tmp_path / "opencode.db"), READABLE) as opened_database,
    ):
        list(opened_database.rows(query))


def test_columns_that_may_not_be_read_are_empty(tmp_path: Path) -> None:
    database = connect(tmp_path)
    insert(database, export_of("two_turns"), share_url="SECRET")
    database.close()

    with opened(str(tmp_path / "opencode.db"), READABLE) as opened_database:
        (row,) = opened_database.rows("select * from session")

    assert {name: value for name, value in row.items() if value is not None} == {
        "id": ONE,
        "title": "Oven schedule for Saturday",
    }


def test_a_database_that_changed_while_it_was_read_is_no_answer(tmp_path: Path) -> None:
    write_database(tmp_path, export_of("two_turns"))
    file = tmp_path / "opencode.db"

    def read_while_it_is_written() -> None:
        with opened(str(file), READABLE) as database:
            list(database.rows("select id from session"))
            write_database(tmp_path, export_of("child_of_a_session"))

    with pytest.raises(OSError, match="changed while it was read"):
        read_while_it_is_written()


def test_a_read_sees_one_moment_however_long_it_takes(tmp_path: Path) -> None:
    writer = connect(tmp_path)
    insert(writer, export_of("two_turns"))

    with opened(str(tmp_path / "opencode.db"), READABLE) as database:
        before = list(database.rows("select id from part"))
        insert(writer, export_of("errors_and_stops"))
        after = list(database.rows("select id from part"))

    assert after == before
    writer.close()


# -- documents -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "is_document"),
    [
        (b'{"info": {"id": "ses_1"}, "messages": []}', True),
        (b'{"info": {"id": "ses_1"},\n"messages": []}\n\n', True),
        (b'\xef\xbb\xbf{"info": {"id": "ses_1"}, "messages": []}\0\0', True),
        (b'{"messages": []}\n{"messages": []}\n', False),
        (b'{"messages": []}\n{"messages"', False),
        (b'{"type": "user"}\n', False),
        (b'["messages"]', False),
        (b"", False),
    ],
)
def test_a_file_is_one_document_or_lines(
    tmp_path: Path,
    content: bytes,
    is_document: bool,  # noqa: FBT001
) -> None:
    (tmp_path / "ses_1.json").write_bytes(content)

    assert (unrolled.records("opencode", str(tmp_path), "ses_1.json") is not None) == is_document
    assert (unrolled.of_document("opencode", content.decode()) is not None) == is_document


def test_a_source_that_is_not_there_is_gone(tmp_path: Path) -> None:
    write_database(tmp_path / "home", export_of("two_turns"))
    for format, path in (
        ("opencode", "ses_1.json"),
        ("opencode-storage", "storage/session/p/ses_1.json"),
        ("opencode-storage", "storage/message/ses_1"),
        ("opencode-db", "opencode.db/ses_1"),
    ):
        for root in (tmp_path / "home", tmp_path / "nowhere"):
            with pytest.raises(FileNotFoundError):
                unrolled.records(format, str(root), path)


def test_what_a_link_leads_out_of_the_tree_to_is_not_read(tmp_path: Path) -> None:
    write_storage(tmp_path / "home", export_of("two_turns"))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "msg_z.json").write_text('{"role": "user", "id": "SECRET"}')
    folder = tmp_path / "home" / "storage" / "message" / ONE
    os.symlink(tmp_path / "other" / "msg_z.json", folder / "msg_z.json")
    os.symlink(tmp_path / "other", folder.parent / "ses_2")
    path = f"storage/session/5b5f4f05/{ONE}.json"

    found = list(unrolled.records("opencode-storage", str(tmp_path / "home"), path) or ())

    assert len(found) == 15
    with pytest.raises(FileNotFoundError):
        unrolled.records("opencode-storage", str(tmp_path / "home"), "storage/message/ses_2")


# -- JSON ----------------------------------------------------------------------------------


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text() | st.floats(
            allow_nan=False, allow_infinity=False
        ),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)  # fmt: skip
def test_a_value_is_read_as_it_was_written_and_stands_on_one_line(value: Any) -> None:
    line = line_of(value)

    assert "\n" not in line
    assert value_of(line) == value_of(json.dumps(value)) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('\ufeff {"a": 1}\0\0\n', {"a": 1}),
        (r'{"a": "\ud800x"}', {"a": "\ufffdx"}),
        ('{"a": "raw\x01\ttab"}', {"a": "raw\x01\ttab"}),
        ("[NaN, Infinity, 1e999]", [None, None, None]),
        ("123456789012345678901234567890", 123456789012345678901234567890.0),
    ],
)
def test_what_other_programs_write_is_read_where_it_can_be(text: str, value: Any) -> None:
    assert value_of(text) == value


@pytest.mark.parametrize("text", ["", "{", '{"a": 1} {"b": 2}', "[" * 100_000, "x"])
def test_what_is_no_value_is_an_error(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - whatever the parser says
        value_of(text)


def test_a_value_nested_too_deeply_says_only_that() -> None:
    value: Any = []
    for _ in range(100_000):
        value = [value]

    assert line_of(value) == '"nested too deeply"'
