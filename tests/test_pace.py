"""How often a watcher takes in what changes, and what that costs."""

from pathlib import Path
from typing import Any

import pytest

from etl import manifests, state
from etl.pipeline import run
from etl.report import Report
from etl.watch import Pace
from sjduck.archive import Archive
from sjduck.settings import load
from tests.conftest import Fill, Quiet
from tests.trees import write_session
from tests.watchers import append, has


def report(**fields: Any) -> Report:
    """Return the report of a run."""
    made = Report("tester", "testhost", "/archive", "2026-03-01T00:00:00")
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def test_a_run_is_followed_by_a_rest_and_a_longer_one_where_it_found_nothing() -> None:
    pace = Pace(None)
    pace.changed(10.0)
    first = pace.at
    pace.idles()
    pace.ran(20.0, report(seconds=2.0, changed=1))
    pace.changed(21.0)
    after_some = pace.at
    pace.idles()
    pace.ran(40.0, report(seconds=0.2))
    pace.changed(40.5)

    assert (first, after_some, pace.at) == (10.0, 28.0, 44.0)


def test_a_file_that_rests_waits_and_others_do_not() -> None:
    pace = Pace(None)
    pace.ran(0.0, report(seconds=0.1, changed=1, resting={"/large": 30.0}))
    pace.changed(5.0, frozenset({"/large"}))
    large = pace.at
    pace.changed(6.0, frozenset({"/large", "/small"}))
    small = pace.at
    pace.idles()
    pace.ran(7.0, report(seconds=0.1, changed=1, postponed=1, rest_s=23.0))

    assert (large, small, pace.at) == (30.0, 6.0, 30.0)


def test_each_failure_in_a_row_is_waited_for_longer_up_to_a_bound() -> None:
    pace = Pace()
    waits = [pace.failed(0.0) for _ in range(12)]
    pace.changed(1.0)
    at = pace.at
    pace.ran(2.0, report(seconds=0.1, new=1))

    assert waits[:4] == [5.0, 10.0, 20.0, 40.0]
    assert waits[-1] == at == 300.0
    assert pace.failed(3.0) == 5.0


def test_a_large_file_is_taken_in_again_only_after_its_rest(
    tmp_path: Path, root: Path, archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_session(tmp_path / "claude", 1, ["one"])
    settings = load(archive=str(root), sources=[f"claude={tmp_path}/claude"])
    run(settings, "tester", Quiet(), paced=True)
    append(file, "appended")
    write_session(tmp_path / "claude", 2, ["new"])
    monkeypatch.setattr(state, "_REST", 1_000_000)
    resting = run(settings, "tester", Quiet(), paced=True)
    seen = has(archive, "appended"), has(archive, "new")
    once = run(settings, "tester", Quiet())

    assert (resting.new, resting.changed, resting.postponed, resting.unchanged) == (1, 0, 1, 0)
    assert resting.rest_s is not None
    assert resting.rest_s > 1
    assert str(file) in resting.resting
    assert seen == (False, True)
    assert (once.changed, once.postponed, once.resting) == (1, 0, {})


def test_a_clock_that_was_set_back_makes_nothing_wait() -> None:
    taken = state.Taken("claude", "a", 1, "s", "i", 1, 0, "", 10**18, 5.0)

    assert taken.rest_s(10**18 + 10**9) == pytest.approx(99.0)
    assert taken.rest_s(10**18 - 10**9) == 0.0


def stored(root: Path) -> int:
    """Return the bytes of an archive."""
    return sum(file.stat().st_size for file in root.rglob("*") if file.is_file())


def test_sessions_that_grow_cost_less_than_three_times_their_own_share(
    tmp_path: Path, root: Path, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "_REST", 0)
    home = tmp_path / "claude"
    for number in range(12):
        # An archive with history: as many segments and index files as there may be.
        for member in range(1 + number % 3):
            prompts = [f"{number} {member} {n}" * 20 for n in range(8 * (12 - number))]
            write_session(home, 100 * number + member, prompts)
        fill(f"claude={home}")
    settings = load(archive=str(root), sources=[f"claude={home}"])
    run(settings, "tester", Quiet(), paced=True)
    before = stored(root)
    for length in range(1, 41):
        for number in (9_998, 9_999)[length % 2 :]:
            write_session(home, number, [f"prompt {n} " * 40 for n in range(5 * length)])
        run(settings, "tester", Quiet(), paced=True)
    grown = stored(root) - before
    for number in (9_998, 9_999):
        write_session(tmp_path / "alone", number, [f"prompt {n} " * 40 for n in range(200)])
    fill(f"claude={tmp_path}/alone", archive=tmp_path / "share")

    assert grown < 3 * stored(tmp_path / "share")
    assert manifests.orphans(root, "tester") == []
