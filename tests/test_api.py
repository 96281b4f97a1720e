"""The public names of the package."""

from pathlib import Path

import pytest

import sjduck
from sjduck.errors import UsageError
from sjduck.listing import list_documents
from tests.conftest import Fill
from tests.trees import write_session


def test_an_archive_is_opened_by_path_or_by_configuration(
    tmp_path: Path, root: Path, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_session(tmp_path / "claude", 1, ["one"])
    fill(f"claude={tmp_path}/claude")
    monkeypatch.setenv("SJDUCK_ARCHIVE", str(root))

    for opened in (sjduck.open(str(root)), sjduck.open()):
        assert isinstance(opened, sjduck.Archive)
        assert list_documents(opened)["total"] == 1
    assert sjduck.open(as_of="2001-01-01").is_empty


def test_opening_fills_nothing(root: Path) -> None:
    assert sjduck.open(str(root)).is_empty
    assert not root.exists()


def test_a_bad_zone_is_one_of_our_errors() -> None:
    assert issubclass(UsageError, sjduck.SjduckError)
    with pytest.raises(sjduck.SjduckError, match="unknown time zone"):
        sjduck.open(timezone="Mars/Base")
