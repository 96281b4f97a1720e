"""Whether the files of an archive are what its manifests say."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path

from sjduck.snapshots import (
    IndexFile,
    Manifest,
    generations,
    manifest_folder,
    manifest_name,
    read_manifest,
    writers,
)


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file as manifests name it; `rows` is None for an index file."""

    path: str
    writer: str
    bytes: int
    sha256: str
    rows: int | None


@dataclass(frozen=True, slots=True)
class Damage:
    """A file that is not what it should be, and in what way.

    `is_live`: the newest generation of its writer names it, or it is a manifest, which may have
    named what no other does.
    """

    path: str
    writer: str
    what: str
    is_live: bool


def named_files(manifests: Iterable[Manifest]) -> dict[str, NamedFile]:
    """Return each file that some manifests name, once."""
    return {file.path: file for manifest in manifests for file in _files(manifest)}


def damage_of(root: Path, file: NamedFile, *, with_checksum: bool) -> str | None:
    """Return what is wrong with a file; None where nothing is.

    Without checksums its size is looked at, and the footer of a Parquet file.
    """
    path = root / file.path
    try:
        size = path.stat().st_size
        if size != file.bytes:
            return f"has {size:,} of {file.bytes:,} bytes"
        if with_checksum:
            with path.open("rb") as opened:
                if file_digest(opened, "sha256").hexdigest() != file.sha256:
                    return "its checksum is wrong"
            return None
        return _damage_of_footer(path, file.rows) if file.rows is not None else None
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"can't be read: {error.strerror or error}"


def damages(root: Path, *, with_checksums: bool = True) -> Iterator[Damage]:
    """Yield each damaged file that a kept generation of any writer names, manifests too."""
    for writer in writers(root):
        yield from damages_of(root, writer, with_checksums=with_checksums)


def damages_of(root: Path, writer: str, *, with_checksums: bool) -> Iterator[Damage]:
    """Yield each damaged file of one writer."""
    kept = _whole(root, writer)
    live = named_files([kept[max(kept)]] if kept else [])
    for path, file in sorted(named_files(kept.values()).items()):
        what = damage_of(root, file, with_checksum=with_checksums)
        # What a run has thinned out meanwhile is not missed.
        if what and (path in live or path in named_files(_whole(root, writer).values())):
            yield Damage(path, writer, what, is_live=path in live)
    for number in generations(root, writer):
        manifest = manifest_folder(root, writer) / manifest_name(number)
        is_whole = number in kept or read_manifest(root, writer, number) is not None
        if not is_whole and manifest.exists():
            path = manifest.relative_to(root).as_posix()
            yield Damage(path, writer, "is not whole", is_live=True)


def verify(root: Path) -> dict[str, object]:
    """Return how many files there are, and which are not what their checksums say."""
    found = list(damages(root))
    files = named_files(m for writer in writers(root) for m in _whole(root, writer).values())
    return {
        "archive": str(root),
        "files": len(files),
        "bytes": sum(file.bytes for file in files.values()),
        "damaged": [
            {"path": d.path, "what": d.what, "writer": d.writer, "is_live": d.is_live}
            for d in found
        ],
    }


def unnamed_files(root: Path, folders: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Yield each data file that no manifest names, with its size: a killed run left it."""
    manifests = [m for writer in writers(root) for m in _whole(root, writer).values()]
    named = named_files(manifests)
    for folder in folders:
        for place, _, names in os.walk(root / folder):
            for name in sorted(names):
                path = os.path.relpath(os.path.join(place, name), root).replace(os.sep, "/")
                if path not in named:
                    try:
                        yield path, os.stat(os.path.join(place, name)).st_size
                    except FileNotFoundError:  # swept meanwhile
                        continue


def _whole(root: Path, writer: str) -> dict[int, Manifest]:
    return {
        number: manifest
        for number in generations(root, writer)
        if (manifest := read_manifest(root, writer, number))
    }


def _files(manifest: Manifest) -> Iterator[NamedFile]:
    for segment in manifest.segments:
        for file in segment.tables.values():
            yield NamedFile(file.path, manifest.writer, file.bytes, file.sha256, file.rows)
    for vectors in manifest.vectors:
        named = vectors.path, manifest.writer, vectors.bytes, vectors.sha256
        yield NamedFile(*named, vectors.rows)
    for index in manifest.indexes:
        yield _index_file(manifest.writer, index)


def _index_file(writer: str, index: IndexFile) -> NamedFile:
    return NamedFile(index.path, writer, index.bytes, index.sha256, None)


def _damage_of_footer(path: Path, rows: int) -> str | None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        found = pq.read_metadata(path).num_rows
    except pa.ArrowException as error:
        return f"its footer can't be read: {str(error).split(chr(10), 1)[0]}"
    return None if found == rows else f"has {found:,} of {rows:,} rows"
