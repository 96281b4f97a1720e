"""Views: which copy is read, which topic is shown, which project it is of; order can't matter."""

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from sjduck.archive import Archive, View
from sjduck.sqlfiles import functions, published
from sjduck.views import publish
from tests.conftest import Fill
from tests.storage import Storage, column, log_row, whole
from tests.trees import lines, session_id, stored_rows

ONE, TWO = session_id(1), session_id(2)
HANDLE = ONE.replace("-", "")[:8]


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    """Return an empty storage tree."""
    return Storage(tmp_path)


def documents(archive: Archive, columns: str) -> list[dict[str, Any]]:
    """Return columns of every transcript that is read, longest first."""
    query = f"select {columns} from documents where type = 'transcript' order by lines desc, host"
    return archive.ask(lambda view: view.rows(query))


def rendered(fill: Fill, tmp_path: Path, prompts: list[str]) -> str:
    """Return the readable of a session with these prompts."""
    aside = Storage(tmp_path / "aside")
    aside.session("atlas", ONE, prompts)
    fill(*aside.sources, archive=tmp_path / "aside-archive")
    archive = Archive(tmp_path / "aside-archive", timezone="UTC")
    try:
        return whole(archive, ONE)
    finally:
        archive.close()


def test_every_published_column_is_described_and_every_described_one_is_there(
    archive: Archive,
) -> None:
    archive.ask(publish)
    for name, table in published().items():
        rows = archive.ask(lambda view, name=name: view.rows(f"describe {name}"))  # type: ignore[misc]
        shown = {row["column_name"]: row["column_type"] for row in rows}

        assert shown == {column.name: column.type for column in table.columns}
        assert all(column.about.endswith(".") for column in table.columns)


# -- copies --------------------------------------------------------------------------------


def test_a_raw_session_and_its_readable_are_one_and_the_raw_one_is_read(
    tmp_path: Path, storage: Storage, archive: Archive, fill: Fill
) -> None:
    text = rendered(fill, tmp_path, ["one", "two"])
    storage.session("atlas", ONE, ["one", "two"])
    file = storage.readable("atlas", f"2026-03-01_one__{HANDLE}.md", text)

    fill(*storage.sources)

    assert documents(archive, "source_format, session_id, readable_path, hosts") == [
        {"source_format": "claude", "session_id": ONE, "readable_path": str(file), "hosts": None}
    ]


def test_a_longer_readable_of_a_resumed_session_is_read(
    tmp_path: Path, storage: Storage, archive: Archive, fill: Fill
) -> None:
    text = rendered(fill, tmp_path, ["one", "two", "three"])
    storage.session("atlas", ONE, ["one", "two"])
    storage.readable("atlas", f"2026-03-01_one__{HANDLE}.md", text)

    fill(*storage.sources)

    assert documents(archive, "source_format, session_id, turns") == [
        {"source_format": "readable", "session_id": ONE, "turns": 6}
    ]
    assert whole(archive, HANDLE) == text


def test_a_readable_that_says_something_else_is_no_place_to_read_it(
    tmp_path: Path, storage: Storage, archive: Archive, fill: Fill
) -> None:
    text = rendered(fill, tmp_path, ["one"])
    storage.session("atlas", ONE, ["one", "two"])
    storage.readable("atlas", f"2026-03-01_one__{HANDLE}.md", text)

    fill(*storage.sources)

    assert documents(archive, "source_format, readable_path") == [
        {"source_format": "claude", "readable_path": None}
    ]


def test_a_readable_alone_has_its_whole_id_from_the_catalogue(
    tmp_path: Path, storage: Storage, archive: Archive, fill: Fill
) -> None:
    storage.readable("atlas", f"2026-03-01_one__{HANDLE}.md", rendered(fill, tmp_path, ["one"]))
    storage.log("atlas", log_row(ONE, "Its topic"))

    fill(*storage.sources)

    assert documents(archive, "session_id, topic, topic_source") == [
        {"session_id": ONE, "topic": "Its topic", "topic_source": "catalogue"}
    ]


def test_a_readable_whose_handle_two_sessions_share_stays_alone(
    tmp_path: Path, storage: Storage, archive: Archive, fill: Fill
) -> None:
    other = ONE[:8] + TWO[8:]
    storage.readable("atlas", f"2026-03-01_one__{HANDLE}.md", rendered(fill, tmp_path, ["one"]))
    storage.session("atlas", ONE, ["one", "two"])
    storage.log("atlas", log_row(other, "Another session with the same handle"))

    fill(*storage.sources)

    assert documents(archive, "session_id") == [{"session_id": ONE}, {"session_id": None}]


def test_the_same_session_on_two_hosts_is_a_document_on_each_that_knows_both(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    storage.session("atlas", ONE, ["one"])
    storage.session("borealis", ONE, ["one", "two"])

    fill(*storage.sources)
    rows = documents(archive, "host, turns, hosts, identity, preference")

    assert [(row["host"], row["turns"]) for row in rows] == [("borealis", 4), ("atlas", 2)]
    assert [row["hosts"] for row in rows] == [["atlas", "borealis"]] * 2
    assert len({row["identity"] for row in rows}) == 1
    assert rows[0]["preference"] < rows[1]["preference"]


def test_two_sources_and_two_writers_give_each_session_once_in_any_order(
    tmp_path: Path, fill: Fill
) -> None:
    near, far = Storage(tmp_path / "near"), Storage(tmp_path / "far")
    near.session("atlas", ONE, ["one"])
    far.session("atlas", ONE, ["one", "two"])
    far.session("atlas", TWO, ["other"])
    for storage in (near, far):
        storage.log("atlas", log_row(ONE, "A topic"), log_row(TWO, "Another"))
    runs = [("ann", near.sources), ("bob", far.sources), ("bob", near.sources)]
    seen = []

    for number, order in enumerate(permutations(runs)):
        archive = Archive(tmp_path / f"archive-{number}", timezone="UTC")
        for writer, sources in order:
            fill(*sources, archive=archive.root, writer=writer)
        rows = documents(archive, "session_id, turns, topic, source_gone_at is not null as gone")
        blocks = column(archive, "select text from blocks where role = 'user' order by text")
        seen.append((rows, blocks))
        archive.close()

    assert seen[0][0] == [
        {"session_id": ONE, "turns": 4, "topic": "A topic", "gone": False},
        {"session_id": TWO, "turns": 2, "topic": "Another", "gone": False},
    ]
    assert seen[0][1] == ["one", "other", "two"]
    assert all(found == seen[0] for found in seen)


def test_a_log_of_two_writers_has_each_row_once(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    storage.log("atlas", log_row(ONE, "First", at="2026-03-01 10:00"), log_row(ONE, "Second"))

    for writer in ("ann", "bob"):
        fill(*storage.sources, writer=writer)

    assert column(archive, "select topic from catalogue order by line") == ["First", "Second"]
    assert column(archive, "select entries from topics") == [2]


def test_a_log_that_grew_has_each_row_once(storage: Storage, archive: Archive, fill: Fill) -> None:
    storage.log("atlas", log_row(ONE, "First"))
    fill(*storage.sources)
    storage.log("atlas", log_row(ONE, "First"), log_row(TWO, "Second"))

    fill(*storage.sources)

    assert column(archive, "select topic from catalogue order by line") == ["First", "Second"]
    assert column(archive, "select entries from topics order by topic") == [1, 1]


def test_the_same_plan_in_two_places_is_one_and_another_text_another(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    storage.plan("atlas", "2026-03-01_a.md", "# Do it\n")
    storage.plan("atlas", "copied.md", "# Do it\n")
    storage.plan("atlas", "changed.md", "# Do it well\n")

    fill(*storage.sources)

    assert column(archive, "select topic from documents where type = 'plan' order by all") == [
        "Do it",
        "Do it well",
    ]


def test_a_memory_in_two_sources_is_one_where_it_reads_the_same(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    import os

    older, newer = Storage(tmp_path / "a"), Storage(tmp_path / "b")
    for storage, text, at in ((older, "old and longer\n", 1_000), (newer, "new\n", 2_000)):
        file = storage.memory("-home-ann-shop", "MEMORY.md", text)
        storage.memory("-home-ann-shop", "same.md", "the same\n")
        os.utime(file, (at, at))

    fill(f"scrubjay={newer.tree}", f"scrubjay={older.tree}")

    texts = column(archive, "select text from blocks order by text")
    assert texts == ["new\n", "old and longer\n", "the same\n"]


# -- topics --------------------------------------------------------------------------------

RECORDS = {
    "custom_title": {"type": "custom-title", "customTitle": "By a  person"},
    "ai_title": {"type": "ai-title", "aiTitle": "By the\nharness"},
}
COMMAND = {
    "type": "user",
    "message": {
        "role": "user",
        "content": "<command-name>/review</command-name><command-args>PR 7</command-args>",
    },
}
TOPICS = {
    "custom_title": "By a person",
    "catalogue": "From the log",
    "ai_title": "By the harness",
    "first_prompt": "first prompt",
    "slash_command": "/review PR 7",
    "history": "typed first",
}


@pytest.mark.parametrize("first", range(len(TOPICS)))
def test_the_topic_is_the_first_of_what_there_is(
    storage: Storage, archive: Archive, fill: Fill, first: int
) -> None:
    there = list(TOPICS)[first:]
    records: list[dict[str, Any]] = [RECORDS[name] for name in there if name in RECORDS]
    prompts = ["first  prompt"] if "first_prompt" in there else []
    if "slash_command" in there:
        records.append(COMMAND)
    storage.session("atlas", ONE, prompts, more=[*records, {"type": "system"}])
    if "catalogue" in there:
        storage.log("atlas", log_row(ONE, "From the log"))
    typed = [("/review", 1_000), ("typed first", 2_000), ("typed second", 3_000)]
    history = [
        {"display": text, "timestamp": at, "project": "/home/ann/shop", "sessionId": ONE}
        for text, at in typed
    ]
    (storage.tree / "atlas" / "history.jsonl").write_text("\n".join(map(json.dumps, history)))

    fill(*storage.sources)

    assert documents(archive, "topic, topic_source") == [
        {"topic": TOPICS[there[0]], "topic_source": there[0]}
    ]


def test_a_blank_title_is_none(storage: Storage, archive: Archive, fill: Fill) -> None:
    blank = [{"type": "custom-title", "customTitle": "  \n"}, {"type": "ai-title", "aiTitle": " "}]
    storage.session("atlas", ONE, ["what was asked"], more=blank)

    fill(*storage.sources)

    assert documents(archive, "topic, topic_source") == [
        {"topic": "what was asked", "topic_source": "first_prompt"}
    ]


def test_a_prompt_is_cut_at_120_characters(storage: Storage, archive: Archive, fill: Fill) -> None:
    storage.session("atlas", ONE, ["漢字 " * 100])

    fill(*storage.sources)

    assert documents(archive, "topic") == [{"topic": ("漢字 " * 100)[:120]}]


def test_a_session_without_words_has_no_topic(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    storage.session("atlas", ONE, [], more=[{"type": "system", "cwd": "/home/ann/shop"}])

    fill(*storage.sources)

    assert documents(archive, "topic, topic_source, project") == [
        {"topic": None, "topic_source": None, "project": "shop"}
    ]


# -- the catalogue -------------------------------------------------------------------------


def test_of_a_sessions_rows_the_last_one_written_wins_whole(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    storage.log(
        "atlas",
        log_row(ONE, "Early", at="2026-10-25 02:50", rest=" | harness=claude | model=a | tags=x"),
        log_row(TWO, "Between", at="2026-10-25 02:55"),
        # The clock went back an hour meanwhile.
        log_row(ONE, "(no text)", at="2026-10-25 02:10", rest=" | harness=codex | size=7"),
    )

    fill(*storage.sources)
    query = "select topic, harness, model, bytes, turns, extra, entries from topics"
    rows = archive.ask(lambda view: view.rows(f"{query} where session_id = $id", id=ONE))

    assert rows == [
        {
            "topic": None, "harness": "codex", "model": None, "bytes": 7, "turns": None,
            "extra": {}, "entries": 2,
        }
    ]  # fmt: skip


def test_of_two_logs_the_one_that_ends_later_wins(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    near, far = Storage(tmp_path / "near"), Storage(tmp_path / "far")
    near.log("atlas", log_row(ONE, "Stale copy", at="2026-03-01 10:00"))
    far.log("atlas", log_row(ONE, "First"), log_row(ONE, "Fresh", at="2026-03-02 10:00"))

    fill(near.sources[1], far.sources[1])

    assert column(archive, "select topic from topics") == ["Fresh"]


def test_the_catalogue_beats_the_history(storage: Storage, archive: Archive, fill: Fill) -> None:
    storage.log("atlas", log_row(ONE, "From the log", at="2020-01-01 00:00"))
    typed = {"display": "typed", "timestamp": 1_800_000_000_000, "sessionId": ONE}
    (storage.tree / "atlas").mkdir()
    (storage.tree / "atlas" / "history.jsonl").write_text(json.dumps(typed))

    fill(*storage.sources)

    assert column(archive, "select topic from topics") == ["From the log"]


# -- projects ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cwd", "project"),
    [
        ("/home/ann/shop", "shop"),
        ("/home/ann/shop/", "shop"),
        ("C:\\Users\\Ann\\dev\\shop", "shop"),
        ("C:\\Users\\Ann\\dev\\shop\\", "shop"),
        ("C:\\", "C:"),
        ("/home/ann/météo balcon", "météo balcon"),
        ("\\\\nas\\share\\日本語", "日本語"),
        ("/", None),
    ],
)
def test_the_project_is_the_last_part_of_the_cwd(
    storage: Storage, archive: Archive, fill: Fill, cwd: str, project: str | None
) -> None:
    storage.session("atlas", ONE, ["one"], cwd=cwd, slug="-any-other-slug")

    fill(*storage.sources)

    assert documents(archive, "project") == [{"project": project}]


def test_a_session_without_a_cwd_is_of_the_catalogues_project(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    records = [{**record, "cwd": None} for record in lines(ONE, ["one"])]
    storage.session("atlas", ONE, [], more=records)
    storage.log("atlas", log_row(ONE, "A topic", cwd="C:\\dev\\shop"))

    fill(*storage.sources)

    assert documents(archive, "project, cwd") == [{"project": "shop", "cwd": "C:\\dev\\shop"}]


def test_a_memory_is_of_the_project_whose_cwd_gives_its_key(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    storage.session("atlas", ONE, ["one"], cwd="/home/ann/my_shop.v2")
    storage.session("atlas", TWO, ["two"], cwd="C:\\Users\\Ann\\dev\\tills")
    storage.memory("-home-ann-my-shop-v2", "a.md", "a\n")
    storage.memory("C--Users-Ann-dev-tills", "b.md", "b\n")
    storage.note("-home-nobody-knows", "c.md", "c\n")

    fill(*storage.sources)
    query = "select project from documents where type in ('memory', 'note') order by stem"

    assert column(archive, query) == ["my_shop.v2", "tills", "-home-nobody-knows"]


def test_a_key_that_two_folders_give_stays_a_key(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    storage.session("atlas", ONE, ["one"], cwd="/home/ann/my-shop")
    storage.session("atlas", TWO, ["two"], cwd="/home/ann/my_shop")
    storage.memory("-home-ann-my-shop", "a.md", "a\n")

    fill(*storage.sources)

    query = "select project from documents where type = 'memory'"
    assert column(archive, query) == ["-home-ann-my-shop"]


def test_a_subagent_is_its_own_document_of_its_parents_session(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    storage.session("atlas", ONE, ["one"])
    storage.subagent("atlas", ONE, "a17f3d2c9b04e6851", ["look there"])

    fill(*storage.sources)
    query = "select session_id, parent_session_id, agent_id, sid from documents "
    rows = archive.ask(lambda view: view.rows(query + "where type = 'subagent'"))

    assert rows == [
        {
            "session_id": "agent-a17f3d2c9b04e6851",
            "parent_session_id": ONE,
            "agent_id": "a17f3d2c9b04e6851",
            "sid": "a17f3d2c",
        }
    ]


def test_sessions_add_up_the_calls_of_each(storage: Storage, archive: Archive, fill: Fill) -> None:
    storage.session("atlas", ONE, ["one", "two"])
    storage.session("atlas", TWO, [], more=[{"type": "system"}])

    fill(*storage.sources)
    archive.ask(publish)
    query = "select calls, input_tokens, output_tokens from sessions order by calls"

    assert archive.ask(lambda view: view.rows(query)) == [
        {"calls": 0, "input_tokens": 0, "output_tokens": 0},
        {"calls": 2, "input_tokens": 21, "output_tokens": 41},
    ]


def test_rows_of_an_archive_of_two_writers_are_each_there_once(
    storage: Storage, archive: Archive, tmp_path: Path, fill: Fill
) -> None:
    storage.session("atlas", ONE, ["one", "two"])
    storage.log("atlas", log_row(ONE, "A topic"), "not a row")
    fill(*storage.sources, archive=tmp_path / "alone")

    for writer in ("ann", "bob"):
        fill(*storage.sources, writer=writer)

    assert stored_rows(archive) == stored_rows(Archive(tmp_path / "alone", timezone="UTC"))


# -- turns, messages, tool calls, files ----------------------------------------------------


def asked(archive: Archive, query: str) -> list[dict[str, Any]]:
    """Return the rows of a SELECT from any published view or macro."""

    def question(view: View) -> list[dict[str, Any]]:
        publish(view)
        return view.rows(query)

    return archive.ask(question)


def test_every_macro_has_the_columns_that_are_described(archive: Archive) -> None:
    for name, table in functions().items():
        rows = asked(archive, f"describe from {name}('x')")
        shown = {row["column_name"]: row["column_type"] for row in rows}

        assert shown == {column.name: column.type for column in table.columns}
        assert table.about.startswith(f"{name}('")


def test_a_turn_has_its_lines_and_what_was_said(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    storage.session("atlas", ONE, ["count the jars", "and the lids"])

    fill(*storage.sources)
    query = "select turn, role, line_start, blocks, tool_calls, text from turns order by turn"
    rows = asked(archive, query)
    text = whole(archive, ONE).split("\n")

    assert [(row["turn"], row["role"], row["blocks"]) for row in rows] == [
        (1, "user", 1), (2, "assistant", 3), (3, "user", 1), (4, "assistant", 3),
    ]  # fmt: skip
    assert [row["tool_calls"] for row in rows] == [0, 1, 0, 1]
    assert rows[1]["text"] == "Looking into: count the jars"
    for row in rows:
        assert text[row["line_start"] - 1] == row["text"].split("\n")[0]


def test_messages_are_what_people_and_the_assistant_wrote(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    hidden = {
        "type": "user",
        "sessionId": ONE,
        "message": {"role": "user", "content": "<system-reminder>be brief</system-reminder>"},
    }
    storage.session("atlas", ONE, ["count the jars"], more=[hidden])
    storage.plan("atlas", "plan.md", "# A plan is no message\n")

    fill(*storage.sources)

    assert asked(
        archive, "select role, text, date::varchar as date from messages order by seq"
    ) == [
        {"role": "user", "text": "count the jars", "date": "2026-03-01"},
        {"role": "assistant", "text": "Looking into: count the jars", "date": "2026-03-01"},
    ]


def tool_use(number: int, name: str, tool_input: dict[str, Any], at: str) -> dict[str, Any]:
    """Return the record of a tool's call."""
    content = [{"type": "tool_use", "id": f"call{number}", "name": name, "input": tool_input}]
    return {
        "type": "assistant", "sessionId": ONE, "timestamp": f"2026-03-01T11:00:{at}Z",
        "message": {"role": "assistant", "content": content},
    }  # fmt: skip


def tool_result(number: int, content: Any, at: str, *, is_error: bool) -> dict[str, Any]:
    """Return the record of what a tool gave."""
    result = {
        "type": "tool_result", "tool_use_id": f"call{number}", "content": content,
        "is_error": is_error,
    }  # fmt: skip
    return {
        "type": "user", "sessionId": ONE, "timestamp": f"2026-03-01T11:00:{at}Z",
        "message": {"role": "user", "content": [result]},
    }  # fmt: skip


def test_a_tool_call_is_joined_to_its_result(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    records = [
        tool_use(1, "Bash", {"command": "ls jars"}, "00.000"),
        tool_use(2, "Bash", {"command": "sleep 1d"}, "01.000"),
        tool_result(1, "no such folder", "02.500", is_error=True),
    ]
    storage.session("atlas", ONE, [], more=records)

    fill(*storage.sources)
    query = (
        "select input ->> 'command' as command, has_result, is_error, duration_s, output, "
        "output_characters from tool_calls order by seq"
    )

    assert asked(archive, query) == [
        {
            "command": "ls jars", "has_result": True, "is_error": True, "duration_s": 2.5,
            "output": "no such folder", "output_characters": 14,
        },
        {
            "command": "sleep 1d", "has_result": False, "is_error": None, "duration_s": None,
            "output": None, "output_characters": None,
        },
    ]  # fmt: skip


def test_files_are_those_that_tools_read_edited_and_wrote(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    patch = "*** Begin Patch\n*** Update File: jars/lid.py\n@@\n*** Add File: a b.py\n*** End Patch"
    calls: list[tuple[str, dict[str, Any]]] = [
        ("Read", {"file_path": "/jars.txt"}),
        ("mcp__files__read_file", {"path": "/jars.txt"}),
        ("Edit", {"file_path": "/jars.txt", "old_string": "a", "new_string": "b"}),
        ("Write", {"file_path": "C:\\lids.txt", "content": "12"}),
        ("str_replace_editor", {"command": "create", "path": "/new.txt"}),
        ("apply_patch", {"command": patch}),
        ("Grep", {"pattern": "lid", "path": "/folder"}),
        ("Bash", {"command": "cat /secret/path"}),
        ("Read", {"file_path": None}),
    ]
    records = [tool_use(n, name, given, f"{n:02d}.000") for n, (name, given) in enumerate(calls)]
    storage.session("atlas", ONE, [], more=records)

    fill(*storage.sources)
    rows = asked(archive, "select path, reads, edits, writes from files_touched order by path")

    assert [tuple(row.values()) for row in rows] == [
        ("/jars.txt", 2, 1, 0), ("/new.txt", 0, 0, 1), ("C:\\lids.txt", 0, 0, 1),
        ("a b.py", 0, 1, 0), ("jars/lid.py", 0, 1, 0),
    ]  # fmt: skip


def test_the_days_of_all_views_add_up(storage: Storage, archive: Archive, fill: Fill) -> None:
    storage.session("atlas", ONE, ["one", "two"], day=1)
    storage.session("atlas", TWO, ["three"], day=2)

    fill(*storage.sources)
    query = "select date::varchar as date, sum(calls)::int as calls from {} group by all order by 1"
    days = [{"date": "2026-03-01", "calls": 2}, {"date": "2026-03-02", "calls": 1}]

    assert asked(archive, query.format("daily_usage")) == days
    assert asked(archive, query.format("sessions")) == days
    assert asked(archive, query.format("(select date, 1 as calls from costs)")) == days
    assert asked(archive, "select sum(cost_usd) = (select sum(cost_usd) from costs) as same "
                          "from daily_usage") == [{"same": True}]  # fmt: skip


def test_a_days_view_is_of_the_zone_that_asks(root: Path, storage: Storage, fill: Fill) -> None:
    storage.session("atlas", ONE, ["one"], day=1)
    fill(*storage.sources)

    for tz, day in (("Asia/Tokyo", "2026-03-01"), ("Pacific/Kiritimati", "2026-03-02")):
        archive = Archive(root, timezone=tz)
        query = "select distinct date::varchar as date from {}"
        for view in ("turns", "messages", "tool_calls", "sessions", "costs", "daily_usage"):
            assert asked(archive, query.format(view)) == [{"date": day}], view
        archive.close()
