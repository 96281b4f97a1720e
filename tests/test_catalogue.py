"""The session catalogue: one row a session, however it was written."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etl.sources.catalogue import parse_row
from etl.tables import CatalogueRow
from tests.flattened import expected, flatten_file, golden, samples

ID = "5d1f2a90-4c77-4e0b-9a63-0f6b7c1d2e11"


def row(text: str) -> CatalogueRow:
    """Return the row that a line must be."""
    parsed = parse_row(1, 1, text)
    assert parsed is not None
    return parsed


def of_topic(topic: str) -> CatalogueRow:
    """Return the row of a line with this topic, as it stands between the quotes."""
    return row(f'2026-02-10 08:00 | nas | /home/ida | "{topic}" | session={ID} | turns=3')


@pytest.mark.parametrize("sample", samples("catalogue"), ids=lambda path: path.stem)
def test_a_sample_gives_the_rows_of_its_golden(sample: Path) -> None:
    assert golden(flatten_file(sample, "catalogue")) == expected(sample)


@pytest.mark.parametrize(
    ("written", "topic"),
    [
        ("plain", "plain"),
        ("a | b || c", "a | b || c"),
        ('says \\"no\\"', 'says "no"'),
        ('says "no"', 'says "no"'),
        ('"', '"'),
        ('" | session=other" | x', '" | session=other" | x'),
        ("❯ run it", "run it"),
        ("> run it", "run it"),
        ("❯ > ❯run it", "run it"),
        ("a > b", "a > b"),
        ("<div>", "<div>"),
        ("  spaces  ", "spaces"),
        ("(no text)", None),
        ("❯ (no text)", None),
        ("❯", None),
        ("", None),
        ("汉字 🥐 \u2028 é", "汉字 🥐 \u2028 é"),
        ("tab\tand \x1b[31mred", "tab\tand \x1b[31mred"),
        ("harness=codex | turns=9", "harness=codex | turns=9"),
    ],
)
def test_a_topic_is_what_stands_between_its_quotes(written: str, topic: str | None) -> None:
    parsed = of_topic(written)

    assert (parsed.topic, parsed.session_id, parsed.turns) == (topic, ID, 3)


@settings(deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1))
def test_any_topic_comes_back(topic: str) -> None:
    kept = of_topic(topic).topic

    assert kept == (topic.replace('\\"', '"').lstrip("❯>") or None)


def test_older_rows_stop_after_the_session() -> None:
    parsed = row(f'2026-02-10 08:00 | nas | /home/ida | "t" | session={ID}')

    assert (parsed.harness, parsed.model, parsed.turns, parsed.bytes) == (None, None, None, None)
    assert parsed.extra == []


@pytest.mark.parametrize(
    ("session_id", "sid"), [(ID, "5d1f2a90"), ("ses_7Kq2Zx9AbCdEfG", "7Kq2Zx9A")]
)
def test_session_ids_of_every_harness_are_taken(session_id: str, sid: str) -> None:
    parsed = row(f'2026-02-10 08:00 | nas | /home/ida | "t" | session={session_id}')

    assert (parsed.session_id, parsed.sid) == (session_id, sid)


def test_unknown_fields_are_kept_and_known_ones_have_their_columns() -> None:
    parsed = row(
        f'2026-02-10 08:00 | nas | / | "t" | session={ID} | turns=12 | zeal=high | harness=codex'
        " | model=gpt-5 | size=3400 | empty= | a=b=c | pi|pe=1 | alone"
    )

    assert (parsed.harness, parsed.model, parsed.turns, parsed.bytes) == (
        "codex",
        "gpt-5",
        12,
        3400,
    )
    assert parsed.extra == [
        ("a", "b=c"),
        ("alone", ""),
        ("empty", ""),
        ("pi|pe", "1"),
        ("zeal", "high"),
    ]


@pytest.mark.parametrize(
    "number", ["", "-1", "1.5", "many", "٣", "9" * 25, "9" * 2_000, "²", "1e3"]
)
def test_a_number_that_is_none_is_missing(number: str) -> None:
    parsed = row(f'2026-02-10 08:00 | n | / | "t" | session={ID} | turns={number} | size={number}')

    assert (parsed.turns, parsed.bytes) == (None, None)


def test_turns_fit_their_column() -> None:
    big = f'2026-02-10 08:00 | n | / | "t" | session={ID} | turns={2**31} | size={2**31}'

    assert (row(big).turns, row(big).bytes) == (None, 2**31)


@pytest.mark.parametrize(
    ("cwd", "kept"), [("", None), ("C:\\a b", "C:\\a b"), ("/a | b", "/a | b"), ("/ä ö", "/ä ö")]
)
def test_any_folder_is_kept(cwd: str, kept: str | None) -> None:
    assert row(f'2026-02-10 08:00 | nas | {cwd} | "t" | session={ID}').cwd == kept


@pytest.mark.parametrize(
    "text",
    [
        "",
        "words",
        f'2026-02-30 08:00 | nas | / | "t" | session={ID}',
        f'2026-02-10 24:00 | nas | / | "t" | session={ID}',
        f'2026-02-10T08:00 | nas | / | "t" | session={ID}',
        f"2026-02-10 08:00 | nas | / | t | session={ID}",
        '2026-02-10 08:00 | nas | / | "t" | session=',
        '2026-02-10 08:00 | nas | / | "torn in',
        f'2026-02-10 08:00 | nas | / | "t" | session={ID} trailing',
        "2026-02-10 08:00 | nas | " + ' | "' * 100_000,
    ],
)
def test_a_line_that_is_no_row_is_none(text: str) -> None:
    assert parse_row(1, 1, text) is None


def test_the_time_is_as_written_and_of_no_zone() -> None:
    parsed = row(f'1970-01-02 00:01 | nas | / | "t" | session={ID}')

    assert (parsed.logged_local, parsed.logged_at) == (86_460_000_000, None)


def test_every_line_of_the_real_logs_is_a_row_or_a_reject(corpus: Path) -> None:
    rows = rejects = 0
    for path in sorted((corpus / "data" / "logs").iterdir()):
        flat = flatten_file(path, "catalogue")
        rows += len(flat.catalogue)
        rejects += len(flat.rejects)
        lines = [line for line in path.read_bytes().split(b"\n") if line]
        assert len(flat.catalogue) + len(flat.rejects) == len(lines)
        assert {row["host"] for row in flat.catalogue} == {path.stem}

    assert rows > 100
    assert rejects < 10
