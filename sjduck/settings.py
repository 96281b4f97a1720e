"""Where the archive and the sources are: flag, then environment, then file, then default."""

import difflib
import os
import socket
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import platformdirs

from sjduck.errors import UsageError

SOURCE_KINDS = ("claude", "scrubjay", "scrubjay-logs", "scrubjay-memory")
_KEYS = {"archive", "host", "timezone", "source", "this_machine"}
_SOURCE_KEYS = {"kind", "path", "name", "host"}


@dataclass(frozen=True, slots=True)
class Source:
    """A tree that etl reads; `host` is whose it is where the tree itself does not say.

    `name` keeps its documents the same ones when it moves; etl names those that have none.
    """

    kind: str
    path: Path
    host: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that a run or a question needs to know of its surroundings."""

    archive: Path
    host: str
    timezone: str
    sources: tuple[Source, ...]


def load(
    *,
    archive: str | None = None,
    timezone: str | None = None,
    sources: Iterable[str] = (),
    environment: Mapping[str, str] = os.environ,
) -> Settings:
    """Return the settings in force.

    `sources` are `KIND=PATH` flags and replace all others. Raises UsageError for a value that
    can't be taken, naming where it stands.
    """
    file = config_file(environment)
    config = _read_config(file)
    host = _host(environment, config)
    flags = list(sources)
    return Settings(
        archive=_folder(
            archive
            or environment.get("SJDUCK_ARCHIVE")
            or _beside(file, config.get("archive"))
            or platformdirs.user_data_dir("sjduck")
        ),
        host=host,
        timezone=(timezone and check_timezone(timezone)) or _standing_timezone(config, file),
        sources=tuple(
            _apart(_flagged(flags, host) if flags else _standing(config, environment, host, file))
        ),
    )


def config_file(environment: Mapping[str, str] = os.environ) -> Path:
    """Return where the configuration file is, or would be."""
    named = environment.get("SJDUCK_CONFIG")
    if named:
        return _folder(named)
    return _folder(environment.get("XDG_CONFIG_HOME") or "~/.config") / "sjduck" / "config.toml"


def machine_timezone() -> str:
    """Return this machine's zone by its IANA name, UTC where it has none."""
    import tzlocal

    try:
        return check_timezone(tzlocal.get_localzone_name() or "UTC")
    except Exception:  # noqa: BLE001 - a machine with a broken zone still has days: UTC ones
        return "UTC"


def check_timezone(name: str) -> str:
    """Return `name` where it is a time zone; raises UsageError."""
    try:
        ZoneInfo(name)
    except (ValueError, OSError, LookupError) as error:
        message = f"unknown time zone {name!r}; use an IANA name such as Europe/Berlin"
        raise UsageError(message) from error
    return name


def _read_config(file: Path) -> dict[str, Any]:
    try:
        config = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"can't read {file}: {error}") from error
    _check_keys(config, _KEYS, f"{file}")
    _check_texts(config, ("archive", "host", "timezone"), f"{file}")
    if not isinstance(config.get("this_machine", True), bool):
        raise UsageError(f"{file}: this_machine must be true or false")
    entries = config.get("source", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise UsageError(f"{file}: write each source as a [[source]] table")
    for entry in entries:
        _check_keys(entry, _SOURCE_KEYS, f"{file}: [[source]]")
        _check_texts(entry, _SOURCE_KEYS, f"{file}: [[source]]")
        for name in ("kind", "path"):
            if not entry.get(name):
                raise UsageError(f'{file}: a [[source]] needs {name} = "…"')
    return config


def _check_texts(table: Mapping[str, Any], names: Iterable[str], where: str) -> None:
    for name in sorted(names):
        if not isinstance(table.get(name, ""), str):
            raise UsageError(f"{where}: {name} must be a text")


def _check_keys(table: Mapping[str, Any], known: set[str], where: str) -> None:
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = (
                f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(sorted(known))}"
            )
            raise UsageError(f"{where}: unknown key {key!r}; {hint}")


def _host(environment: Mapping[str, str], config: Mapping[str, Any]) -> str:
    if named := environment.get("CLAUDE_HOST") or config.get("host"):
        return str(named)
    try:
        written = _folder("~/.config/scrubjay/host").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        written = ""
    return written or socket.gethostname().split(".")[0] or "localhost"


def _standing_timezone(config: Mapping[str, Any], file: Path) -> str:
    if not config.get("timezone"):
        return machine_timezone()
    try:
        return check_timezone(config["timezone"])
    except UsageError as error:
        raise UsageError(f"{file}: {error}") from error


def _beside(file: Path, named: str | None) -> str | None:
    """Return a path that a file names, which is relative to that file's folder."""
    return os.path.join(file.parent, os.path.expanduser(named)) if named else None


def _folder(named: str) -> Path:
    """Return a path as a person writes it, made absolute."""
    return Path(os.path.abspath(os.path.expanduser(named)))


def _source(kind: str, path: str, host: str, name: str = "") -> Source:
    if kind not in SOURCE_KINDS:
        near = difflib.get_close_matches(kind, SOURCE_KINDS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"kinds: {', '.join(SOURCE_KINDS)}"
        raise UsageError(f"unknown kind of source {kind!r}; {hint}")
    return Source(kind, _folder(path), host, name)


def _flagged(flags: Iterable[str], host: str) -> list[Source]:
    sources = []
    for flag in flags:
        kind, sign, path = flag.partition("=")
        if not sign or not path:
            raise UsageError(f"can't take source {flag!r}; write KIND=PATH")
        source = _source(kind, path, host)
        if not os.path.isdir(source.path):
            raise UsageError(f"source {flag!r} is not a folder; check the path")
        sources.append(source)
    return sources


def _standing(
    config: Mapping[str, Any], environment: Mapping[str, str], host: str, file: Path
) -> list[Source]:
    sources = []
    for entry in config.get("source", []):
        try:
            sources.append(
                _source(
                    entry["kind"],
                    _beside(file, entry["path"]) or "",
                    entry.get("host") or host,
                    entry.get("name") or "",
                )
            )
        except UsageError as error:
            raise UsageError(f"{file}: {error}") from error
    for variable, kind in (
        ("SCRUBJAY_LOCAL_CHATS", "scrubjay"),
        ("SCRUBJAY_DATA", "scrubjay-logs"),
        ("SCRUBJAY_MEMORY", "scrubjay-memory"),
    ):
        if path := environment.get(variable):
            sources.append(_source(kind, path, host))
    if config.get("this_machine", True):
        sources += [
            _source("claude", str(home), host)
            for home in _claude_homes(environment)
            if os.path.isdir(home / "projects")
        ]
    return sources


def _claude_homes(environment: Mapping[str, str]) -> list[Path]:
    if named := environment.get("CLAUDE_CONFIG_DIR"):
        return [_folder(part) for part in named.split(",") if part]
    return [_folder("~/.claude"), _folder("~/.config/claude")]


def _apart(sources: list[Source]) -> list[Source]:
    """Drop a tree that is named twice, and a memory tree that its storage root holds."""
    kept: list[Source] = []
    for source in sources:
        place = os.path.realpath(source.path)
        same = any(s.kind == source.kind and os.path.realpath(s.path) == place for s in kept)
        held = source.kind == "scrubjay-memory" and any(
            s.kind == "scrubjay" and os.path.realpath(s.path / "memory") == place for s in sources
        )
        if not (same or held):
            kept.append(source)
    return kept
