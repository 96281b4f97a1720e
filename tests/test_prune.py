"""prune: what is named goes for good, from every place; vacuum: what nothing needs is swept."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from etl import manifests
from etl.prune import forget, prune
from etl.purge import COLUMNS, Sieve
from etl.selection import Filters
from etl.vacuum import vacuum
from sjduck.archive import Archive, View, connect
from sjduck.errors import NothingToRead, SjduckError, UsageError
from sjduck.listing import list_documents
from sjduck.pruned import Key, Pruned, Tombstone, body_of, from_body, standing, text_id
from sjduck.reading import get
from sjduck.recall import recall
from sjduck.search import search
from sjduck.settings import load
from sjduck.snapshots import newest_manifest, read_snapshot, utc_now
from sjduck.usage import usage
from tests.conftest import SAMPLES, Fill, Quiet
from tests.storage import Storage, column, log_row
from tests.test_cli import Ran, process
from tests.trees import session_id, stored_rows, write_session

Answer = dict[str, Any]
SECRET = "xylographica"
KEPT = "gooseneck"


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    """Return a storage tree with two sessions of one project, of which one is to go."""
    storage = Storage(tmp_path)
    storage.session("atlas", session_id(1), [f"a {SECRET} kettle", "and taste it"])
    storage.session("atlas", session_id(2), [f"a {KEPT} kettle"], day=9)
    return storage


def pruned(root: Path, *, is_dry: bool = False, writer: str = "tester", **filters: Any) -> Answer:
    """Prune an archive by some filters."""
    settings = load(archive=str(root), timezone="UTC")
    return prune(settings, writer, Quiet(), Filters(**filters), is_dry=is_dry)


def let_back(root: Path, *sids: str, is_dry: bool = False, is_all: bool = False) -> Answer:
    """Lift tombstones."""
    settings = load(archive=str(root))
    return forget(settings, "tester", Quiet(), sids=sids, is_all=is_all, is_dry=is_dry)


def here(root: Path) -> set[str]:
    """Return the session ids that readers see."""
    query = "select session_id from documents where session_id is not null"
    return set(column(Archive(root, timezone="UTC"), query))


def holds(root: Path, text: str) -> list[str]:
    """Return the files of an archive that hold a text, unpacked, names of sources aside."""
    found = [
        str(file.relative_to(root))
        for file in root.rglob("*.parquet")
        if any(text in str(value) for value in _texts(file))
    ]
    for file in root.rglob("*.duckdb"):
        with duckdb.connect() as connection:
            connection.execute(f"attach '{file}' as searched (read_only)")
            tables = connection.execute(
                "select table_name from duckdb_tables() where database_name = 'searched'"
            ).fetchall()
            rows = [
                row
                for (table,) in tables
                for row in connection.execute(f"select * from searched.{table}").fetchall()
            ]
        if any(text in str(row) for row in rows):
            found.append(str(file.relative_to(root)))
    others = [file for file in root.rglob("*") if file.is_file()]
    return found + [
        str(file.relative_to(root)) for file in others if text.encode() in file.read_bytes()
    ]


def _texts(file: Path) -> list[Any]:
    return [value for column in pq.read_table(file).columns for value in column.to_pylist()]


# What a log says of itself stays when some of its rows go.
PUBLISHED = {
    "documents": "select * exclude (segment, preference) from documents where type <> 'log' "
    "order by all",
    "blocks": "select * from blocks order by all",
    "calls": "select * from calls order by all",
    "rejects": "select * from rejects order by all",
}


# -- what goes -----------------------------------------------------------------------------


def test_a_pruned_session_leaves_every_file_of_every_kept_generation(
    storage: Storage, root: Path, fill: Fill
) -> None:
    storage.log("atlas", log_row(session_id(1), "Kettles"))
    fill(*storage.sources)
    storage.session("atlas", session_id(1), [f"a {SECRET} kettle", "and taste it", "again"])
    fill(*storage.sources)
    storage.session("atlas", session_id(3), ["unrelated"])
    fill(*storage.sources)
    before = holds(root, SECRET)

    answer = pruned(root, sids=(session_id(1),))

    assert before
    assert (answer["total"], answer["sessions"], answer["snapshots"]) == (1, 1, 2)
    assert answer["freed"] > 0
    assert holds(root, SECRET) == []
    assert here(root) == {session_id(2), session_id(3)}
    archive = Archive(root, timezone="UTC")
    assert recall(archive, SECRET)["total"] == 0
    assert recall(archive, KEPT)["total"] == 1
    assert column(archive, "select topic from catalogue") == ["Kettles"]
    assert manifests.orphans(root, "tester") == []


def test_a_dry_run_lists_what_would_go_and_writes_nothing(
    storage: Storage, root: Path, fill: Fill
) -> None:
    fill(*storage.sources)
    files = {file: file.stat().st_mtime_ns for file in root.rglob("*")}

    answer = pruned(root, sids=(session_id(1)[:8],), is_dry=True)

    assert {file: file.stat().st_mtime_ns for file in root.rglob("*")} == files
    (item,) = answer["items"]
    assert item["session_id"] == session_id(1)
    assert item["topic"] == f"a {SECRET} kettle"
    assert (item["bytes"], item["copies"], item["writers"]) == (answer["bytes"], 1, ["tester"])
    (writer,) = answer["writers"]
    assert (writer["writer"], writer["is_this"], writer["copies"]) == ("tester", True, 1)


def test_a_dry_run_lists_what_then_goes(storage: Storage, root: Path, fill: Fill) -> None:
    fill(*storage.sources)
    dry = pruned(root, project="shop", is_dry=True)

    wet = pruned(root, project="shop")

    assert wet["items"] == dry["items"]
    assert here(root) == set()


def test_a_prune_without_a_filter_is_refused(storage: Storage, root: Path, fill: Fill) -> None:
    fill(*storage.sources)

    for with_catalogue in (False, True):
        with pytest.raises(UsageError, match="name what to prune"):
            pruned(root, with_catalogue=with_catalogue)


def test_an_archive_that_was_never_filled_has_nothing_to_prune(root: Path) -> None:
    with pytest.raises(NothingToRead, match="no snapshot in"):
        pruned(root, sids=("1",))

    assert not root.exists()


@pytest.mark.parametrize(
    ("filters", "gone"),
    [
        ({"before_at": datetime(2026, 3, 9)}, {1}),
        ({"before_at": datetime(2026, 3, 9, 10, 0, 10)}, {1, 2}),
        ({"host": "atlas"}, {1, 2}),
        ({"host": "Atlas"}, set()),
        ({"project": "SHO"}, {1, 2, 4}),
        ({"harness": "claude", "host": "borealis"}, {4}),
        ({"type": "transcript", "host": "borealis"}, {4}),
        ({"type": "plan"}, set()),
        ({"sids": (session_id(1)[:8], session_id(4))}, {1, 4}),
        ({"sids": (session_id(1)[:8].upper(),)}, {1}),
        ({"sids": ("nobody",)}, set()),
    ],
)
def test_filters_take_what_they_say(
    storage: Storage, root: Path, fill: Fill, filters: dict[str, Any], gone: set[int]
) -> None:
    storage.session("borealis", session_id(4), ["elsewhere"], day=20)
    fill(*storage.sources)

    answer = pruned(root, **filters)

    assert here(root) == {session_id(n) for n in {1, 2, 4} - gone}
    assert answer["total"] == len(gone)
    assert answer.get("not_found", []) == (["nobody"] if filters.get("sids") == ("nobody",) else [])


def test_a_handle_of_several_sessions_is_refused(storage: Storage, root: Path, fill: Fill) -> None:
    twin = session_id(1)[:8] + session_id(2)[8:]
    storage.session("atlas", twin, ["the twin"])
    fill(*storage.sources)

    with pytest.raises(UsageError, match=f"means several sessions: .*{twin}"):
        pruned(root, sids=(twin[:8],))
    pruned(root, sids=(twin,))

    assert here(root) == {session_id(1), session_id(2)}


def test_subagents_go_with_their_session_and_its_age_is_theirs(
    storage: Storage, root: Path, fill: Fill
) -> None:
    storage.subagent("atlas", session_id(2), "abc1234", ["taste every cup"])
    fill(*storage.sources)

    kept = pruned(root, before_at=datetime(2026, 3, 2))
    assert "agent-abc1234" in here(root)
    gone = pruned(root, sids=(session_id(2),))

    assert [item["session_id"] for item in kept["items"]] == [session_id(1)]
    assert sorted(item["type"] for item in gone["items"]) == ["subagent", "transcript"]
    assert here(root) == set()
    storage.subagent("atlas", session_id(2), "def5678", ["a late one"])
    fill(*storage.sources)
    assert here(root) == set()


def test_a_subagent_may_go_alone(storage: Storage, root: Path, fill: Fill) -> None:
    storage.subagent("atlas", session_id(2), "abc1234", [f"a {SECRET} cup"])
    storage.subagent("atlas", session_id(1), "abc1234", ["one of the same name"])
    fill(*storage.sources)

    pruned(root, type="subagent", before_at=datetime(2026, 3, 2))

    assert {"agent-abc1234"} & here(root) == set()
    assert {session_id(1), session_id(2)} <= here(root)


def test_prompts_of_a_history_go_with_their_session_and_catalogue_rows_where_asked_for(
    storage: Storage, root: Path, fill: Fill
) -> None:
    storage.log("atlas", log_row(session_id(1), f"The {SECRET}"), log_row(session_id(2), "Other"))
    history = storage.tree / "atlas" / "history.jsonl"
    prompts = [
        {"display": f"{SECRET} prompt", "timestamp": 1772359200000, "sessionId": session_id(1)},
        {"display": "other prompt", "timestamp": 1772359200000, "sessionId": session_id(2)},
    ]
    history.write_text("".join(json.dumps(prompt) + "\n" for prompt in prompts))
    fill(*storage.sources)

    kept = pruned(root, sids=(session_id(1),))
    archive = Archive(root, timezone="UTC")
    topics = set(column(archive, "select topic from catalogue"))
    assert holds(root, f"{SECRET} prompt") == []
    asked = pruned(root, sids=(session_id(1),), with_catalogue=True)

    assert (kept["prompts"], kept["catalogue_rows"]) == (1, 0)
    assert topics == {f"The {SECRET}", "Other", "other prompt"}
    assert (asked["total"], asked["prompts"], asked["catalogue_rows"]) == (1, 0, 1)
    assert holds(root, SECRET) == []
    archive = Archive(root, timezone="UTC")
    assert set(column(archive, "select topic from catalogue")) == {"Other", "other prompt"}
    assert recall(archive, SECRET)["total"] == 0
    # A log that grew is read again, and its row stays away.
    storage.log(
        "atlas",
        log_row(session_id(1), f"The {SECRET}"),
        log_row(session_id(2), "Other"),
        log_row(session_id(3), "New"),
    )
    fill(*storage.sources)
    assert holds(root, SECRET) == []
    assert "New" in column(archive, "select topic from catalogue")


def test_a_log_goes_where_it_is_named_as_type_and_stays_away_when_it_grows(
    storage: Storage, root: Path, fill: Fill
) -> None:
    storage.log("atlas", log_row(session_id(7), f"The {SECRET}"))
    fill(*storage.sources)

    pruned(root, type="log", host="atlas")
    storage.log("atlas", log_row(session_id(7), f"The {SECRET}"), log_row(session_id(8), "New"))
    fill(*storage.sources)

    assert holds(root, f"The {SECRET}") == []
    assert column(Archive(root, timezone="UTC"), "select topic from catalogue") == []
    assert here(root) == {session_id(1), session_id(2)}


def test_sessions_that_only_a_catalogue_knows_go_where_asked_for(
    storage: Storage, root: Path, fill: Fill
) -> None:
    storage.log(
        "atlas",
        log_row(session_id(7), f"The {SECRET}", at="2026-01-05 12:00"),
        log_row(session_id(8), "Later", at="2026-03-20 12:00"),
    )
    fill(*storage.sources)

    kept = pruned(root, before_at=datetime(2026, 2, 1), is_dry=True)
    gone = pruned(root, before_at=datetime(2026, 2, 1), with_catalogue=True)

    assert kept["total"] == 0
    assert [(item["type"], item["session_id"]) for item in gone["items"]] == [
        ("log", session_id(7))
    ]
    assert column(Archive(root, timezone="UTC"), "select topic from catalogue") == ["Later"]


def test_plans_memory_and_notes_go_with_their_copies(
    storage: Storage, root: Path, tmp_path: Path, fill: Fill
) -> None:
    text = f"# Kettles\n\nAll about {SECRET}.\n"
    home = tmp_path / "claude"
    storage.plan("atlas", "kettles.md", text)
    storage.memory("-home-ann-shop", "kettles.md", text)
    storage.note("-home-ann-shop", "kettles.md", text)
    storage.memory("-home-ann-garden", "beds.md", "# Beds\n")
    fill(*storage.sources)
    dry = pruned(root, project="shop", type="memory", is_dry=True)

    for type_ in ("plan", "memory", "note"):
        pruned(root, type=type_)
    for name in ("plans/kettles.md", "projects/-home-ann-shop/memory/kettles.md"):
        copy = home / name
        copy.parent.mkdir(parents=True)
        copy.write_text(text)
    fill(f"claude={home}", *storage.sources)

    assert [item["topic"] for item in dry["items"]] == ["Kettles"]
    types = column(Archive(root, timezone="UTC"), "select type from documents")
    assert set(types) == {"transcript"}
    assert holds(root, f"All about {SECRET}") == []


@pytest.mark.parametrize(
    "filters",
    [
        {"host": "nuthatch"},
        {"project": "o"},
        {"before_at": datetime(2026, 5, 1)},
        {"type": "transcript", "harness": "claude"},
        {"type": "memory"},
    ],
)
def test_a_pruned_archive_is_as_one_that_never_had_it(
    tmp_path: Path, root: Path, fill: Fill, filters: dict[str, Any]
) -> None:
    tree = tmp_path / "samples"
    shutil.copytree(SAMPLES, tree)
    sources = (
        f"claude={tree}/claude",
        f"scrubjay={tree}/scrubjay/storage",
        f"scrubjay-logs={tree}/scrubjay/data",
    )
    fill(*sources)
    places = "select source_root || '/' || source_path from stored_documents"
    before = set(column(Archive(root, timezone="UTC"), places))
    asked = "photos hash backup restore"

    answer = pruned(root, **filters)
    opened = Archive(root, timezone="UTC")
    gone = before - set(column(opened, places))
    sessions = {item["session_id"] for item in answer["items"]} - {None}
    for place in gone:
        Path(place).unlink()
    for history in tree.rglob("history.jsonl"):
        lines = history.read_text().split("\n")
        history.write_text(
            "\n".join("" if any(s in line for s in sessions) else line for line in lines)
        )
    fill(*sources, archive=tmp_path / "without")
    without = Archive(tmp_path / "without", timezone="UTC")

    assert gone
    catalogue = "select host, session_id, line, topic from catalogue order by all"
    for name, query in (*PUBLISHED.items(), ("catalogue", catalogue)):
        assert column(opened, query) == column(without, query), name
    assert recall(opened, asked) == recall(without, asked)


# -- what does not come back ----------------------------------------------------------------


def test_a_pruned_session_does_not_come_back_from_any_source_or_copy(
    storage: Storage, root: Path, tmp_path: Path, fill: Fill
) -> None:
    fill(*storage.sources)
    pruned(root, sids=(session_id(1),))
    write_session(tmp_path / "claude", 1, [f"a {SECRET} kettle", "and more"])
    storage.session("borealis", session_id(1), [f"a {SECRET} kettle"])
    readable = f"# a {SECRET} kettle\n\n_1 turns_\n\n## User\n\na {SECRET} kettle\n\n"
    storage.readable("atlas", f"2026-03-01_kettle__{session_id(1)[:8]}.md", readable)
    storage.session("atlas", session_id(1), [f"a {SECRET} kettle", "it goes on"])

    first = fill(f"claude={tmp_path}/claude", *storage.sources)
    second = fill(f"claude={tmp_path}/claude", *storage.sources)

    assert here(root) == {session_id(2)}
    assert holds(root, SECRET) == []
    assert (first.new, first.changed, first.pruned) == (0, 0, 4)
    assert (second.new, second.changed, second.pruned, second.unchanged) == (0, 0, 4, 1)
    assert second.generation == first.generation


def test_what_is_let_back_is_taken_in_again(storage: Storage, root: Path, fill: Fill) -> None:
    fill(*storage.sources)
    before = stored_rows(Archive(root, timezone="UTC"))
    pruned(root, project="shop")
    fill(*storage.sources)

    dry = let_back(root, is_dry=True)
    one = let_back(root, session_id(1)[:8])
    fill(*storage.sources)
    came_back = here(root)
    rest = let_back(root, is_all=True)
    fill(*storage.sources)

    assert {row["id"] for row in dry["tombstones"]} >= {session_id(1), session_id(2)}
    assert {row["id"] for row in one["tombstones"]} == {session_id(1), session_id(1)[:8]}
    assert came_back == {session_id(1)}
    assert rest["total"] == 2
    assert stored_rows(Archive(root, timezone="UTC")) == before
    manifest = newest_manifest(root, "tester")
    assert manifest is not None
    assert manifest.tombstones == {}


def test_what_is_let_back_has_to_be_named(storage: Storage, root: Path, fill: Fill) -> None:
    fill(*storage.sources)

    with pytest.raises(UsageError, match="--sid, or --all"):
        let_back(root)


def test_a_session_pruned_on_one_host_stays_on_another(
    storage: Storage, root: Path, fill: Fill
) -> None:
    storage.session("borealis", session_id(1), ["the same, elsewhere"])
    fill(*storage.sources)

    pruned(root, host="atlas", sids=(session_id(1),))
    fill(*storage.sources)

    query = f"select host from documents where session_id = '{session_id(1)}'"
    assert column(Archive(root, timezone="UTC"), query) == ["borealis"]


def test_an_older_copy_that_goes_leaves_the_newer_one_of_another_host(
    storage: Storage, root: Path, fill: Fill
) -> None:
    storage.session("borealis", session_id(1), ["it went on here"], day=20)
    fill(*storage.sources)

    answer = pruned(root, before_at=datetime(2026, 3, 5))

    assert [(item["host"], item["session_id"]) for item in answer["items"]] == [
        ("atlas", session_id(1))
    ]
    assert here(root) == {session_id(1), session_id(2)}


# -- several writers -----------------------------------------------------------------------


def test_other_writers_copies_are_hidden_at_once_and_removed_by_their_next_run(
    storage: Storage, root: Path, fill: Fill
) -> None:
    fill(*storage.sources, writer="other")
    answer = pruned(root, sids=(session_id(1),))

    hidden = here(root)
    still = holds(root, SECRET)
    archive = Archive(root, timezone="UTC")
    assert recall(archive, SECRET)["total"] == 0
    assert search(archive, SECRET)["total"] == 0
    assert usage(archive, by="session")["total"] == 1
    assert "error" in get(archive, session_id(1))
    fill(*storage.sources, writer="other")

    assert [(w["writer"], w["is_this"]) for w in answer["writers"]] == [("other", False)]
    assert hidden == {session_id(2)}
    assert still
    assert holds(root, SECRET) == []


def test_a_past_snapshot_does_not_show_what_was_pruned_since(
    storage: Storage, root: Path, fill: Fill
) -> None:
    fill(*storage.sources, writer="other")
    moment = utc_now()
    past = Archive(root, timezone="UTC", as_of=moment)
    before = past.ask(lambda view: view.rows("select 1 from documents"))
    pruned(root, sids=(session_id(1),))

    assert len(before) == 2
    for archive in (past, Archive(root, timezone="UTC", as_of=moment)):
        assert column(archive, "select session_id from documents") == [session_id(2)]


def test_any_writer_lets_back_what_another_pruned_even_by_a_clock_that_is_ahead(
    storage: Storage, root: Path, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(*storage.sources)
    with monkeypatch.context() as patch:
        patch.setattr("etl.prune.utc_now", lambda: datetime(2099, 1, 1, tzinfo=UTC))
        pruned(root, writer="other", sids=(session_id(1),))

    let_back(root, session_id(1))
    fill(*storage.sources)
    back = here(root)
    pruned(root, writer="other", sids=(session_id(1),))

    assert back == {session_id(1), session_id(2)}
    assert here(root) == {session_id(2)}


def keys_of(rows: list[Answer]) -> list[Key]:
    """Return keys of every kind that mean some of the documents."""
    keys = [Key("document", str(row["document"])) for row in rows]
    for row in rows:
        if row["session_id"]:
            keys += [Key("session", row["session_id"], host) for host in (None, row["host"], "x")]
        if row["sid"]:
            keys += [Key("handle", row["sid"]), Key("handle", row["sid"], "x")]
        if row["type"] in ("plan", "memory", "note"):
            keys.append(Key("text", text_id(row)))
        if row["type"] == "subagent":
            named = f"{row['parent_session_id']} {row['session_id']}"
            keys += [Key("subagent", named), Key("session", row["parent_session_id"])]
    return keys


def test_the_query_and_the_sieve_agree_on_every_sample(root: Path, fill: Fill) -> None:
    fill(f"scrubjay={SAMPLES}/scrubjay/storage", f"claude={SAMPLES}/claude")
    snapshot = read_snapshot(root)
    files = [root / segment.tables["documents"].path for segment in snapshot.segments]
    rows = [row for f in files for row in pq.read_table(f, columns=list(COLUMNS)).to_pylist()]
    keys = keys_of(rows)
    chance = random.Random(3)

    for _ in range(12):
        chosen = Pruned(dict.fromkeys(chance.sample(keys, 4), False))
        connection = connect(replace(snapshot, pruned=chosen))
        found = {row[0] for row in connection.execute("select document from pruned").fetchall()}

        assert found == Sieve.of(chosen, rows).documents
    assert {key.kind for key in keys} == {"document", "session", "handle", "text", "subagent"}


# -- tombstones ----------------------------------------------------------------------------


def test_of_several_tombstones_the_newest_counts() -> None:
    key, now = Key("session", "s"), datetime(2026, 3, 1, tzinfo=UTC)
    set_, lifted = Tombstone(now), Tombstone(now + timedelta(seconds=1), is_lifted=True)
    again = Tombstone(now + timedelta(seconds=2), with_catalogue=True)

    assert standing([{key: set_}]).keys == {key: False}
    for order in ([set_, lifted], [lifted, set_]):
        assert standing([{key: stone} for stone in order]).keys == {}
    assert standing([{key: again}, {key: lifted}, {key: set_}]).keys == {key: True}
    assert standing([]).digest == ""


def test_tombstones_read_back_as_they_were_written() -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    stones = {
        Key("session", f"s{n}", host): Tombstone(now + timedelta(days=n % 2), lifted, with_)
        for n, (host, lifted, with_) in enumerate(
            product((None, "a"), (False, True), (False, True))
        )
    }

    assert from_body(json.loads(json.dumps(body_of(stones)))) == stones


# -- killed, and read meanwhile ------------------------------------------------------------


def start(request: Answer) -> subprocess.Popen[bytes]:
    """Start a request as a process group of its own."""
    process = subprocess.Popen(
        [sys.executable, "-m", "etl", "--request"],
        env={**os.environ, "SJDUCK_WRITER": "tester"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(request).encode())
    process.stdin.close()
    process.stdin = None
    return process


def request(root: Path, *sids: str) -> Answer:
    """Return the request to prune some sessions."""
    return {"do": "prune", "archive": str(root), "is_quiet": True, "is_dry": False, "sids": sids}


def test_a_prune_killed_at_any_moment_is_finished_by_the_next_run(
    tmp_path: Path, root: Path, fill: Fill
) -> None:
    home = tmp_path / "claude"
    for number in range(12):
        text = f"{SECRET}{number:02} kettle" if number % 2 else f"{KEPT} kettle"
        write_session(home, number, [text, "and taste it"])
        if number % 4 == 3:
            fill(f"claude={home}")
    chance = random.Random(11)
    kills = 0
    for number in range(1, 12, 2):
        process = start(request(root, session_id(number)))
        try:
            process.communicate(timeout=chance.uniform(0.3, 1.2))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            kills += 1
        seen = session_id(number) in here(root)
        fill(f"claude={home}")
        if seen:
            # It had not begun: nothing of it is to be seen, and it can be done again.
            pruned(root, sids=(session_id(number),))
        assert holds(root, f"{SECRET}{number:02}") == []
        assert session_id(number) not in here(root)
    fill(f"claude={home}")

    assert here(root) == {session_id(number) for number in range(0, 12, 2)}
    assert recall(Archive(root, timezone="UTC"), KEPT)["total"] == 6


@pytest.mark.parametrize(
    "step",
    [
        "etl.prune.run_locked",
        "etl.holdings.rewritten",
        "etl.pipeline.build_index",
        "etl.pipeline.write_state",
        "etl.pipeline.manifests.thin",
        "etl.pipeline.manifests.sweep",
        "etl.pipeline.drop_states",
    ],
)
def test_a_prune_that_ends_at_a_step_is_finished_by_the_next_run(
    storage: Storage, root: Path, fill: Fill, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    fill(*storage.sources)
    storage.session("atlas", session_id(1), [f"a {SECRET} kettle", "and taste it", "again"])
    fill(*storage.sources)

    class Killed(BaseException):
        """As good as a kill: nothing catches it."""

    def killed(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(step, killed)
        with pytest.raises(Killed):
            pruned(root, sids=(session_id(1),))
    between = here(root)
    fill(*storage.sources)

    assert between == {session_id(2)}
    assert holds(root, SECRET) == []
    assert here(root) == {session_id(2)}
    assert recall(Archive(root, timezone="UTC"), KEPT)["total"] == 1


def test_readers_meanwhile_see_all_of_a_session_or_nothing(
    tmp_path: Path, root: Path, fill: Fill
) -> None:
    home = tmp_path / "claude"
    numbers = range(10)
    for number in numbers:
        write_session(home, number, [f"pot {number}", "and taste it"])
    fill(f"claude={home}")
    wrong: list[str] = []
    stop = threading.Event()

    def read() -> None:
        archive = Archive(root, timezone="UTC")
        while not stop.is_set():
            try:
                listed = list_documents(archive, limit=50, max_chars=0)["items"]
                answers = [get(archive, item["sid"]) for item in listed]
                shown = [a["content"] for a in answers if "error" not in a]
                if any(text.count("\n## ") != 4 for text in shown):
                    wrong.append("half a session")
                recall(archive, "taste")
            except SjduckError as error:
                wrong.append(str(error))

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for number in numbers[:6]:
        pruned(root, sids=(session_id(number),))
    stop.set()
    for reader in readers:
        reader.join()

    assert wrong == []
    assert here(root) == {session_id(number) for number in numbers[6:]}


def test_a_question_on_files_that_a_prune_removed_starts_over(
    storage: Storage, root: Path, fill: Fill
) -> None:
    fill(*storage.sources)
    archive = Archive(root, timezone="UTC")
    tries = 0

    def texts(view: View) -> list[str]:
        nonlocal tries
        tries += 1
        if tries == 1:
            pruned(root, sids=(session_id(1),))
        return [row["text"] for row in view.rows("select text from blocks where role = 'user'")]

    assert archive.ask(texts) == [f"a {KEPT} kettle"]
    assert tries == 2


# -- vacuum --------------------------------------------------------------------------------


def test_vacuum_merges_all_and_says_what_it_freed(
    storage: Storage, root: Path, fill: Fill, archive: Archive
) -> None:
    for number in range(3):
        storage.session("atlas", session_id(number), ["one", "two", "three", "four"])
        fill(*storage.sources)
    before, asked = stored_rows(archive), recall(archive, "one")
    settings = load(archive=str(root))

    merged = vacuum(settings, "tester", Quiet(), drop_history=False)
    held = merged["bytes_of_history"]
    dropped = vacuum(settings, "tester", Quiet(), drop_history=True)

    manifest = newest_manifest(root, "tester")
    assert manifest is not None
    assert [len(s.dead) for s in manifest.segments] == [0]
    assert [len(i.dead) for i in manifest.indexes] == [0]
    assert merged["merged"] > 0
    assert held > 0
    assert (dropped["freed"], dropped["bytes_of_history"]) == (held, 0)
    assert dropped["bytes_before"] - dropped["bytes_after"] == held
    assert stored_rows(Archive(root, timezone="UTC")) == before
    assert recall(Archive(root, timezone="UTC"), "one") == asked


def test_vacuum_sweeps_what_no_manifest_names(storage: Storage, root: Path, fill: Fill) -> None:
    fill(*storage.sources)
    stray = root / "blocks" / "host=atlas" / "year=2026" / "tester-00000009-abcdef-1.parquet"
    stray.write_bytes(b"PAR1" * 100)

    answer = vacuum(load(archive=str(root)), "tester", Quiet(), drop_history=False)

    assert answer["freed"] == 400
    assert not stray.exists()


# -- the commands --------------------------------------------------------------------------


def ran(root: Path, *arguments: str) -> Ran:
    """Run a command as a process of its own."""
    done = process(arguments[0], "--archive", str(root), *arguments[1:])
    return Ran(done.returncode, done.stdout, done.stderr)


def test_prune_on_the_command_line(storage: Storage, root: Path, fill: Fill) -> None:
    fill(*storage.sources)
    fill(*storage.sources, writer="other")

    refused = ran(root, "prune")
    dry = ran(root, "prune", "--before", "2026-03-02", "--tz", "UTC")
    wet = ran(root, "prune", "--older-than", "1d", "--sid", session_id(1)[:8], "--yes", "--json")
    listed = ran(root, "prune", "--forget")
    back = ran(root, "prune", "--forget", "--all", "--yes")

    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("sjduck: name what to prune: --before, --older-than, ")
    assert dry.code == 0
    assert SECRET in dry.out
    assert KEPT not in dry.out
    assert "would go: 1 document (1 session, " in dry.err
    assert "files of other on testhost: no longer shown, and removed by its next" in dry.err
    assert dry.err.rstrip().endswith("a dry run: nothing was removed; with --yes it is")
    assert (wet.code, wet.json["total"], wet.json["is_dry"]) == (0, 1, False)
    assert session_id(1) in listed.out
    assert "2 let back: the next 'sjduck etl' takes in what is still there" in back.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--before", "yesterday"], "can't read since='yesterday'"),
        (["--older-than", "2026-01-01"], "can't read older-than='2026-01-01'; write 90d"),
        (["--all", "--yes"], "--all goes with --forget"),
        (["--forget", "--host", "atlas"], "--forget goes with --sid or --all alone"),
        (["--forget", "--yes"], "name what to let back"),
        (["--type", "novel"], "invalid value for '--type'"),
    ],
)
def test_bad_usage_of_prune_is_one_line(
    storage: Storage, root: Path, fill: Fill, arguments: list[str], says: str
) -> None:
    fill(*storage.sources)

    refused = ran(root, "prune", *arguments)

    assert (refused.code, refused.out) == (2, "")
    assert says in refused.err
    assert len(refused.err.splitlines()) == 1


def test_vacuum_on_the_command_line(storage: Storage, root: Path, fill: Fill) -> None:
    fill(*storage.sources)

    done = ran(root, "vacuum", "--drop-history")
    empty = ran(root / "none", "vacuum")

    assert done.code == 0
    assert done.out.startswith("0 B freed; ")
    assert (empty.code, empty.err.count("\n")) == (3, 1)


def test_filters_are_what_a_request_says() -> None:
    assert asdict(Filters()) == {
        "before_at": None, "host": None, "project": None, "harness": None, "type": None,
        "sids": (), "with_catalogue": False,
    }  # fmt: skip
