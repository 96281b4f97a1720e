"""Reading lines: what is whole is taken, what is broken is salvaged or said."""

from io import BytesIO
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etl import lines
from etl.lines import MAX_TEARS, Lines, RawLine, Reject, parse

RECORD = {"type": "user", "uuid": "u1", "timestamp": "2026-02-10T08:00:00Z", "message": {"n": 1}}
WHOLE = orjson.dumps(RECORD)


def records(raw: bytes) -> list[Any]:
    """Return the records of a line that has nothing else."""
    found, rejects = parse(RawLine(1, 0, raw))
    assert rejects == []
    return found


def rejects(raw: bytes, *, offset: int = 0) -> list[Reject]:
    """Return the rejects of a line that has nothing else."""
    found, rejected = parse(RawLine(1, offset, raw))
    assert found == []
    return rejected


def numbered(content: bytes) -> list[tuple[int, int, bytes]]:
    """Return a file's lines."""
    return [(line.number, line.offset, line.raw) for line in Lines(BytesIO(content))]


def test_lines_end_at_newlines_only() -> None:
    separators = "a\u2028b\u2029c\u0085d\re\x0bf\x0cg\x1ch".encode()

    assert numbered(separators + b"\n" + separators) == [
        (1, 0, separators + b"\n"),
        (2, len(separators) + 1, separators),
    ]


def test_the_last_line_needs_no_end_and_an_empty_file_has_no_line() -> None:
    assert numbered(b"") == []
    assert numbered(b"\n") == [(1, 0, b"\n")]
    assert numbered(b"a\n\nb") == [(1, 0, b"a\n"), (2, 2, b"\n"), (3, 3, b"b")]


def test_a_line_that_is_longer_than_the_limit_keeps_its_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 4)

    assert numbered(b"abcdefgh\nij\nklmn\no") == [
        (1, 0, b"abcd"),
        (1, 4, b"efgh"),
        (1, 8, b"\n"),
        (2, 9, b"ij\n"),
        (3, 12, b"klmn"),
        (3, 16, b"\n"),
        (4, 17, b"o"),
    ]


def test_the_digest_is_of_everything_read() -> None:
    content = b"a\nb\xff\n"
    by_line, whole = Lines(BytesIO(content)), Lines(BytesIO(content))
    list(by_line)
    whole.text()

    assert by_line.digest() == whole.digest()
    assert by_line.digest() != Lines(BytesIO(content)).digest()


def test_text_drops_the_bom_and_replaces_what_is_no_utf_8() -> None:
    assert Lines(BytesIO(b"\xef\xbb\xbf# caf\xc3\xa9 \xff\r\n")).text() == "# café \ufffd\r\n"


@pytest.mark.parametrize(
    "raw",
    [
        WHOLE,
        WHOLE + b"\n",
        WHOLE + b"\r\n",
        b"\t " + WHOLE + b" \n",
        b"\xef\xbb\xbf" + WHOLE + b"\n",
        WHOLE + b"\0" * 500 + b"\n",
        b"\0\0" + WHOLE,
        b"\xef\xbb\xbf\0" + WHOLE + b"\0\r\n",
        b"[" + WHOLE + b"]\n",
    ],
)
def test_what_stands_around_a_record_is_left_away(raw: bytes) -> None:
    assert records(raw) == [RECORD]


@pytest.mark.parametrize("between", [b"", b" ", b"\0\0\0", b"\r", "\u2028".encode()])
def test_two_records_on_a_line_are_two(between: bytes) -> None:
    assert records(WHOLE + between + WHOLE + b"\n") == [RECORD, RECORD]


def test_an_array_of_records_is_its_records() -> None:
    assert records(b"[" + WHOLE + b"," + WHOLE + b"]") == [RECORD, RECORD]


@pytest.mark.parametrize("raw", [b"", b"\n", b"  \r\n", b"\t\n"])
def test_a_blank_line_is_nothing(raw: bytes) -> None:
    assert records(raw) == []


def test_a_line_of_nuls_is_said_to_be_one() -> None:
    assert rejects(b"\0" * 40 + b"\n", offset=7) == [Reject(7, "NUL bytes", "")]


@pytest.mark.parametrize(
    "raw", [b"42\n", b'"text"\n', b"null\n", b"true\n", b"[]\n", b"[1, {}]\n", b"[[{}]]\n"]
)
def test_json_that_is_no_object_is_rejected(raw: bytes) -> None:
    assert rejects(raw, offset=3) == [Reject(3, "not a JSON object", raw.decode().strip())]


@pytest.mark.parametrize("raw", [b"plain text\n", b"-- a comment\n", b"\\", b"'x'", b"]\n", b"+1"])
def test_what_is_no_json_is_rejected(raw: bytes) -> None:
    assert rejects(raw) == [Reject(0, "not JSON", raw.decode().strip())]


def test_a_git_lfs_pointer_is_named() -> None:
    assert rejects(b"version https://git-lfs.github.com/spec/v1\n") == [
        Reject(0, "git-lfs pointer", "version https://git-lfs.github.com/spec/v1")
    ]


def test_a_torn_last_line_is_one_reject() -> None:
    torn = WHOLE[:-9]

    assert rejects(torn, offset=100) == [Reject(100, "torn line", torn.decode())]


@pytest.mark.parametrize("cut", range(1, len(WHOLE)))
def test_a_record_behind_a_torn_one_is_found_wherever_the_tear_is(cut: int) -> None:
    found, rejected = parse(RawLine(1, 50, WHOLE[:cut] + WHOLE + b"\n"))

    assert found == [RECORD]
    assert rejected == [Reject(50, "torn line", WHOLE[:cut].decode())]


def test_a_record_behind_noise_is_found_and_the_noise_said() -> None:
    found, rejected = parse(RawLine(1, 0, b"caf\xc3\xa9 \xff:" + WHOLE + b"\0caf\xe9" + WHOLE))

    assert found == [RECORD, RECORD]
    assert [(bad.offset, bad.reason, bad.sample) for bad in rejected] == [
        (0, "not JSON", "café \ufffd:"),
        (8 + len(WHOLE) + 1, "not JSON", "caf\ufffd"),
    ]


def test_an_object_inside_a_torn_record_is_no_record() -> None:
    inner = b'{"type":"user","uuid":"u","timestamp":"2026-02-10T08:00:00Z","message":{}}'
    torn = b'{"type":"progress","data":{"message":' + inner + b'},"parentToolUse'

    assert [bad.reason for bad in rejects(torn)] == ["torn line"]
    assert parse(RawLine(1, 0, torn + WHOLE))[0] == [RECORD]


def test_a_content_block_at_the_end_of_a_torn_record_is_no_record() -> None:
    torn = b'{"type":"assistant","message":{"content":[{"type":"text","text":"cut here"}'

    assert [bad.reason for bad in rejects(torn)] == ["torn line"]


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (b"\\ud83d", "\ufffd"),
        (b"\\udc00 \\ud83c\\udf5e", "\ufffd \U0001f35e"),
        (b"caf\xe9", "caf\ufffd"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"\xed\xa0\x80", "\ufffd\ufffd\ufffd"),
        (b"a\tb\x07c\x1b[31m", "a\tb\x07c\x1b[31m"),
        (b"a\0b", "a\0b"),
        (b"a\\u0000b", "a\0b"),
        ("\u2028\u2029\u0085\ufeff".encode(), "\u2028\u2029\u0085\ufeff"),
    ],
)
def test_every_text_can_be_written_down_again(written: bytes, text: str) -> None:
    (record,) = records(b'{"type":"' + written + b'","k":["' + written + b'"]}')

    assert record == {"type": text, "k": [text]}
    assert orjson.loads(orjson.dumps(record)) == record


def test_half_a_pair_in_a_key_is_replaced_too() -> None:
    assert records(b'{"\\ud83d":{"\\ud83d":1}}') == [{"\ufffd": {"\ufffd": 1}}]


def test_numbers_that_json_does_not_know_are_none_and_over_64_bits_are_floats() -> None:
    raw = b'{"a":NaN,"b":-Infinity,"c":1e999,"d":123456789012345678901,"e":' + b"9" * 5_000 + b"}"

    (record,) = records(raw)

    assert record == {
        "a": None,
        "b": None,
        "c": float("inf"),
        "d": 123456789012345678901.0,
        "e": float("inf"),
    }
    assert records(b'{"d":123456789012345678901}') == [{"d": record["d"]}]


@pytest.mark.parametrize("depth", [1_100, 100_000])
@pytest.mark.parametrize("end", [b"", b"1"])
def test_deep_nesting_is_rejected_and_harmless(depth: int, end: bytes) -> None:
    nested = b'{"a":' * depth + end + (b"}" * depth if end else b"")

    (bad,) = rejects(nested)

    assert bad.reason in ("nested too deeply", "torn line")
    assert len(bad.sample) == 200


def test_a_sample_is_short_and_can_be_written_down() -> None:
    (bad,) = rejects(b"\xff\xfe" * 5_000)

    assert bad.sample == "\ufffd" * 200


def test_a_line_with_very_many_tears_is_given_up_with_a_word() -> None:
    found, rejected = parse(RawLine(1, 0, (WHOLE[:-5] + WHOLE) * (MAX_TEARS + 20)))

    assert found == [RECORD] * MAX_TEARS
    assert len(rejected) == MAX_TEARS + 1
    assert rejected[-1].offset == MAX_TEARS * (2 * len(WHOLE) - 5)


@pytest.mark.parametrize(
    ("raw", "whole", "broken"),
    [
        (WHOLE[:-3] + b"x" * 20_000_000, 0, 1),
        (WHOLE * 50_000, 50_000, 0),
        ((WHOLE + b"\0") * 50_000, 50_000, 0),
        (WHOLE[:-5] * 50_000, 0, 1),
        (b'{"type":"a","message":{"content":[' + b'{"type":"text","text":"t"},' * 200_000, 0, 1),
        (b"{" * 5_000_000, 0, 1),
        (b'{"a":1 ' + b'{"type":' * 500_000, 0, 1),
        (b'{"a":1' + b" " * 5_000_000, 0, 1),
        (b"not JSON " * 500_000, 0, 1),
    ],
    ids=["long", "glued", "padded", "torn", "blocks", "braces", "nested", "spaces", "noise"],
)
def test_the_time_for_a_broken_line_grows_with_its_length(
    raw: bytes, whole: int, broken: int
) -> None:
    """Any of these takes hours where the time grows with the square."""
    found, rejected = parse(RawLine(1, 0, raw))

    assert (len(found), len(rejected)) == (whole, broken)


@settings(deadline=None)
@given(st.binary(max_size=60), st.binary(max_size=60))
def test_any_bytes_around_a_record_are_survived(before: bytes, after: bytes) -> None:
    found, rejected = parse(RawLine(1, 0, before + WHOLE + after))

    orjson.dumps([found, [list(bad) for bad in rejected]])
    assert all(isinstance(record, dict) for record in found)
    assert found or rejected


@settings(deadline=None)
@given(st.lists(st.integers(0, len(WHOLE)), max_size=6))
def test_every_whole_record_among_torn_ones_is_found(cuts: list[int]) -> None:
    raw = b"".join(WHOLE[:cut] for cut in cuts)

    found, rejected = parse(RawLine(1, 0, raw))

    torn = [cut for cut in cuts if 0 < cut < len(WHOLE)]
    assert found == [RECORD] * cuts.count(len(WHOLE))
    assert bool(rejected) == bool(torn)
