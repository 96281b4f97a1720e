"""The prompt history: every prompt typed becomes a catalogue row."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.flattened import Flat, expected, flatten_file, golden, samples

ID = "5d1f2a90-4c77-4e0b-9a63-0f6b7c1d2e11"


def history(folder: Path, *records: Any) -> Flat:
    """Return the rows of a history of these records."""
    path = folder / "history.jsonl"
    path.write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))
    return flatten_file(path, "history")


def prompt(**fields: Any) -> dict[str, Any]:
    """Return a line of the history."""
    whole = {"display": "bake", "timestamp": 1770000000000, "project": "/p", "sessionId": ID}
    return whole | fields


@pytest.mark.parametrize("sample", samples("history"), ids=lambda path: path.stem)
def test_a_sample_gives_the_rows_of_its_golden(sample: Path) -> None:
    assert golden(flatten_file(sample, "history")) == expected(sample)


def test_a_prompt_is_a_row_with_its_session_folder_and_instant(tmp_path: Path) -> None:
    (row,) = history(tmp_path, prompt()).catalogue

    assert (row["topic"], row["session_id"], row["sid"]) == ("bake", ID, "5d1f2a90")
    assert (row["cwd"], row["host"], row["harness"]) == ("/p", "testhost", "claude")
    assert (str(row["logged_at"]), row["logged_local"]) == ("2026-02-02 02:40:00", None)


def test_older_histories_have_no_session(tmp_path: Path) -> None:
    old = {"display": "bake", "pastedContents": {}, "timestamp": 1759300000000, "project": "/p"}

    (row,) = history(tmp_path, old).catalogue

    assert (row["session_id"], row["sid"], row["topic"]) == (None, None, "bake")


def test_a_long_prompt_is_kept_whole(tmp_path: Path) -> None:
    long = "a line\n" * 50_000

    (row,) = history(tmp_path, prompt(display=long)).catalogue

    assert row["topic"] == long


@pytest.mark.parametrize("display", [None, "", " \n", 5, ["bake"], {"text": "bake"}])
def test_a_line_without_a_prompt_is_counted(tmp_path: Path, display: Any) -> None:
    flat = history(tmp_path, prompt(display=display), prompt())

    assert len(flat.catalogue) == 1
    assert flat.file.unknown == {"history line without a prompt": 1}


@pytest.mark.parametrize("odd", [None, 5, [], {}, True, ""])
def test_a_field_of_another_type_is_missing(tmp_path: Path, odd: Any) -> None:
    (row,) = history(tmp_path, prompt(sessionId=odd, project=odd)).catalogue

    assert (row["session_id"], row["sid"], row["cwd"]) == (None, None, None)


@pytest.mark.parametrize("odd", [None, "yesterday", [], {}, True, 1e300, -(10**18)])
def test_an_instant_that_is_none_is_missing(tmp_path: Path, odd: Any) -> None:
    flat = history(tmp_path, prompt(timestamp=odd))

    assert flat.catalogue[0]["logged_at"] is None
    assert flat.document["started_at"] is None


def test_the_document_spans_its_prompts(tmp_path: Path) -> None:
    times = [1770000000000, 1760000000000, 1780000000000]

    flat = history(tmp_path, *(prompt(timestamp=time) for time in times))

    assert flat.file.year == 2025
    assert str(flat.document["started_at"]) == "2025-10-09 08:53:20"
    assert str(flat.document["ended_at"]) == "2026-05-28 20:26:40"
    assert (flat.document["type"], flat.document["lines"]) == ("log", 3)


def test_the_real_histories_give_a_row_a_prompt(corpus: Path) -> None:
    paths = sorted((corpus / "odd" / "claude-history").iterdir())

    rows = [row for path in paths for row in flatten_file(path, "history").catalogue]

    assert len(rows) == sum(path.read_bytes().count(b'"display"') for path in paths)
    assert all(row["topic"] and row["logged_at"] and row["cwd"] for row in rows)
