"""Walking a source's tree: what is claimed as what, and what a tree can't do to a run."""

import os
import shutil
import stat
from pathlib import Path

import pytest

from etl.discover import Found, discover
from etl.document import Claim, SourceFile
from etl.flatten import flatten_task
from etl.sources import KINDS
from sjduck.settings import Source
from tests.flattened import claim_of

ID = "5d1f2a90-4c77-4e0b-9a63-0f6b7c1d2e11"
SLUG = "-home-ida-bakery"
AS_ROOT = pytest.mark.skipif(os.geteuid() == 0, reason="root reads every folder")


def source(kind: str, path: Path) -> Source:
    """Return a source of this machine."""
    return Source(kind, path, "nas", name=kind)


def claimed(kind: str, path: str) -> Claim | None:
    """Return what a path under a source's root is claimed as."""
    claim = KINDS[kind](source(kind, Path("/root")), "/root", path)
    assert claim != "piece"
    return claim


def write(root: Path, *paths: str) -> None:
    """Write small files below a folder."""
    for path in paths:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(path)


def look(home: Path, kind: str = "claude") -> tuple[list[str], Found]:
    """Return the paths that a walk finds, and everything else that it says."""
    found = discover(source(kind, home))
    return [claim.path for claim, _ in found.files], found


@pytest.fixture
def home_of_one(tmp_path: Path) -> Path:
    """Return a Claude Code home with one session."""
    home = tmp_path / "claude"
    write(home, f"projects/{SLUG}/{ID}.jsonl")
    return home


SESSION = f"projects/{SLUG}/{ID}.jsonl"


# -- what is claimed -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "type_", "sid", "parent"),
    [
        (f"{SLUG}/{ID}.jsonl", "transcript", "5d1f2a90", None),
        (f"{SLUG}/ses_7Kq2Zx9AbCdEfG.jsonl", "transcript", "7Kq2Zx9A", None),
        (f"{SLUG}/agent-1a2b3c4d.jsonl", "subagent", "1a2b3c4d", None),
        (f"{SLUG}/{ID}/subagents/agent-1a2b3c4d.jsonl", "subagent", "1a2b3c4d", ID),
        (f"{SLUG}/{ID}/subagents/agent-acompact-1a2b3c4d5e.jsonl", "subagent", "1a2b3c4d", ID),
        (
            f"{SLUG}/{ID}/subagents/agent-aside_question-1a2b3c4d5e.jsonl",
            "subagent",
            "1a2b3c4d",
            ID,
        ),
        (f"{SLUG}/{ID}/subagents/workflows/wf_1/agent-1a2b3c4d.jsonl", "subagent", "1a2b3c4d", ID),
        (f"{SLUG}/subagents/agent-1a2b3c4d.jsonl", "subagent", "1a2b3c4d", None),
    ],
)
@pytest.mark.parametrize(("kind", "above"), [("claude", "projects"), ("scrubjay", "atlas")])
def test_sessions_and_subagents_are_told_by_their_place(
    kind: str, above: str, path: str, type_: str, sid: str, parent: str | None
) -> None:
    claim = claimed(kind, f"{above}/{path}")

    assert claim is not None
    assert (claim.type, claim.format, claim.harness) == (type_, "claude", "claude")
    assert (claim.sid, claim.parent_session_id) == (sid, parent)
    assert claim.session_id == Path(path).stem
    assert (claim.agent_id is not None) == (type_ == "subagent")
    assert claim.host == ("nas" if kind == "claude" else "atlas")


@pytest.mark.parametrize(
    ("kind", "path", "type_", "format_", "host", "sid"),
    [
        ("claude", "plans/round-fees.md", "plan", "markdown", "nas", None),
        ("claude", f"projects/{SLUG}/memory/MEMORY.md", "memory", "markdown", None, None),
        ("claude", "history.jsonl", "log", "history", "nas", None),
        ("scrubjay", "atlas/plans/2026-02-10_rye.md", "plan", "markdown", "atlas", None),
        ("scrubjay", "atlas/history.jsonl", "log", "history", "atlas", None),
        ("scrubjay", f"atlas/{SLUG}/memory/a.md", "memory", "markdown", None, None),
        (
            *("scrubjay", "atlas/readable/bakery/2026-02-10_rye__5d1f2a90.md"),
            *("transcript", "readable", "atlas", "5d1f2a90"),
        ),
        ("scrubjay", "atlas/readable/misc/rye.md", "transcript", "readable", "atlas", None),
        ("scrubjay", f"memory/{SLUG}/MEMORY.md", "memory", "markdown", None, None),
        ("scrubjay", f"memory/{SLUG}/notes/rye.md", "note", "markdown", None, None),
        (
            "scrubjay",
            f"memory/{SLUG}/notes/a__b__5d1f2a90.md",
            "note",
            "markdown",
            None,
            "5d1f2a90",
        ),
        ("scrubjay-memory", f"{SLUG}/rye.md", "memory", "markdown", None, None),
        ("scrubjay-memory", f"{SLUG}/notes/x__7Kq2Zx9A.md", "note", "markdown", None, "7Kq2Zx9A"),
        ("scrubjay-logs", "logs/atlas.log", "log", "catalogue", "atlas", None),
    ],
)
def test_everything_else_is_told_by_its_place(
    kind: str, path: str, type_: str, format_: str, host: str | None, sid: str | None
) -> None:
    claim = claimed(kind, path)

    assert claim is not None
    assert (claim.type, claim.format, claim.host, claim.sid) == (type_, format_, host, sid)


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("claude", "projects/.DS_Store"),
        ("claude", "projects/stray.jsonl"),
        ("claude", f"projects/{SLUG}/.jsonl"),
        ("claude", f"projects/{SLUG}/sessions-index.json"),
        ("claude", f"projects/{SLUG}/{ID}/tool-results/b4t9.txt"),
        ("claude", f"projects/{SLUG}/{ID}/subagents/agent-1a2b3c4d.meta.json"),
        ("claude", f"projects/{SLUG}/{ID}/subagents/workflows/wf_1/journal.jsonl"),
        ("claude", f"projects/{SLUG}/{ID}/jobs/1/timeline.jsonl"),
        ("claude", f"projects/{SLUG}/memory/deep/er.md"),
        ("claude", "plans/deep/er.md"),
        ("claude", ".credentials.json"),
        ("claude", "settings.json"),
        ("claude", "todos/x.json"),
        ("scrubjay", "stray.jsonl"),
        ("scrubjay", "atlas/stray.jsonl"),
        ("scrubjay", f"atlas/{SLUG}/mcp-logs-scales/2026.jsonl"),
        ("scrubjay", "atlas/readable/loose.md"),
        ("scrubjay", "atlas/readable/a/b/c.md"),
        ("scrubjay", f"memory.git/{SLUG}/{ID}.jsonl"),
        ("scrubjay", f".git/{SLUG}/{ID}.jsonl"),
        ("scrubjay", "memory/loose.md"),
        ("scrubjay", f"memory/{SLUG}/notes/deep/er.md"),
        ("scrubjay-logs", "logs/atlas.log.1"),
        ("scrubjay-logs", "hosts/atlas/chats.index.json"),
    ],
)
def test_what_is_no_document_is_not_claimed(kind: str, path: str) -> None:
    assert claimed(kind, path) is None


def test_a_claude_home_is_read_only_where_sessions_are(home_of_one: Path) -> None:
    write(home_of_one, ".credentials.json", "todos/x.jsonl", "history.jsonl", "plans/rye.md")
    write(home_of_one, f"projects/{SLUG}/{ID}/tool-results/b.txt", "projects/.DS_Store")

    paths, found = look(home_of_one)

    assert paths == ["history.jsonl", "plans/rye.md", SESSION]
    assert found.unclaimed == 2
    assert found.complete_folders() == {
        ("claude", top) for top in ("history.jsonl", "plans", "projects")
    }


def test_files_are_sorted_and_carry_their_size_and_time(home_of_one: Path) -> None:
    write(home_of_one, f"projects/a/{ID}.jsonl", f"projects/Z/{ID}.jsonl")
    os.utime(home_of_one / SESSION, ns=(1, 1_700_000_000_123_456_789))

    paths, found = look(home_of_one)

    assert paths == sorted(paths)
    assert {claim.path: status for claim, status in found.files}[SESSION] == SourceFile(
        (home_of_one / SESSION).stat().st_size, 1_700_000_000_123_456_789
    )


def test_a_document_is_the_same_one_wherever_its_tree_lies(home_of_one: Path) -> None:
    moved = home_of_one.with_name("moved")
    before = discover(source("claude", home_of_one)).files[0][0].document

    home_of_one.rename(moved)

    assert discover(source("claude", moved)).files[0][0].document == before


# -- links ---------------------------------------------------------------------------------


def test_a_link_to_what_was_met_is_skipped(home_of_one: Path) -> None:
    project = home_of_one / "projects" / SLUG
    (project / "again.jsonl").symlink_to(f"{ID}.jsonl")
    (home_of_one / "projects" / "-a-link").symlink_to(SLUG)
    (project / "loop").symlink_to(".")
    (project / "home").symlink_to("../..")

    paths, found = look(home_of_one)

    assert paths == [SESSION]
    assert found.skipped == {
        "met before through a link": 3,
        "link that leads outside the source": 1,
    }
    assert found.complete_folders() == {("claude", "projects")}


def test_a_link_to_itself_and_a_circle_of_links_are_skipped(home_of_one: Path) -> None:
    project = home_of_one / "projects" / SLUG
    (project / "self.jsonl").symlink_to("self.jsonl")
    (project / "one.jsonl").symlink_to("two.jsonl")
    (project / "two.jsonl").symlink_to("one.jsonl")

    paths, found = look(home_of_one)

    assert paths == [SESSION]
    assert found.skipped == {"link loop": 3}
    assert found.complete_folders() == {("claude", "projects")}


def test_a_link_to_nothing_is_skipped(home_of_one: Path) -> None:
    (home_of_one / "projects" / SLUG / "gone.jsonl").symlink_to("nowhere.jsonl")

    paths, found = look(home_of_one)

    assert paths == [SESSION]
    assert found.skipped == {"link to nothing": 1}
    assert found.complete_folders() == {("claude", "projects")}


def test_a_link_that_leads_outside_is_not_followed(home_of_one: Path) -> None:
    write(home_of_one.parent / "secret", "one.jsonl")
    project = home_of_one / "projects" / SLUG
    (project / "out.jsonl").symlink_to(home_of_one.parent / "secret" / "one.jsonl")
    (project / "out").symlink_to(home_of_one.parent / "secret")
    (project / "gone.jsonl").symlink_to("/nowhere")

    paths, found = look(home_of_one)

    assert paths == [SESSION]
    assert found.skipped == {"link that leads outside the source": 3}


def test_a_root_that_is_a_link_and_links_right_below_it_are_followed(tmp_path: Path) -> None:
    write(tmp_path / "disk", f"{SLUG}/{ID}.jsonl")
    write(tmp_path / "home", "plans/rye.md")
    (tmp_path / "home" / "projects").symlink_to(tmp_path / "disk")
    (tmp_path / "link").symlink_to(tmp_path / "home")

    paths, found = look(tmp_path / "link")

    assert paths == ["plans/rye.md", SESSION]
    assert not found.skipped


def test_a_folder_has_its_own_path_although_a_link_to_it_comes_first(tmp_path: Path) -> None:
    write(tmp_path, f"zeus/{SLUG}/{ID}.jsonl")
    (tmp_path / "alias").symlink_to("zeus")
    (tmp_path / "zeus" / "-alias").symlink_to(SLUG)

    paths, found = look(tmp_path, "scrubjay")

    assert paths == [f"zeus/{SLUG}/{ID}.jsonl"]
    assert found.skipped == {"met before through a link": 2}


def test_a_file_with_two_names_is_one(home_of_one: Path) -> None:
    os.link(home_of_one / SESSION, home_of_one / "projects" / SLUG / "zz.jsonl")

    paths, found = look(home_of_one)

    assert paths == [SESSION]
    assert found.skipped == {"met before through a link": 1}


# -- what can't be read --------------------------------------------------------------------


def test_pipes_sockets_and_devices_are_skipped(home_of_one: Path) -> None:
    project = home_of_one / "projects" / SLUG
    os.mkfifo(project / "pipe.jsonl")
    os.mknod(project / "socket.jsonl", stat.S_IFSOCK | 0o600)
    (project / "link.jsonl").symlink_to("pipe.jsonl")

    paths, found = look(home_of_one)

    assert paths == [SESSION]
    assert found.skipped == {"device, socket or pipe": 3}
    assert found.complete_folders() == {("claude", "projects")}


def test_a_name_that_is_no_utf_8_is_skipped(home_of_one: Path) -> None:
    project = os.fsencode(home_of_one / "projects" / SLUG)
    with open(project + b"/caf\xe9.jsonl", "wb"):
        pass
    os.mkdir(project + b"/\xff")

    paths, found = look(home_of_one)

    assert paths == [SESSION]
    assert found.skipped == {"name that is no UTF-8": 2}


def test_a_folder_that_cannot_be_read_makes_the_walk_incomplete(home_of_one: Path) -> None:
    """A path longer than the system takes fails for root too."""
    folder = os.open(home_of_one / "projects" / SLUG, os.O_RDONLY)
    for _ in range(25):
        os.mkdir("d" * 200, dir_fd=folder)
        inner = os.open("d" * 200, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)

    paths, found = look(home_of_one)

    assert paths == [SESSION]
    (failure,) = found.failures
    assert failure.endswith("File name too long")
    assert found.complete_folders() == set()


@AS_ROOT
def test_a_folder_without_permission_makes_the_walk_incomplete(home_of_one: Path) -> None:
    write(home_of_one, f"projects/-other/{ID}.jsonl")
    (home_of_one / "projects" / "-other").chmod(0)

    paths, found = look(home_of_one)
    (home_of_one / "projects" / "-other").chmod(0o700)

    assert paths == [SESSION]
    assert [failure.rpartition(": ")[2] for failure in found.failures] == ["Permission denied"]
    assert found.complete_folders() == set()


def test_an_empty_tree_tells_nothing(tmp_path: Path) -> None:
    (tmp_path / "claude" / "projects").mkdir(parents=True)

    _, found = look(tmp_path / "claude")

    assert found.complete_folders() == set()


def test_a_tree_that_is_gone_is_a_failure(tmp_path: Path) -> None:
    paths, found = look(tmp_path / "claude")

    assert paths == []
    assert found.failures == [f"{tmp_path}/claude: gone while it was read"]


def test_a_file_that_vanishes_before_it_is_read_is_no_document(home_of_one: Path) -> None:
    ((claim, status),) = discover(source("claude", home_of_one)).files
    shutil.rmtree(home_of_one)

    batch = flatten_task([(claim, status, False)], str(home_of_one.parent / "spill"))

    assert (batch.files, batch.parts) == ([], [])


def test_a_file_that_became_a_folder_is_rejected(home_of_one: Path) -> None:
    ((claim, status),) = discover(source("claude", home_of_one)).files
    (home_of_one / SESSION).unlink()
    (home_of_one / SESSION).mkdir()

    batch = flatten_task([(claim, status, False)], str(home_of_one.parent / "spill"))

    assert batch.files[0].failure == "unreadable: Is a directory"
    assert batch.files[0].rejected == {"unreadable: Is a directory": 1}


def test_a_file_that_grew_is_read_as_it_is_and_looked_at_again(home_of_one: Path) -> None:
    path = home_of_one / SESSION
    claim, status = claim_of(path), SourceFile(path.stat().st_size, path.stat().st_mtime_ns)
    path.write_text('{"type":"mode"}\n' * 100)

    batch = flatten_task([(claim, status, False)], str(home_of_one.parent / "spill"))

    assert batch.files[0].source.size == path.stat().st_size != status.size


def test_the_real_trees_are_claimed_whole(corpus: Path) -> None:
    paths, found = look(corpus / "storage", "scrubjay")
    sessions = [p for p in (corpus / "storage").rglob("*.jsonl") if p.name != "journal.jsonl"]
    texts = [p for p in (corpus / "storage").rglob("*.md") if "tool-results" not in p.parts]

    assert len(paths) == len(sessions) + len(texts)
    tops = {path.split("/")[0] for path in paths}
    assert found.complete_folders() == {("scrubjay", top) for top in tops}
    assert not found.skipped


@pytest.mark.parametrize("to", [".credentials.json", "settings.json"])
def test_a_link_to_what_lies_beside_the_sessions_is_not_followed(
    home_of_one: Path, to: str
) -> None:
    write(home_of_one, to)
    (home_of_one / "projects" / SLUG / "memory").mkdir()
    (home_of_one / "projects" / SLUG / "memory" / "a.md").symlink_to(home_of_one / to)
    (home_of_one / "projects" / SLUG / "b.jsonl").symlink_to(home_of_one / to)

    paths, found = look(home_of_one)

    assert paths == [SESSION]
    assert found.skipped == {"link that leads outside the source": 2}


def test_a_folder_that_links_to_nothing_makes_the_walk_incomplete(home_of_one: Path) -> None:
    write(home_of_one, "plans/rye.md")
    (home_of_one / "projects").rename(home_of_one / "away")
    (home_of_one / "projects").symlink_to("/nowhere/projects")

    paths, found = look(home_of_one)

    assert paths == ["plans/rye.md"]
    assert found.complete_folders() == set()
