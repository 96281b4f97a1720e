"""Refs: handles, whole ids, URIs, paths and names lead to one document, or say why not."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from sjduck.archive import Archive
from sjduck.reading import get
from sjduck.refs import resolve, uri
from tests.conftest import Fill
from tests.storage import Storage, log_row
from tests.trees import session_id

ONE, TWO = session_id(1), session_id(2)
HANDLE = ONE.replace("-", "")[:8]
AGENT = "a17f3d2c9b04e6851"
OPENCODE = "ses_7Abc9DefGhi2"


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    """Return a storage tree of one session with all that may lie beside it."""
    storage = Storage(tmp_path)
    storage.session("atlas", ONE, ["one"])
    storage.subagent("atlas", ONE, AGENT, ["look there"])
    storage.plan("atlas", "2026-03-01_the-plan.md", "# The plan\n")
    storage.memory("-home-ann-shop", "money.md", "# Money\n")
    storage.note("-home-ann-shop", f"2026-03-01_rounding__{HANDLE}.md", "# Rounding\n")
    return storage


def found(archive: Archive, ref: str) -> dict[str, Any]:
    """Return what a ref leads to."""
    return archive.ask(lambda view: resolve(view, ref))


@pytest.mark.parametrize(
    ("ref", "stem"),
    [
        (ONE, ONE),
        (ONE.upper(), ONE),
        (HANDLE, ONE),
        (f" {HANDLE.upper()}\n", ONE),
        (f"agent-{AGENT}", f"agent-{AGENT}"),
        (AGENT, f"agent-{AGENT}"),
        ("a17f3d2c", f"agent-{AGENT}"),
        ("money", "money"),
        ("money.md", "money"),
        ("2026-03-01_the-plan", "2026-03-01_the-plan"),
        (f"2026-03-01_rounding__{HANDLE}.md", f"2026-03-01_rounding__{HANDLE}"),
        ("sj://plan/atlas/2026-03-01_the-plan", "2026-03-01_the-plan"),
        ("sj://memory/shop/money", "money"),
        (f"sj://note/shop/2026-03-01_rounding__{HANDLE}", f"2026-03-01_rounding__{HANDLE}"),
        (f"sj://transcript/atlas/shop/{ONE}", ONE),
        (f"sj://transcript/atlas/shop/agent-{AGENT}", f"agent-{AGENT}"),
        (f"atlas/-home-ann-shop/{ONE}.jsonl", ONE),
        (f"atlas\\-home-ann-shop\\{ONE}.jsonl", ONE),
    ],
)
def test_a_document_is_found_by(
    storage: Storage, archive: Archive, fill: Fill, ref: str, stem: str
) -> None:
    fill(*storage.sources)

    assert found(archive, ref).get("stem") == stem


def test_a_path_is_taken_as_it_is_written_and_as_it_leads_here(
    tmp_path: Path, storage: Storage, archive: Archive, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(*storage.sources)
    file = storage.tree / "atlas" / "-home-ann-shop" / f"{ONE}.jsonl"
    (tmp_path / "linked").symlink_to(storage.tree)
    (tmp_path / "home" / "tree").symlink_to(storage.tree)
    monkeypatch.chdir(file.parent.parent)
    elsewhere = file.relative_to(storage.tree)

    for path in (
        str(file),
        f"./-home-ann-shop/{ONE}.jsonl",
        f"{tmp_path}/linked/{elsewhere}",
        f"~/tree/{elsewhere}",
    ):
        assert found(archive, path).get("stem") == ONE, path


def test_every_document_is_found_by_its_own_uri_and_path(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    storage.session("a b", TWO, ["deux"], cwd="/home/ann/mé téo%2F")
    fill(*storage.sources)
    rows = archive.ask(lambda view: view.rows("select * from documents where type <> 'log'"))

    assert len(rows) == 6
    for row in rows:
        assert found(archive, uri(row)).get("document") == row["document"], uri(row)
        path = f"{row['source_root']}/{row['source_path']}"
        assert found(archive, path).get("document") == row["document"], path


def test_a_session_without_a_project_is_found_by_its_uri(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    storage.session("atlas", TWO, ["two"], cwd="/")
    fill(*storage.sources)

    assert found(archive, f"sj://transcript/atlas/-/{TWO}").get("stem") == TWO


@pytest.mark.parametrize(
    "ref",
    [
        "", " ", "nope", "/etc/passwd", "../../../etc/passwd", "sj://", "sj://transcript",
        f"sj://transcript/borealis/shop/{ONE}", "sj://plan/atlas/../../x", "%", "'; drop table x",
        "\0", "a/\0", "money.txt", "-home-ann-shop", f"{ONE}/subagents", "history.jsonl",
    ],
)  # fmt: skip
def test_anything_else_is_not_found(
    storage: Storage, archive: Archive, fill: Fill, ref: str
) -> None:
    fill(*storage.sources)

    answer = found(archive, ref)

    assert answer == {"error": "not found or outside the archive", "ref": ref.strip()}


@pytest.mark.parametrize("name", ["auth.json", ".credentials.json", "config.toml", "opencode.db"])
def test_a_file_that_no_source_claims_is_not_reached(
    storage: Storage, archive: Archive, fill: Fill, name: str
) -> None:
    secret = storage.tree / "atlas" / name
    secret.write_text("secret")
    fill(*storage.sources)

    for ref in (
        str(secret),
        name,
        f"atlas/{name}",
        f"{storage.tree}/atlas/-home-ann-shop/../{name}",
    ):
        assert found(archive, ref)["error"] == "not found or outside the archive"


def test_the_case_of_a_handle_counts_where_two_differ_by_it(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    upper = "ses_7ABC9DEFXYZ"
    storage.session("atlas", OPENCODE, ["lower"])
    storage.session("atlas", upper, ["upper"])
    fill(*storage.sources)

    assert found(archive, "7Abc9Def").get("stem") == OPENCODE
    assert found(archive, "7ABC9DEF").get("stem") == upper
    assert found(archive, "7Abc9DefGhi2").get("stem") == OPENCODE
    assert found(archive, "7abc9def")["error"].startswith("ambiguous: 2 different documents")


def test_only_different_sessions_are_ambiguous_and_candidates_lead_on(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    storage.session("atlas", ONE[:8] + TWO[8:], ["other"])
    storage.memory("-home-ann-tills", "money.md", "# Also money\n")
    fill(*storage.sources)

    by_handle, by_name = found(archive, HANDLE), found(archive, "money")

    assert by_handle["error"] == (
        "ambiguous: 2 different documents; use a whole session id or path"
    )
    assert {c["session_id"] for c in by_handle["candidates"]} == {ONE, ONE[:8] + TWO[8:]}
    paths = [c["path"] for c in by_name["candidates"]]
    assert [found(archive, path)["source_path"] for path in paths] == [
        Path(path).relative_to(storage.tree).as_posix() for path in paths
    ]


def test_candidates_that_share_a_uri_are_named_by_their_files(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    storage.subagent("atlas", TWO, AGENT, ["the same agent of another session"])
    fill(*storage.sources)

    candidates = found(archive, AGENT)["candidates"]

    assert len({c["path"] for c in candidates}) == 2
    assert all(found(archive, c["path"]).get("agent_id") == AGENT for c in candidates)


def test_of_copies_on_several_hosts_the_longest_is_read_and_the_others_named(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    storage.session("borealis", ONE, ["one", "two", "three"])
    storage.session("cirrus", ONE, ["one", "two"])
    fill(*storage.sources)

    document = found(archive, ONE)

    assert (document["host"], document["also_on"]) == ("borealis", ["atlas", "cirrus"])
    assert get(archive, HANDLE)["also_on"] == ["atlas", "cirrus"]
    of_host = get(archive, f"sj://transcript/cirrus/shop/{ONE}")
    assert of_host["path"] == f"sj://transcript/cirrus/shop/{ONE}"
    assert of_host["also_on"] == ["atlas", "borealis"]
    assert "also_on" not in get(archive, "money")


def test_the_path_of_a_copy_that_is_not_read_leads_to_the_one_that_is(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    shorter = "# one\n\n_1 turns_\n\n## User\n\none\n"
    file = storage.readable("atlas", f"2026-03-01_one__{HANDLE}.md", shorter)
    fill(*storage.sources)

    assert found(archive, str(file)).get("source_format") == "claude"


def test_a_session_that_only_the_catalogue_knows_points_to_its_host(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    storage.log("frost", log_row(TWO, "On frost", host="frost", at="2026-03-05 09:30"))
    fill(*storage.sources)

    for ref in (TWO, TWO.upper(), TWO[:8]):
        assert found(archive, ref) == {
            "error": "no transcript in this archive",
            "sid": TWO[:8],
            "session_id": TWO,
            "host": "frost",
            "date": "2026-03-05",
            "topic": "On frost",
            "cwd": "/home/ann/shop",
            "hint": "look on frost, or run 'sjduck etl' there",
        }


def test_a_handle_of_two_catalogued_sessions_is_ambiguous(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    other = TWO[:8] + ONE[8:]
    storage.log("frost", log_row(TWO, "A", host="frost"), log_row(other, "B", host="frost"))
    fill(*storage.sources)

    assert found(archive, TWO[:8])["error"].startswith("ambiguous: 2")
    assert found(archive, other)["topic"] == "B"


def test_the_day_of_a_typed_prompt_is_that_of_the_readers_zone(
    storage: Storage, root: Path, fill: Fill
) -> None:
    typed = {"display": "typed", "timestamp": 1772323200000, "sessionId": TWO}
    (storage.tree / "atlas" / "history.jsonl").write_text(json.dumps(typed))
    fill(*storage.sources)

    dates = []
    for zone in ("UTC", "America/New_York"):
        archive = Archive(root, timezone=zone)
        dates.append(found(archive, TWO)["date"])
        archive.close()

    assert dates == ["2026-03-01", "2026-02-28"]


def test_a_document_whose_source_is_gone_is_found_and_shown_by_its_uri(
    storage: Storage, archive: Archive, fill: Fill
) -> None:
    fill(*storage.sources)
    os.unlink(storage.tree / "memory" / "-home-ann-shop" / "money.md")
    fill(*storage.sources)

    answer = get(archive, "money")

    assert answer["path"] == "sj://memory/shop/money"
    assert answer["content"] == "# Money\n"
