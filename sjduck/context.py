"""The blocks around a hit, whole: what was said, thought, called and put out."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from sjduck import sidecars, unrolled
from sjduck.allotment import Piece, allot
from sjduck.archive import Row, View, question
from sjduck.bounds import MAX_REPLY_BYTES, PAGING_CHARACTERS, Answer, bound, compact, lowered_note
from sjduck.confine import allowed_roots, is_within
from sjduck.errors import UsageError
from sjduck.mounts import folders
from sjduck.periods import local
from sjduck.redaction import masked_text
from sjduck.refs import is_answer, path_of, resolve, source_path
from sjduck.sqlfiles import sql

MAX_CHARS = 24_000
MAX_BLOCKS = 50
_PAGE = 6
# Room for how a block that was cut goes on.
_REST_CHARACTERS = 50


@question
def context(
    view: View,
    ref: str,
    *,
    line: int | None = None,
    turn: int | None = None,
    uuid: str | None = None,
    seq: int | None = None,
    before: int = 3,
    after: int = 3,
    offset: int = 0,
    max_chars: int = MAX_CHARS,
) -> Answer:
    """Return the blocks at a place of a document and those around, whole where there is room.

    The place is a line of the readable, a turn, a message's uuid, or a block's `seq`. A block
    that was cut says in `rest` how its text goes on: `offset` is the character (from 0) of the
    first block there, given alone. Raises UsageError for no place, or several.
    """
    place = _place(line=line, turn=turn, uuid=uuid, seq=seq)
    max_chars = bound(max_chars, MAX_CHARS)
    document = resolve(view, ref)
    if is_answer(document):
        return document
    file = view.file_of("blocks", document)
    if file is None:
        raise UsageError(f"a {document['type']} without blocks has no context; sj_get reads it")
    values = {"file": file, "document": document["document"]}
    found = view.row(sql("context/centre"), **place, **values)
    if found is None or found["first_seq"] is None:
        return {"path": path_of(document), "blocks": [], "hint": _nothing_there(document, place)}
    offset = max(offset, 0)
    window = _window(found, before, after, alone=offset > 0)
    rows = view.rows(sql("context/blocks"), first=window.first, last=window.last, **values)
    read = _read_masked if view.redaction.hides(document) else sidecars.read
    return _shown(
        document, rows, window, read, tz=view.timezone, offset=offset, max_chars=max_chars
    )


@dataclass(frozen=True, slots=True)
class _Window:
    """Blocks by their `seq`: those that are shown, those asked for, and the document's last."""

    first: int
    last: int
    first_asked: int
    last_asked: int
    end: int

    def __contains__(self, seq: int) -> bool:
        return self.first_asked <= seq <= self.last_asked

    def distance(self, seq: int) -> int:
        """Return how far a block is from those that were asked for."""
        return max(self.first_asked - seq, seq - self.last_asked, 0)


def _place(**places: int | str | None) -> dict[str, int | str | None]:
    given = [name for name, value in places.items() if value is not None]
    if len(given) != 1:
        raise UsageError(f"give one of {', '.join(places)}: where in the document")
    return places


def _window(found: Row, before: int, after: int, *, alone: bool) -> _Window:
    """Return the blocks to show; `alone`: the first one that was asked for."""
    first, end = found["first_seq"], found["end_seq"]
    if alone:
        return _Window(first, first, first, first, end)
    last = min(found["last_seq"], first + MAX_BLOCKS - 1)
    before, after = (min(max(count, 0), MAX_BLOCKS) for count in (before, after))
    return _Window(max(first - before, 0), min(last + after, end), first, last, end)


def _nothing_there(document: Row, place: dict[str, int | str | None]) -> str:
    if place["line"] is not None:
        return f"it has {document['lines']} lines"
    if place["turn"] is not None:
        return f"it has {document['turns']} turns"
    return "no block of it has that uuid" if place["uuid"] is not None else "no block has that seq"


def _source(document: Row) -> Answer:
    """Return where the source of a document is; where it is not there, the archive answers."""
    path = os.path.join(document["source_root"], document["source_path"])
    is_part = unrolled.is_gathered(document["source_format"])
    is_there = bool(folders([Path(document["source_root"])]))
    gone_at = document["source_gone_at"]
    if is_there and gone_at is None and (is_part or _is_inside(document, path)):
        return {"source": source_path(document)}
    why = f"gone since {gone_at:%Y-%m-%d}" if gone_at else "not on this machine"
    return {"source": f"archive: the source file is {why}"}


def _is_inside(document: Row, path: str) -> bool:
    roots = allowed_roots(document["source_root"], document["source_kind"])
    return os.path.isfile(path) and is_within(path, roots)


# Reads a part of a file that belongs to a document; None where it can't be read.
_Read = Callable[[Row, str, int, int], str | None]


def _read_masked(document: Row, name: str, offset: int, characters: int) -> str | None:
    """Return text of a moved-out output, masked as a whole: a part may begin within a secret."""
    whole = sidecars.read(document, name, 0, 0)
    if whole is None:
        return None
    return masked_text(whole)[offset : offset + characters if characters else None]


def _shown(
    document: Row,
    rows: Sequence[Row],
    window: _Window,
    read: _Read,
    *,
    tz: str,
    offset: int,
    max_chars: int,
) -> Answer:
    """Return as much of the blocks as there is room for, and how to go on."""
    rows = sorted(rows, key=lambda row: (window.distance(row["seq"]), row["seq"]))
    texts, notes = _texts(document, rows, read, offset, max_chars + 1 if max_chars else 0)
    answer: Answer = {"path": path_of(document), **_source(document), "tz": tz}
    if document["also_on"]:
        answer["also_on"] = document["also_on"]
    if notes:
        answer["notes"] = notes
    if max_chars > MAX_REPLY_BYTES:
        answer["note"] = lowered_note()
    frames = [_frame(row, window, tz, texts[row["seq"]]) for row in rows]
    pieces = [
        Piece(compact(frame) + " " * _REST_CHARACTERS, texts[row["seq"]].text, row["seq"] in window)
        for frame, row in zip(frames, rows, strict=True)
    ]
    given = allot(pieces, max_chars, compact(answer) + " " * PAGING_CHARACTERS)
    blocks = []
    for frame, piece, text in zip(frames, pieces, given, strict=False):
        rest = f"seq={frame['seq']} offset={offset + len(text)}"
        is_cut = len(text) < len(piece.text)
        blocks.append({**frame, "text": text, **({"rest": rest} if is_cut else {})})
    blocks.sort(key=itemgetter("seq"))
    return {**answer, "blocks": blocks, **_further(blocks, window)}


def _further(blocks: Sequence[Row], window: _Window) -> Answer:
    """Return the arguments that give the blocks above and below those shown."""
    first, last = blocks[0]["seq"], blocks[-1]["seq"]
    further = {}
    if first > 0:
        further["earlier"] = f"{first} blocks: seq={first - 1} before={_PAGE - 1} after=0"
    if last < window.end:
        further["later"] = f"{window.end - last} blocks: seq={last + 1} before=0 after={_PAGE - 1}"
    return further


class _Text(NamedTuple):
    """The text of a block, and the file that it was moved out to."""

    text: str
    file: str | None = None


def _texts(
    document: Row, rows: Sequence[Row], read: _Read, offset: int, most: int
) -> tuple[dict[int, _Text], list[str]]:
    """Return the texts of blocks, at most so many characters of each, and what can't be read."""
    texts, notes = {}, []
    for row in rows:
        name = sidecars.moved_out(document, row)
        text = read(document, name, offset, most) if name else None
        if text is None:
            texts[row["seq"]] = _Text(row["text"][offset : offset + most if most else None])
            if name:
                notes.append(f"{name} can't be read: of seq {row['seq']} only the start is here")
        else:
            texts[row["seq"]] = _Text(text, name)
    return texts, notes


def _frame(row: Row, window: _Window, tz: str, text: _Text) -> Row:
    """Return what is said of a block beside its text; what does not apply is left out."""
    there = local(row["sent_at"], tz)
    frame = {
        "seq": row["seq"],
        "is_hit": row["seq"] in window or None,
        "turn": row["turn"],
        "line": row["line_start"],
        "line_end": row["line_end"],
        "role": row["role"],
        "kind": row["kind"],
        "tool": row["tool_name"],
        "is_error": row["is_error"] or None,
        "sent_at": f"{there:%Y-%m-%d %H:%M:%S}" if there else None,
        "uuid": row["uuid"],
        "source_line": row["source_line"],
        "file": text.file,
    }
    return {name: value for name, value in frame.items() if value is not None}
