"""What is live at a moment: each writer's newest whole manifest and the segments it names."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson

from sjduck.errors import ArchiveUnusable, NewerFormat
from sjduck.mounts import silent
from sjduck.pruned import NOTHING, Pruned, Tombstones, body_of, from_body, standing

FORMAT = 1
TABLES = ("documents", "blocks", "calls", "catalogue", "rejects")
VECTORS = "embeddings"
SHARED = "_shared"
_SUFFIX = ".json"


@dataclass(frozen=True, slots=True)
class TableFile:
    """One Parquet file of a segment; `path` is relative to the archive."""

    path: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Segment:
    """The files that one run wrote for one host and year, and which documents in it are dead.

    `masked_by` are the rules by which its secrets are masked, empty where they are not; `masked`:
    document → in how many places one was.
    """

    name: str
    host: str | None
    year: int
    tables: Mapping[str, TableFile]
    first_at: str | None = None
    last_at: str | None = None
    dead: frozenset[int] = frozenset()
    masked_by: str = ""
    masked: Mapping[int, int] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        """Bytes of all its files."""
        return sum(file.bytes for file in self.tables.values())

    @property
    def live_documents(self) -> int:
        """Documents in it that are not dead."""
        return self.tables["documents"].rows - len(self.dead)

    @property
    def live_masked(self) -> dict[int, int]:
        """Documents in it that are not dead and have something masked."""
        return {d: places for d, places in self.masked.items() if d not in self.dead}


@dataclass(frozen=True, slots=True)
class IndexFile:
    """A search index over some of a writer's documents, and which of them are dead in it."""

    path: str
    documents: int
    bytes: int
    sha256: str
    dead: frozenset[int] = frozenset()

    @property
    def live_documents(self) -> int:
        """Documents in it that are not dead."""
        return self.documents - len(self.dead)


@dataclass(frozen=True, slots=True)
class VectorFile:
    """What a model made of some passages: a row each, by the hash of what the passage says."""

    path: str
    model: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """One generation of one writer: complete, so that a reader needs no other.

    `tombstones` are those set by this writer; `honoured` is the digest of everything pruned that
    its files are without.
    """

    writer: str
    host: str
    generation: int
    created_at: datetime
    sjduck: str
    state: str
    segments: tuple[Segment, ...]
    indexes: tuple[IndexFile, ...] = ()
    gone: Mapping[int, str] = field(default_factory=dict)
    sources: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    tombstones: Tombstones = field(default_factory=dict)
    honoured: str = ""
    vectors: tuple[VectorFile, ...] = ()

    @property
    def total_bytes(self) -> int:
        """Bytes of its segments, index files and vectors."""
        held: tuple[Iterable[Segment | IndexFile | VectorFile], ...]
        held = self.segments, self.indexes, self.vectors
        return sum(file.bytes for files in held for file in files)

    def dumps(self) -> bytes:
        """Return the manifest as checksummed JSON."""
        body = {
            "format": FORMAT,
            "writer": self.writer,
            "host": self.host,
            "generation": self.generation,
            "created_at": self.created_at.isoformat(),
            "sjduck": self.sjduck,
            "state": self.state,
            "segments": [_segment_body(segment) for segment in self.segments],
            "indexes": [
                {
                    "path": index.path,
                    "documents": index.documents,
                    "bytes": index.bytes,
                    "sha256": index.sha256,
                    "dead": sorted(index.dead),
                }
                for index in self.indexes
            ],
            "gone": {str(document): at for document, at in sorted(self.gone.items())},
            "sources": self.sources,
            "tombstones": body_of(self.tombstones),
            "honoured": self.honoured,
            "vectors": [
                {name: getattr(file, name) for name in VectorFile.__slots__}
                for file in self.vectors
            ],
        }
        return orjson.dumps({"manifest": body, "sha256": _checksum(body)})


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The live manifests of all writers at a moment, and what was pruned up to now."""

    root: Path
    manifests: tuple[Manifest, ...]
    pruned: Pruned = NOTHING

    @property
    def key(self) -> tuple[tuple[str, int], ...]:
        """What tells this snapshot from another: the generation of each writer."""
        return tuple((manifest.writer, manifest.generation) for manifest in self.manifests)

    @property
    def total_bytes(self) -> int:
        """Bytes of everything that is live: segments, index files and vectors."""
        return sum(manifest.total_bytes for manifest in self.manifests)

    @property
    def is_masked(self) -> bool:
        """Whether secrets are masked in any of it."""
        return any(segment.masked_by for segment in self.segments)

    @property
    def segments(self) -> list[Segment]:
        """Every live segment, writer by writer."""
        return [segment for manifest in self.manifests for segment in manifest.segments]

    @property
    def gone(self) -> dict[tuple[str, int], str]:
        """When the source of a document went, by writer and document."""
        return {
            (manifest.writer, document): at
            for manifest in self.manifests
            for document, at in manifest.gone.items()
        }


def folder_of(table: str, host: str | None, year: int) -> str:
    """Return the partition that a segment's file lies in, relative to the archive."""
    name = SHARED if host is None else quote(host, safe=" ").replace("_", "%5F", host[:1] == "_")
    return f"{table}/host={name}/year={year:04d}"


def manifest_folder(root: Path, writer: str) -> Path:
    """Return the folder of one writer's manifests."""
    return root / "manifests" / writer


def manifest_name(generation: int) -> str:
    """Return the file name of a generation."""
    return f"{generation:08d}{_SUFFIX}"


def generations(root: Path, writer: str) -> list[int]:
    """Return the generations of a writer that are there, oldest first."""
    try:
        names = os.listdir(manifest_folder(root, writer))
    except FileNotFoundError:
        return []
    stems = (name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))
    return sorted(int(stem) for stem in stems if stem.isdecimal() and stem.isascii())


def writers(root: Path) -> list[str]:
    """Return the writers of an archive; raises ArchiveUnusable where it can't be one.

    Every look at an archive begins here, and where its file system is dead, ends here.
    """
    if why := silent([root]).get(root):
        raise ArchiveUnusable(f"the archive {root} {why}; check that its server and network are up")
    try:
        with os.scandir(root / "manifests") as entries:
            return sorted(entry.name for entry in entries if entry.is_dir())
    except FileNotFoundError:
        return []
    except NotADirectoryError as error:
        raise ArchiveUnusable(f"{root} is not a folder; name a folder as archive") from error
    except OSError as error:
        raise ArchiveUnusable(f"can't read the archive {root}: {error.strerror}") from error


def read_manifest(root: Path, writer: str, generation: int) -> Manifest | None:
    """Return one manifest; None where it is gone or its checksum fails; raises NewerFormat."""
    try:
        raw = (manifest_folder(root, writer) / manifest_name(generation)).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ArchiveUnusable(f"can't read the archive {root}: {error.strerror}") from error
    try:
        whole = orjson.loads(raw)
        body = whole["manifest"]
        version = body["format"]
        if isinstance(version, int) and version > FORMAT:
            raise NewerFormat(
                f"{root} holds format {version}, this sjduck knows {FORMAT}; upgrade sjduck"
            )
        if whole["sha256"] != _checksum(body):
            return None
        return _manifest(body)
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return None


def newest_manifest(root: Path, writer: str, *, as_of: datetime | None = None) -> Manifest | None:
    """Return a writer's newest whole manifest, or its newest no later than `as_of`."""
    for generation in reversed(generations(root, writer)):
        manifest = read_manifest(root, writer, generation)
        if manifest and (as_of is None or manifest.created_at <= as_of):
            return manifest
    return None


def read_snapshot(root: Path, *, as_of: datetime | None = None) -> Snapshot:
    """Return what is live in an archive; a never-filled one has no manifests.

    What was pruned since `as_of` is not shown either.
    """
    newest = tuple(m for writer in writers(root) if (m := newest_manifest(root, writer)))
    pruned = standing(manifest.tombstones for manifest in newest)
    if as_of is None:
        return Snapshot(root, newest, pruned)
    then = (newest_manifest(root, writer, as_of=as_of) for writer in writers(root))
    return Snapshot(root, tuple(manifest for manifest in then if manifest), pruned)


def latest_key(root: Path) -> tuple[tuple[str, int], ...]:
    """Return the newest generation of each writer by file name alone, to notice new ones."""
    return tuple(
        (writer, numbers[-1]) for writer in writers(root) if (numbers := generations(root, writer))
    )


def history(root: Path) -> Iterator[Manifest]:
    """Yield every whole manifest that is kept, newest first by time."""
    found = [
        manifest
        for writer in writers(root)
        for generation in generations(root, writer)
        if (manifest := read_manifest(root, writer, generation))
    ]
    yield from sorted(found, key=lambda m: (m.created_at, m.writer, m.generation), reverse=True)


def utc_now() -> datetime:
    """Return this instant in UTC."""
    return datetime.now(UTC)


def _checksum(body: Mapping[str, Any]) -> str:
    return sha256(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _segment_body(segment: Segment) -> dict[str, Any]:
    return {
        "name": segment.name,
        "host": segment.host,
        "year": segment.year,
        "tables": {
            table: {"path": f.path, "rows": f.rows, "bytes": f.bytes, "sha256": f.sha256}
            for table, f in segment.tables.items()
        },
        "first_at": segment.first_at,
        "last_at": segment.last_at,
        "dead": sorted(segment.dead),
        "masked_by": segment.masked_by,
        "masked": {str(document): places for document, places in sorted(segment.masked.items())},
    }


def _manifest(body: Mapping[str, Any]) -> Manifest:
    return Manifest(
        writer=body["writer"],
        host=body["host"],
        generation=body["generation"],
        created_at=datetime.fromisoformat(body["created_at"]),
        sjduck=body["sjduck"],
        state=body["state"],
        segments=tuple(
            Segment(
                name=segment["name"],
                host=segment["host"],
                year=segment["year"],
                tables={
                    table: TableFile(**{key: file[key] for key in TableFile.__slots__})
                    for table, file in segment["tables"].items()
                },
                first_at=segment["first_at"],
                last_at=segment["last_at"],
                dead=frozenset(segment["dead"]),
                masked_by=segment.get("masked_by", ""),
                masked={int(d): places for d, places in segment.get("masked", {}).items()},
            )
            for segment in body["segments"]
        ),
        indexes=tuple(
            IndexFile(**{**index, "dead": frozenset(index["dead"])}) for index in body["indexes"]
        ),
        gone={int(document): at for document, at in body["gone"].items()},
        sources=body["sources"],
        tombstones=from_body(body.get("tombstones", ())),
        honoured=body.get("honoured", ""),
        vectors=tuple(
            VectorFile(**{name: file[name] for name in VectorFile.__slots__})
            for file in body.get("vectors", ())
        ),
    )
