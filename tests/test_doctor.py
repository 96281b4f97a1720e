"""doctor: damage is found and said with its remedy; what can be repaired is, nothing deleted."""

import json
import os
import socket
import sqlite3
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from etl.pipeline import run as run_etl
from etl.repair import repair
from sjduck.archive import Archive
from sjduck.doctor import diagnose, lines
from sjduck.integrity import verify
from sjduck.reading import get
from sjduck.recall import recall
from sjduck.settings import load
from sjduck.snapshots import (
    manifest_folder,
    manifest_name,
    newest_manifest,
    read_snapshot,
    utc_now,
)
from tests.conftest import Fill, Quiet
from tests.test_cli import Ran, process
from tests.trees import session_id, stored_rows, write_session

Answer = dict[str, Any]


@pytest.fixture
def claude(home: Path) -> Path:
    """Return this machine's Claude Code home with three sessions, which sjduck finds by itself."""
    folder = home / ".claude"
    for number in range(3):
        write_session(folder, number, [f"brew pot {number}", "and taste it"])
    return folder


@pytest.fixture
def filled(claude: Path, root: Path) -> Path:
    """Return the archive, filled from this machine's sessions."""
    run_etl(load(archive=str(root)), "tester", Quiet())
    return root


def fixed(root: Path) -> Answer:
    """Return what a repair did."""
    return repair(load(archive=str(root)), "tester", Quiet())


def found(root: Path, level: str = "serious") -> list[str]:
    """Return what doctor says of one level."""
    findings = diagnose(str(root))["findings"]
    assert all(finding["remedy"] or finding["level"] == "info" for finding in findings)
    return [finding["what"] for finding in findings if finding["level"] == level]


def file_of(root: Path, table: str) -> Path:
    """Return the one live file of a table."""
    ((segment,),) = (m.segments for m in read_snapshot(root).manifests)
    return root / segment.tables[table].path


def index_of(root: Path) -> Path:
    """Return the one index file."""
    return next((root / "index").rglob("*.duckdb"))


def flip(file: Path, at: float = 0.5) -> None:
    """Change one byte in the middle of a file."""
    content = bytearray(file.read_bytes())
    content[int(len(content) * at)] ^= 0xFF
    file.write_bytes(content)


def cut(file: Path) -> None:
    """Leave the first half of a file."""
    os.truncate(file, file.stat().st_size // 2)


def test_an_archive_that_is_well_has_no_finding(filled: Path) -> None:
    answer = diagnose(str(filled))

    assert answer["findings"] == []
    assert (answer["serious"], answer["warning"], answer["info"]) == (0, 0, 0)


def test_what_was_never_filled_is_no_damage(root: Path, claude: Path) -> None:
    answer = diagnose(str(root))

    assert [finding["what"] for finding in answer["findings"]] == [
        "claude source is not taken in yet", "never filled",
    ]  # fmt: skip
    assert not root.exists()


# -- damaged files -------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["documents", "blocks", "calls"])
@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (flip, "data file its checksum is wrong"),
        (cut, "data file has "),
        (Path.unlink, "data file is missing"),
    ],
)
def test_a_damaged_data_file_is_found_and_taken_in_again_from_its_source(
    filled: Path, archive: Archive, table: str, damage: Callable[[Path], None], what: str
) -> None:
    before = stored_rows(archive)
    file = file_of(filled, table)
    damage(file)

    said = found(filled)
    done = fixed(filled)

    assert len(said) == 1
    assert said[0].startswith(what)
    assert (done["retaken"], done["kept"], done["lost"]) == (3, 0, [])
    assert found(filled) == []
    assert stored_rows(Archive(filled, timezone="UTC")) == before
    moved = filled / "quarantine" / file.relative_to(filled)
    assert moved.exists() == (damage is not Path.unlink)
    assert verify(filled)["damaged"] == []


@pytest.mark.parametrize("damage", [flip, cut, Path.unlink])
def test_a_damaged_index_is_found_and_built_anew(
    filled: Path, archive: Archive, damage: Callable[[Path], None]
) -> None:
    before = recall(archive, "brew taste")
    index = index_of(filled)
    damage(index)

    said = found(filled)
    done = fixed(filled)

    assert said[0].startswith("index file, so that recall and search lack its documents,")
    assert (done["retaken"], done["indexed"]) == (0, 3)
    assert found(filled) == []
    assert recall(Archive(filled, timezone="UTC"), "brew taste") == before
    assert (filled / "quarantine" / index.relative_to(filled)).exists() == (
        damage is not Path.unlink
    )


def test_a_footer_that_lies_is_found_without_checksums(filled: Path) -> None:
    blocks = file_of(filled, "blocks")
    blocks.write_bytes(bytes(blocks.stat().st_size))

    quick = diagnose(str(filled), with_checksums=False)

    assert "its footer can't be read" in quick["findings"][0]["what"]
    assert quick["serious"] == 1


def test_a_document_whose_source_is_gone_is_lost_and_said_to_be(filled: Path, claude: Path) -> None:
    gone = next(claude.rglob(f"{session_id(1)}.jsonl"))
    gone.unlink()
    flip(file_of(filled, "documents"))

    done = fixed(filled)

    assert done["retaken"] == 2
    assert [row["path"] for row in done["lost"]] == [f"projects/-home-ann-shop/{gone.name}"]
    assert found(filled) == []
    moved = {path.name for path in (filled / "quarantine").rglob("*.parquet")}
    assert len(moved) == 1
    assert len([*(filled / "quarantine").rglob("*.parquet")]) == 3


def readables(root: Path) -> dict[str, str]:
    """Return the readable of each of the three sessions that is there."""
    archive = Archive(root, timezone="UTC")
    answers = {session_id(n): get(archive, session_id(n)) for n in range(3)}
    return {session: a["content"] for session, a in answers.items() if "error" not in a}


def test_documents_without_source_are_kept_without_their_calls(filled: Path, claude: Path) -> None:
    before = readables(filled)
    for file in claude.rglob("*.jsonl"):
        file.unlink()
    flip(file_of(filled, "calls"))

    done = fixed(filled)

    assert (done["retaken"], done["kept"], done["lost"]) == (0, 3, [])
    assert "3 documents were kept without their calls" in done["warnings"]
    assert readables(filled) == before
    assert found(filled) == []


@pytest.mark.parametrize("at", [n / 16 for n in range(16)])
def test_documents_without_source_are_kept_where_their_blocks_prove_themselves(
    root: Path, claude: Path, at: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("etl.segments.ROW_GROUP_BYTES", 1)
    run_etl(load(archive=str(root)), "tester", Quiet())
    before = readables(root)
    for file in claude.rglob("*.jsonl"):
        file.unlink()
    flip(file_of(root, "blocks"), at)

    done = fixed(root)

    lost = {row["session_id"] for row in done["lost"]}
    assert done["kept"] + len(lost) == 3
    assert readables(root) == {s: text for s, text in before.items() if s not in lost}
    assert found(root) == []
    found_again = recall(Archive(root, timezone="UTC"), "brew")["total"]
    assert found_again == done["kept"]


def test_a_source_that_is_away_loses_nothing_for_good(
    filled: Path, claude: Path, tmp_path: Path
) -> None:
    before = stored_rows(Archive(filled, timezone="UTC"))
    claude.rename(tmp_path / "away")
    flip(file_of(filled, "documents"))

    lost = fixed(filled)["lost"]
    (tmp_path / "away").rename(claude)
    run_etl(load(archive=str(filled)), "tester", Quiet())

    assert len(lost) == 3
    assert stored_rows(Archive(filled, timezone="UTC")) == before


def test_damage_in_older_snapshots_is_a_warning_and_they_are_dropped(
    filled: Path, claude: Path
) -> None:
    old = index_of(filled)
    write_session(claude, 5, ["one more pot"])
    run_etl(load(archive=str(filled)), "tester", Quiet())
    assert old.exists()
    newest = newest_manifest(filled, "tester")
    assert newest is not None
    is_live = old.relative_to(filled).as_posix() in {index.path for index in newest.indexes}
    flip(old)

    said = found(filled, "serious" if is_live else "warning")
    fixed(filled)

    assert len(said) == 1
    assert verify(filled)["damaged"] == []
    assert found(filled, "warning") == []


@pytest.mark.parametrize(
    "step",
    ["etl.pipeline.write_state", "etl.pipeline.settle", "etl.pipeline.manifests.thin",
     "etl.quarantine.os.replace"],
)  # fmt: skip
def test_a_repair_that_ends_at_a_step_loses_nothing_and_is_finished(
    filled: Path, claude: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    before = stored_rows(Archive(filled, timezone="UTC"))
    file = file_of(filled, "blocks")
    flip(file)
    damaged = file.read_bytes()

    class Killed(BaseException):
        """As good as a kill: nothing catches it."""

    def killed(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(step, killed)
        with pytest.raises(Killed):
            fixed(filled)
    run_etl(load(archive=str(filled)), "tester", Quiet())
    fixed(filled)

    assert found(filled) == []
    assert stored_rows(Archive(filled, timezone="UTC")) == before
    assert damaged in [path.read_bytes() for path in (filled / "quarantine").rglob("*.parquet")]


# -- manifests -----------------------------------------------------------------------------


def tear(root: Path) -> None:
    """Damage the newest manifest."""
    manifest = newest_manifest(root, "tester")
    assert manifest is not None
    cut(manifest_folder(root, "tester") / manifest_name(manifest.generation))


def test_a_torn_only_manifest_is_made_anew_from_the_files(
    filled: Path, claude: Path, archive: Archive
) -> None:
    before, asked = stored_rows(archive), recall(archive, "brew taste")
    next(claude.rglob(f"{session_id(1)}.jsonl")).unlink()
    tear(filled)

    said = found(filled)
    done = fixed(filled)

    assert "manifest, so that what it alone named is not shown, is not whole" in said
    assert "no manifest of this writer is whole: nothing of it is shown" in said
    assert done["lost"] == []
    assert found(filled) == []
    opened = Archive(filled, timezone="UTC")
    after = stored_rows(opened)
    assert {name: rows for name, rows in after.items() if name != "documents"} == {
        name: rows for name, rows in before.items() if name != "documents"
    }
    assert recall(opened, "brew taste") == asked
    assert (filled / "quarantine" / "manifests" / "tester" / manifest_name(1)).exists()


def test_a_torn_newest_manifest_gives_back_what_it_alone_named(filled: Path, claude: Path) -> None:
    file = write_session(claude, 7, ["a pot that only the newest knows"])
    run_etl(load(archive=str(filled)), "tester", Quiet())
    write_session(claude, 1, ["brew pot 1", "and taste it", "again"])
    run_etl(load(archive=str(filled)), "tester", Quiet())
    before = stored_rows(Archive(filled, timezone="UTC"))
    file.unlink()
    for number in (2, 3):
        cut(manifest_folder(filled, "tester") / manifest_name(number))

    done = fixed(filled)

    assert done["lost"] == []
    after = stored_rows(Archive(filled, timezone="UTC"))
    assert after["blocks"] == before["blocks"]
    assert found(filled) == []


def test_what_a_torn_manifest_alone_named_comes_back_also_after_another_run(
    filled: Path, claude: Path
) -> None:
    before = stored_rows(Archive(filled, timezone="UTC"))
    gone = next(claude.rglob(f"{session_id(1)}.jsonl"))
    tear(filled)
    gone.rename(claude / "aside")
    report = run_etl(load(archive=str(filled)), "tester", Quiet())
    lacking = len(stored_rows(Archive(filled, timezone="UTC"))["documents"])

    said = found(filled)
    fixed(filled)
    (claude / "aside").rename(gone)
    run_etl(load(archive=str(filled)), "tester", Quiet())

    assert any("the newest manifest is torn" in warning for warning in report.warnings)
    assert (lacking, len(said)) == (2, 1)
    assert found(filled) == []
    assert stored_rows(Archive(filled, timezone="UTC")) == before


def test_no_run_sweeps_what_a_torn_manifest_may_name(filled: Path, claude: Path) -> None:
    write_session(claude, 7, ["a pot that only the newest knows"])
    run_etl(load(archive=str(filled)), "tester", Quiet())
    tear(filled)
    files = set(filled.rglob("*.parquet"))
    (manifest_folder(filled, "tester") / "running").touch()

    run_etl(load(archive=str(filled)), "tester", Quiet())

    assert files <= set(filled.rglob("*.parquet"))


def test_a_lost_state_is_a_warning(filled: Path) -> None:
    manifest = newest_manifest(filled, "tester")
    assert manifest is not None
    (manifest_folder(filled, "tester") / manifest.state).unlink()

    assert found(filled, "warning") == ["what this writer remembers of its sources is lost"]
    assert fixed(filled)["retaken"] == 0
    assert found(filled, "warning") == []


def test_a_manifest_from_the_future_is_a_warning(filled: Path) -> None:
    manifest = newest_manifest(filled, "tester")
    assert manifest is not None
    later = replace(manifest, generation=2, created_at=utc_now() + timedelta(hours=30))
    (manifest_folder(filled, "tester") / manifest_name(2)).write_bytes(later.dumps())

    assert found(filled, "warning") == ["the newest snapshot is 30 hours in the future"]


def test_a_newer_format_is_said_and_left_alone(filled: Path) -> None:
    file = manifest_folder(filled, "tester") / manifest_name(1)
    file.write_bytes(file.read_bytes().replace(b'"format":1', b'"format":9'))

    (said,) = found(filled)

    assert said.endswith("upgrade sjduck")


# -- the rest ------------------------------------------------------------------------------


def test_a_bad_configuration_is_a_finding_and_its_archive_is_looked_at(
    filled: Path, home: Path
) -> None:
    config = home / ".config" / "sjduck" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'archive = "{filled}"\ntimezone = "Mars"\n')
    flip(file_of(filled, "blocks"))

    answer = diagnose()

    assert answer["archive"] == str(filled)
    assert answer["findings"][0]["what"].startswith("the configuration can't be taken: ")
    assert answer["findings"][0]["where"] == str(config)
    assert answer["serious"] == 2


def test_modes_that_let_others_read_are_found_and_narrowed(filled: Path) -> None:
    file_of(filled, "blocks").chmod(0o644)
    (filled / "index").chmod(0o755)

    said = found(filled, "warning")
    done = fixed(filled)

    assert said == ["2 files or folders are open to others than the archive's folder is"]
    assert done["closed"] == 2
    assert found(filled, "warning") == []


def test_a_killed_run_is_a_note_and_one_that_is_on_is_none(filled: Path) -> None:
    folder = manifest_folder(filled, "tester")
    (folder / "running").touch(mode=0o600)
    killed = found(filled, "info")
    holder = {"pid": os.getpid(), "host": socket.gethostname()}
    (folder / "holder").write_text(json.dumps(holder))
    (folder / "holder").chmod(0o600)

    assert killed == ["its last run was killed"]
    assert found(filled, "info") == []


def test_files_that_no_manifest_names_are_a_note(filled: Path) -> None:
    stray = file_of(filled, "blocks").with_name("tester-00000009-abcdef-1.parquet")
    stray.write_bytes(b"PAR1")
    stray.chmod(0o600)

    (note,) = found(filled, "info")

    assert note.startswith("1 files (0.0 MB) that no manifest names")


@pytest.mark.parametrize("kind", ["codex", "gemini", "scrubjay", "scrubjay-logs", "opencode"])
def test_a_source_that_is_away_or_empty_is_a_warning(
    filled: Path, home: Path, tmp_path: Path, kind: str
) -> None:
    config = home / ".config" / "sjduck" / "config.toml"
    config.parent.mkdir(parents=True)
    place = tmp_path / "nas" / kind
    config.write_text(f'[[source]]\nkind = "{kind}"\npath = "{place}"\n')

    away = found(filled, "warning")
    place.mkdir(parents=True)
    empty = found(filled, "warning")

    assert away == [f"{kind} source is not there"]
    assert len(empty) == 1
    assert empty[0].startswith(f"{kind} source holds no")


def test_no_source_at_all_is_serious(filled: Path, claude: Path, home: Path) -> None:
    config = home / ".config" / "sjduck" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('this_machine = false\n[[source]]\nkind = "scrubjay"\npath = "/nowhere"\n')

    assert found(filled) == ["no source can be read: nothing is taken in"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_files_that_can_not_be_read_are_a_warning(filled: Path, claude: Path) -> None:
    next(claude.rglob("*.jsonl")).chmod(0)

    assert found(filled, "warning") == ["1 files or folders of the claude source can't be read"]


def test_files_from_the_future_are_a_warning(filled: Path, claude: Path) -> None:
    later = time.time() + 10 * 24 * 3600
    os.utime(next(claude.rglob("*.jsonl")), (later, later))

    assert found(filled, "warning") == ["1 files of the claude source are from the future"]


def test_a_database_that_is_none_is_a_warning(filled: Path, home: Path) -> None:
    folder = home / ".local" / "share" / "opencode"
    folder.mkdir(parents=True)
    database = folder / "opencode.db"
    database.write_bytes(b"no database at all, but long enough to be looked at\n" * 40)

    (said,) = found(filled, "warning")
    database.unlink()
    with sqlite3.connect(database) as connection:
        connection.execute("create table session (id text primary key)")
    connection.close()

    assert said == "opencode.db: the database can't be read: file is not a database"
    assert found(filled, "warning") == []


def ran_days_ago(root: Path, days: float) -> None:
    """Date the last run back."""
    file = manifest_folder(root, "tester") / "last-run"
    report = json.loads(file.read_text())
    report["started_at"] = (utc_now() - timedelta(days=days)).isoformat(timespec="seconds")
    file.write_text(json.dumps(report))


@pytest.mark.parametrize(
    ("written", "days_ago", "says"),
    [
        (None, 14, ""),
        (None, 16, "after 30 days"),
        ({"cleanupPeriodDays": 7}, 3, ""),
        ({"cleanupPeriodDays": 7}, 4, "after 7 days"),
        ({"cleanupPeriodDays": 99999}, 300, ""),
        ({"cleanupPeriodDays": 0}, 0, "keeps no transcripts"),
        ({"cleanupPeriodDays": "7"}, 1, "is no number of days"),
        ({"cleanupPeriodDays": True}, 1, "is no number of days"),
        ({"cleanupPeriodDays": -1}, 1, "is no number of days"),
        ({"cleanupPeriodDays": None}, 1, ""),
        ([], 1, ""),
        ("{", 1, "are no JSON"),
    ],
)
def test_runs_that_are_rarer_than_claude_code_deletes_are_a_warning(
    filled: Path, claude: Path, written: Any, days_ago: float, says: str
) -> None:
    if written is not None:
        text = written if isinstance(written, str) else json.dumps(written)
        (claude / "settings.json").write_text(text)
    ran_days_ago(filled, days_ago)

    said = found(filled, "warning")

    assert len(said) == bool(says)
    assert all(says in what for what in said)


def test_an_extension_that_does_not_load_is_serious(
    filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sjduck.fulltext._extension_file", lambda: "/nowhere/fts.duckdb_extension")

    (said,) = found(filled)

    assert said.startswith("the search extension can't be loaded: ")


def test_little_room_on_the_disk_is_said(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sjduck.doctor.machine._FEW_BYTES", 2**80)

    (said,) = found(filled, "warning")

    assert said.endswith(" MB are left on the archive's disk")


def test_other_writers_damage_is_said_and_left_to_them(
    filled: Path, tmp_path: Path, fill: Fill
) -> None:
    write_session(tmp_path / "other", 8, ["somebody else's pot"])
    fill(f"claude={tmp_path}/other", writer="other")
    file = next(filled.rglob("blocks/**/other-*.parquet"))
    flip(file)

    done = fixed(filled)

    assert done["damaged"] == []
    assert [row["writer"] for row in done["others"]] == ["other"]
    assert file.exists()
    assert len(found(filled)) == 1


def test_findings_read_as_text(filled: Path) -> None:
    flip(file_of(filled, "blocks"))

    what, remedy = lines(diagnose(str(filled)))

    assert what.startswith("serious  data file its checksum is wrong (blocks/host=testhost/")
    assert remedy == "         → run 'sjduck doctor --fix' on the machine of this writer"


# -- the commands --------------------------------------------------------------------------


def ran(*arguments: str) -> Ran:
    """Run a command as a process of its own."""
    done = process(*arguments)
    return Ran(done.returncode, done.stdout, done.stderr)


def test_the_command_exits_with_1_until_it_is_fixed(filled: Path) -> None:
    flip(file_of(filled, "blocks"))

    sick = ran("doctor", "--archive", str(filled), "--json")
    fixing = ran("doctor", "--archive", str(filled), "--fix")
    well = ran("doctor", "--archive", str(filled), "--json")

    assert (sick.code, sick.json["serious"]) == (1, 1)
    assert (fixing.code, well.code) == (0, 0)
    assert "repaired 3 documents taken in again from their sources" in fixing.out
    assert "→ quarantine/blocks/" in fixing.out
    assert [f["what"] for f in well.json["findings"]] == ["3 damaged files lie aside"]


def test_snapshots_verify_has_a_line_for_each_damaged_file(filled: Path) -> None:
    whole = ran("snapshots", "--archive", str(filled), "--verify")
    flip(file_of(filled, "documents"))
    index_of(filled).unlink()
    damaged = ran("snapshots", "--archive", str(filled), "--verify")
    as_json = ran("snapshots", "--archive", str(filled), "--verify", "--json")

    assert (whole.code, whole.out) == (0, "")
    assert damaged.code == as_json.code == 1
    assert [line.split(": ", 1)[1] for line in damaged.out.splitlines()] == [
        "its checksum is wrong", "is missing",
    ]  # fmt: skip
    assert [row["what"] for row in as_json.json["damaged"]] == [
        "its checksum is wrong", "is missing",
    ]  # fmt: skip
