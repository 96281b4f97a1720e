"""Secrets in an archive: masked as they are taken in, masked afterwards, let back, and listed."""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from etl import pipeline
from etl.files import Modes
from etl.pipeline import run
from etl.report import Report
from etl.salvage import Remains
from etl.state import read_state
from etl.vacuum import vacuum
from sjduck import masking
from sjduck.archive import Archive
from sjduck.bounds import MAX_FIELD_CHARACTERS
from sjduck.clients.registering import _local_server
from sjduck.context import context
from sjduck.doctor import diagnose
from sjduck.doctor.secrets import secrets
from sjduck.errors import SjduckError
from sjduck.freesql import sql
from sjduck.listing import list_documents
from sjduck.reading import get
from sjduck.recall import recall
from sjduck.search import search
from sjduck.server.resources import read
from sjduck.settings import load
from sjduck.snapshots import newest_manifest, read_snapshot
from sjduck.status import status
from sjduck.within import search_within
from tests.conftest import Fill, Quiet
from tests.invented import AWS, GITHUB, KEY_LINES, PASSWORD, private_key
from tests.storage import Storage, log_row, whole
from tests.test_cli import process
from tests.test_prune import holds
from tests.trees import session_id, write_session

ALL = (AWS, GITHUB, PASSWORD, KEY_LINES[0])
PROMPTS = [
    f"the kettle's key is {AWS}\nkeep it warm",
    f"here is how it starts:\n{private_key()}\nand so on",
    f'export GITHUB_TOKEN="{GITHUB}"\nmake tea',
]
MASK = "[secret: AWS access key]"


def filled(root: Path, redact: str | None, *sources: str, writer: str = "tester") -> Report:
    """Take sources in with a setting of `redact`."""
    settings = replace(load(archive=str(root), sources=sources), redact=redact)
    return run(settings, writer, Quiet())


def opened(root: Path, redact: str | None = None) -> Archive:
    """Open an archive with a setting of `redact`."""
    return Archive(root, timezone="UTC", redact=redact)


def left(root: Path, *texts: str) -> list[str]:
    """Return the files in which one of some texts stands, also as the index writes it."""
    return [file for text in texts for form in (text, text.lower()) for file in holds(root, form)]


def stored(root: Path, table: str) -> list[dict[str, Any]]:
    """Return the live rows of one table, as they are stored."""
    return [
        row
        for segment in read_snapshot(root).segments
        if table in segment.tables
        for row in pq.read_table(root / segment.tables[table].path).to_pylist()
        if row["document"] not in segment.dead
    ]


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    """Return a Claude Code home with a session that tells secrets, and one that has none."""
    folder = tmp_path / "claude"
    write_session(folder, 1, PROMPTS)
    write_session(folder, 2, ["a calm pot of tea"], day=9)
    return folder


@pytest.fixture
def source(claude: Path) -> str:
    """Return the flag that names the home."""
    return f"claude={claude}"


# -- taken in ------------------------------------------------------------------------------


def test_what_is_taken_in_is_masked_in_text_and_index(root: Path, source: str) -> None:
    report = filled(root, "secrets", source)

    assert left(root, *ALL) == []
    # Each prompt is said again by the assistant and the tool.
    assert report.masked == {"AWS access key": 3, "private key": 3, "GitHub token": 3}
    assert report.masked_documents == 1
    assert search(opened(root), "kettle")["total"] == 2
    assert search(opened(root), AWS)["total"] == 0


def test_masking_moves_no_line_and_changes_no_count(
    tmp_path: Path, root: Path, source: str
) -> None:
    filled(root, "secrets", source)
    filled(plain := tmp_path / "plain", None, source)

    for table, changed in (("documents", {"first_prompt"}), ("blocks", {"text"}), ("calls", set())):
        masked, as_it_was = stored(root, table), stored(plain, table)
        assert masked != as_it_was or not changed
        for row in (*masked, *as_it_was):
            for name in changed:
                del row[name]
        assert masked == as_it_was
    shown, was = (whole(opened(place), session_id(1)) for place in (root, plain))
    assert shown.count("\n") == was.count("\n")
    assert [line for line in shown.split("\n") if "[secret: " not in line] == [
        line for line in was.split("\n") if not any(s in line for s in (*ALL, *KEY_LINES))
    ]


def test_titles_topics_rejects_and_cut_prompts_are_masked(tmp_path: Path, root: Path) -> None:
    storage = Storage(tmp_path)
    storage.session(
        "atlas", session_id(1), ["x" * 1_985 + " " + AWS],
        more=[{"type": "ai-title", "aiTitle": f"About {AWS}", "sessionId": session_id(1)}],
    )  # fmt: skip
    storage.note("-home-ann-shop", "n.md", f"# Kettle {AWS}\n\nwarm\n")
    storage.log("atlas", log_row(session_id(1), f"Topic {AWS}", rest=f" | note=see {GITHUB}"))
    broken = storage.session("atlas", session_id(2), ["tea"])
    broken.write_text(f'{{"key": "{AWS}", ' + "\n" + "y" * 185 + AWS + "\n" + broken.read_text())
    filled(root, "secrets", *storage.sources)

    assert left(root, AWS, GITHUB, AWS[:15]) == []
    assert {row["ai_title"] for row in stored(root, "documents")} >= {f"About {MASK}"}
    assert [row["topic"] for row in stored(root, "catalogue")] == [f"Topic {MASK}"]


def test_without_the_library_a_run_fails_and_stores_nothing(
    root: Path, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "detect_secrets", None)
    monkeypatch.setitem(sys.modules, "detect_secrets.plugins.aws", None)
    masking._rules.cache_clear()
    masking.hint.cache_clear()

    with pytest.raises(SjduckError, match=r"pip install 'sjduck\[secrets\]'"):
        filled(root, "secrets", source)
    assert read_snapshot(root).segments == []
    filled(root, None, source)
    with pytest.raises(SjduckError, match=r"pip install 'sjduck\[secrets\]'"):
        get(opened(root, "secrets"), session_id(1))


# -- masked afterwards ---------------------------------------------------------------------


def test_turning_it_on_masks_what_is_stored_in_every_generation_without_sources(
    root: Path, claude: Path, source: str
) -> None:
    filled(root, None, source)
    write_session(claude, 1, [*PROMPTS, "more"])
    filled(root, None, source)
    (claude / "projects").rename(claude / "away")
    (claude / "projects").mkdir()
    report = filled(root, "secrets", source)

    assert left(root, *ALL) == []
    assert report.masked["private key"] == 3
    assert sum(len(segment.masked) for segment in read_snapshot(root).segments) == 1
    assert recall(opened(root), "kettle warm")["count"] == 1
    assert list_documents(opened(root))["total"] == 2


def test_masking_once_more_does_nothing(root: Path, source: str) -> None:
    filled(root, None, source)
    first = filled(root, "secrets", source)
    second = filled(root, "secrets", source)

    assert second.generation == first.generation
    assert not second.masked


def test_what_holds_no_secret_is_not_written_anew_and_keeps_its_history(
    tmp_path: Path, root: Path
) -> None:
    write_session(home := tmp_path / "calm", 2, ["tea"])
    filled(root, None, f"claude={home}")
    (before,) = read_snapshot(root).segments
    filled(root, "secrets", f"claude={home}")
    (after,) = read_snapshot(root).segments

    assert after.name == before.name
    assert after.masked_by
    assert len(list((root / "manifests" / "tester").glob("*.json"))) == 2


def test_new_rules_look_through_what_older_ones_masked(
    root: Path, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        older.setattr(masking, "_rules", lambda: ())
        older.setattr(masking, "hint", lambda: "PRIVATE KEY")
        older.setattr(masking, "_RULES", 0)
        filled(root, "secrets", source)
    assert left(root, AWS)

    filled(root, "secrets", source)

    assert left(root, *ALL) == []
    (segment,) = read_snapshot(root).segments
    assert sum(segment.masked.values()) == 9


def test_a_run_killed_before_it_swept_is_finished_by_the_next(
    root: Path, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(root, None, source)
    with monkeypatch.context() as killed:
        killed.setattr(pipeline._Run, "_clean", _raise)
        with pytest.raises(KeyboardInterrupt):
            filled(root, "secrets", source)
    assert left(root, AWS)

    filled(root, "secrets", source)

    assert left(root, *ALL) == []


def _raise(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_a_run_killed_before_it_published_is_done_by_the_next(
    root: Path, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(root, None, source)
    with monkeypatch.context() as killed:
        killed.setattr(pipeline._Run, "_publish", _raise)
        with pytest.raises(KeyboardInterrupt):
            filled(root, "secrets", source)
    assert MASK not in whole(opened(root, "off"), session_id(1))

    filled(root, "secrets", source)

    assert left(root, *ALL) == []


def test_merges_and_repairs_keep_what_is_known_to_be_masked(
    root: Path, claude: Path, source: str
) -> None:
    filled(root, "secrets", source)
    write_session(claude, 3, [f"a spout, {AWS}"])
    filled(root, "secrets", source)
    settings = replace(load(archive=str(root)), redact="secrets")
    vacuum(settings, "tester", Quiet(), drop_history=False)
    (segment,) = read_snapshot(root).segments

    assert segment.masked_by
    assert sorted(segment.masked.values()) == [3, 9]


def test_of_damaged_blocks_those_are_kept_that_were_masked(root: Path, source: str) -> None:
    filled(root, "secrets", source)
    manifest = newest_manifest(root, "tester")
    assert manifest is not None
    state = read_state(root, manifest)
    assert state is not None
    (segment,) = manifest.segments
    # Nothing of them is damaged, so all of them are whole, though their hash is another.
    remains = Remains(root, segment, {"blocks"}, state, there=())
    kept = remains.kept_segment(Modes(file=0o600, folder=0o700), "tester-00000009-ab-1")

    assert remains.lost() == []
    assert kept is not None
    assert (kept.masked_by, kept.masked) == (segment.masked_by, segment.masked)


# -- let back ------------------------------------------------------------------------------


def test_an_archive_stays_masked_where_nothing_is_said(
    root: Path, claude: Path, source: str
) -> None:
    filled(root, "secrets", source)
    write_session(claude, 3, [f"a spout, {AWS}"])
    filled(root, None, source)

    assert left(root, *ALL) == []


def test_turning_it_off_takes_in_again_what_can_be_and_says_what_stays(
    root: Path, claude: Path, source: str
) -> None:
    file = write_session(claude, 3, [f"a spout, {AWS}"])
    filled(root, "secrets", source)
    file.unlink()
    report = filled(root, "off", source)

    assert AWS in whole(opened(root), session_id(1))
    assert MASK in whole(opened(root), session_id(3))
    assert report.changed == 1
    assert report.masked_documents == 1
    assert filled(root, "off", source).changed == 0
    # Said no more, it is as if it had never been on.
    assert filled(root, None, source).changed == 0
    assert AWS in whole(opened(root), session_id(1))


# -- answers -------------------------------------------------------------------------------


def _asked(archive: Archive, ref: str) -> dict[str, Callable[[], Any]]:
    return {
        "readable": lambda: get(archive, ref),
        "condensed": lambda: get(archive, ref, format="condensed"),
        "raw": lambda: get(archive, ref, format="raw"),
        "slices": lambda: [get(archive, ref, lines=f"{n}-{n}") for n in range(1, 60)],
        "cut": lambda: [get(archive, ref, format="raw", max_chars=n) for n in range(300, 460, 7)],
        "context": lambda: [context(archive, ref, seq=n, before=0, after=0) for n in range(9)],
        "within": lambda: [search_within(archive, ref, text) for text in ("key", "MII", "export")],
        "search": lambda: [search(archive, text) for text in ("key", "kettle", "token")],
        "recall": lambda: [recall(archive, text) for text in ("kettle key", "token tea")],
        "list": lambda: list_documents(archive, fields="full"),
        "resource": lambda: read(
            archive, f"sj://transcript/testhost/shop/{session_id(1)}"
        ).model_dump(),
        "sql": lambda: sql(archive, "select text from blocks"),
        "sql of documents": lambda: sql(archive, "select first_prompt, topic from documents"),
    }


@pytest.mark.parametrize("way", _asked(Archive(Path(), timezone="UTC"), ""))
def test_a_reader_that_asks_for_it_sees_no_secret_whoever_wrote_the_archive(
    root: Path, source: str, way: str
) -> None:
    filled(root, None, source)
    as_it_is = json.dumps(_asked(opened(root, "off"), session_id(1))[way](), default=str)
    shown = json.dumps(_asked(opened(root, "secrets"), session_id(1))[way](), default=str)

    assert any(secret in as_it_is for secret in ALL)
    assert not any(secret in shown or secret[:14] in shown for secret in ALL)
    assert not any(line[:14] in shown for line in KEY_LINES[:-1])
    assert "[secret: " in shown


def test_what_sql_cuts_is_masked_before(tmp_path: Path, root: Path) -> None:
    # The end of what is shown of a text lies in the secret.
    source = tmp_path / "source"
    write_session(source, 1, ["x" * (MAX_FIELD_CHARACTERS - 21) + f" {GITHUB}"])
    filled(root, None, f"claude={source}")
    query = "select text, [text] as list from messages where role = 'user'"
    ((text, listed),) = sql(opened(root, "secrets"), query)["rows"]

    assert "gh" not in f"{text} {listed}"
    assert len(text) == MAX_FIELD_CHARACTERS


@pytest.mark.parametrize(
    "query",
    [
        "select text::uuid from messages where contains(text, $key)",
        "select text::json from messages where contains(text, $key)",
        "from readable((select text from messages where contains(text, $key)))",
    ],
)
def test_what_sql_refuses_shows_no_secret(tmp_path: Path, root: Path, query: str) -> None:
    write_session(tmp_path / "source", 1, [f"{GITHUB}\nand {'x' * 280} {GITHUB}"])
    write_session(tmp_path / "source", 2, [f"the long way to {'x' * 25} {GITHUB}"])
    filled(root, None, f"claude={tmp_path}/source")
    for key in ("the long", "and xx"):
        with pytest.raises(SjduckError) as raised:
            sql(opened(root, "secrets"), query, values={"key": key})

        assert GITHUB[:10] not in str(raised.value)


@pytest.mark.parametrize("way", _asked(Archive(Path(), timezone="UTC"), ""))
def test_of_a_masked_archive_no_reader_sees_a_secret_unless_it_asks_for_the_source(
    root: Path, source: str, way: str
) -> None:
    filled(root, "secrets", source)
    shown = json.dumps(_asked(opened(root), session_id(1))[way](), default=str)

    assert not any(secret in shown for secret in ALL)
    assert AWS in get(opened(root, "off"), session_id(1), format="raw")["content"]


def test_raw_lines_are_those_of_the_source_but_for_what_is_masked(root: Path, source: str) -> None:
    filled(root, "secrets", source)
    raw, was = (
        whole(opened(root, redact), session_id(1), format="raw") for redact in (None, "off")
    )

    assert raw.count("\n") == was.count("\n")
    assert [json.loads(line).keys() for line in raw.splitlines()] == [
        json.loads(line).keys() for line in was.splitlines()
    ]


def test_output_that_was_moved_out_is_masked_as_a_whole(root: Path, tmp_path: Path) -> None:
    claude = tmp_path / "claude"
    file = write_session(claude, 1, ["tea"])
    moved = file.with_suffix("") / "tool-results" / "out.txt"
    moved.parent.mkdir(parents=True)
    moved.write_text("x" * 30 + " " + AWS + "\n" + private_key() + "\nend")
    records = [json.loads(line) for line in file.read_text().splitlines()]
    records[-1]["message"]["content"][0]["content"] = f"Full output saved to: {moved}\n\npreview"
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    filled(root, None, f"claude={claude}")
    archive = opened(root, "secrets")
    parts = [
        context(archive, session_id(1), seq=3, before=0, after=0, offset=n)["blocks"][0]["text"]
        for n in range(0, 120, 5)
    ]

    assert parts[0].startswith("x" * 30)
    assert parts[0].endswith("\nend")
    assert all(part == parts[0][5 * n :] for n, part in enumerate(parts))
    assert not any(AWS[5:] in part or KEY_LINES[0][20:] in part for part in parts)


def test_no_path_leads_to_a_readable_that_is_not_masked(tmp_path: Path, root: Path) -> None:
    storage = Storage(tmp_path)
    storage.note("-home-ann-shop", "n.md", f"# Kettle\n\n{AWS}\n")
    filled(root, "secrets", *storage.sources)
    (item,) = list_documents(opened(root), type="note")["items"]
    (as_it_is,) = list_documents(opened(root, "off"), type="note")["items"]

    assert item["path"].startswith("sj://")
    assert as_it_is["path"].endswith("n.md")
    assert MASK in get(opened(root), as_it_is["path"])["content"]


# -- listed --------------------------------------------------------------------------------


def test_doctor_lists_where_secrets_stand_and_shows_none(root: Path, source: str) -> None:
    filled(root, None, source)
    answer = secrets(load(archive=str(root)))
    readable = whole(opened(root), session_id(1)).split("\n")

    assert not any(secret in json.dumps(answer) for secret in (*ALL, *KEY_LINES))
    assert answer["total"] == 9
    assert {item["sid"] for item in answer["items"]} == {session_id(1)[:8]}
    for item in answer["items"]:
        line = readable[item["line"] - 1]
        assert any(secret in line for secret in ALL), line
        assert f"[secret: {item['kind']}]" in item["text"]
    assert len({item["secret"] for item in answer["items"]}) == 3
    assert answer["kinds"][0] == {
        "kind": "AWS access key", "places": 3, "secrets": 1, "documents": 1
    }  # fmt: skip


def test_doctor_lists_in_pages(root: Path, source: str) -> None:
    filled(root, None, source)
    settings = load(archive=str(root))
    whole_answer = secrets(settings)
    pages = [secrets(settings, limit=4)]
    while (offset := pages[-1].get("next_offset")) is not None:
        pages.append(secrets(settings, limit=4, offset=offset))

    assert [item for page in pages for item in page["items"]] == whole_answer["items"]
    assert len(pages) == 3
    assert len(json.dumps(secrets(settings, max_chars=900))) < 1_100


def test_of_a_masked_archive_doctor_says_how_much_is_masked(root: Path, source: str) -> None:
    filled(root, "secrets", source)
    answer = secrets(load(archive=str(root)))

    assert answer["total"] == 0
    assert answer["masked"] == {"places": 9, "documents": 1}
    shown = status(opened(root), sources=())
    assert shown["secrets_masked"] == {"places": 9, "documents": 1, "segments_left": 0}


def test_doctor_tells_of_an_archive_that_is_masked_though_nothing_here_says_so(
    root: Path, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(root, "secrets", source)
    said = [finding["what"] for finding in diagnose(str(root))["findings"]]
    monkeypatch.setenv("SJDUCK_REDACT", "secrets")
    then = [finding["what"] for finding in diagnose(str(root))["findings"]]

    assert any("stays masked" in what for what in said)
    assert not any("masked" in what for what in then)


def test_doctor_tells_of_writers_that_do_not_mask(
    root: Path, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(root, None, source)
    monkeypatch.setenv("SJDUCK_REDACT", "secrets")
    said = [finding["what"] for finding in diagnose(str(root))["findings"]]

    assert any("masked when read" in what for what in said)


def test_the_command_masks_as_the_environment_says_and_lists_what_is_left(
    root: Path, source: str, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(source)
    archive = ("--archive", str(root))
    listed = process("doctor", "--secrets", *archive)
    monkeypatch.setenv("SJDUCK_REDACT", "secrets")
    masked = process("etl", *archive, "--source", source)
    after = process("doctor", "--secrets", *archive, "--json")
    refused = process("doctor", "--secrets", "--fix", *archive)
    monkeypatch.setenv("SJDUCK_REDACT", "yes")
    wrong = process("list", *archive)

    assert listed.returncode == 0
    assert "AWS access key" in listed.stdout
    assert AWS not in listed.stdout + listed.stderr
    assert "9 secrets found, 0 masked already" in listed.stderr
    assert "masked: 3 × AWS access key" in masked.stdout
    assert json.loads(after.stdout)["masked"]["places"] == 9
    assert (refused.returncode, wrong.returncode) == (2, 2)
    assert "SJDUCK_REDACT must be" in wrong.stderr
    assert newest_manifest(root, "tester") is not None


def test_a_client_that_is_registered_masks_as_the_shell_does() -> None:
    server = _local_server(None, {"SJDUCK_REDACT": "secrets"})

    assert server.environment == {"SJDUCK_REDACT": "secrets"}


def test_every_generation_that_names_what_was_built_of_secrets_goes(
    root: Path, claude: Path, source: str
) -> None:
    gone = write_session(claude, 3, [f"a spout, {AWS}"])
    filled(root, None, source)
    gone.write_text(gone.read_text().replace(AWS, "no key"))
    filled(root, None, source)
    # What the older copy said stands in an index file, though in no live document.
    write_session(claude, 1, ["plain"])
    filled(root, "secrets", source)

    assert left(root, *ALL) == []
