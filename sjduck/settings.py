"""Where the archive and the sources are: flag, then environment, then file, then default."""

import difflib
import os
import socket
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import date
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import platformdirs

from sjduck.errors import SjduckError, UsageError
from sjduck.mounts import resolved, silent

SOURCE_KINDS = (
    "claude", "codex", "copilot", "gemini", "opencode",
    "scrubjay", "scrubjay-logs", "scrubjay-memory",
)  # fmt: skip
_KEYS = {
    "archive", "host", "timezone", "source", "this_machine", "remote", "prices", "redact",
    "semantic",
}  # fmt: skip
POOLINGS = ("mean", "cls")
REDACT, AS_IT_IS = "secrets", "off"
_MOST_TOKENS = 8_192
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
class OwnPrice:
    """A price from the configuration: US dollars a million tokens, or a thousand web searches.

    Without a provider it holds for any, without a tier or speed for the standard one. A call
    that used something without an amount here is unpriced.
    """

    model: str
    provider: str | None = None
    service_tier: str | None = None
    speed: str | None = None
    since: date | None = None
    input: float | None = None
    cache_write_5m: float | None = None
    cache_write_1h: float | None = None
    cache_read: float | None = None
    output: float | None = None
    web_search: float | None = None


@dataclass(frozen=True, slots=True)
class Prices:
    """What the configuration says of prices; `note` is shown with every cost."""

    own: tuple[OwnPrice, ...] = ()
    note: str | None = None


TABLE_PRICES = Prices()


@dataclass(frozen=True, slots=True)
class Semantic:
    """Which model embeds; what is None is what is known of the model of that name.

    `path` is a folder with its model.onnx and tokenizer.json; `auto`: a watcher embeds, too.
    """

    model: str = "all-MiniLM-L6-v2"
    path: Path | None = None
    auto: bool = True
    query_prefix: str | None = None
    passage_prefix: str | None = None
    pooling: str | None = None
    max_tokens: int | None = None
    least_cosine: float | None = None


STANDARD_MODEL = Semantic()


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that a run or a question needs to know of its surroundings."""

    archive: Path
    host: str
    timezone: str
    sources: tuple[Source, ...]
    prices: Prices = TABLE_PRICES
    # The SSH host whose archive answers where this machine has none.
    remote: str | None = None
    semantic: Semantic = STANDARD_MODEL
    # REDACT masks secrets, AS_IT_IS does not; None leaves an archive masked that is so already.
    redact: str | None = None


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
        prices=_prices(config.get("prices", {}), f"{file}: [prices]"),
        remote=(
            environment.get("SJDUCK_REMOTE")
            or config.get("remote")
            or environment.get("SCRUBJAY_MCP_REMOTE")
            or None
        ),
        semantic=_semantic(config.get("semantic", {}), file),
        redact=_redact(environment, config, file),
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
    _check_texts(config, ("archive", "host", "timezone", "remote"), f"{file}")
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


def _prices(table: Any, where: str) -> Prices:
    if not isinstance(table, dict):
        raise UsageError(f"{where} must be a table")
    _check_keys(table, {"note", "model"}, where)
    _check_texts(table, ("note",), where)
    entries = table.get("model", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise UsageError(f"{where}: write each model as a [[prices.model]] table")
    return Prices(
        tuple(_own_price(entry, f"{where}: [[prices.model]]") for entry in entries),
        table.get("note") or None,
    )


def _own_price(entry: dict[str, Any], where: str) -> OwnPrice:
    names = {field.name for field in fields(OwnPrice)}
    texts = {"model", "provider", "service_tier", "speed"}
    _check_keys(entry, names, where)
    _check_texts(entry, texts, where)
    if not entry.get("model"):
        raise UsageError(f'{where} needs model = "…"')
    if type(entry.get("since", date.min)) is not date:
        raise UsageError(f"{where}: since must be a day such as 2026-03-31, without quotes")
    for name in sorted(names - texts - {"since"}):
        amount = entry.get(name, 0)
        is_amount = isinstance(amount, int | float) and not isinstance(amount, bool)
        if not is_amount or not 0 <= amount < 1_000_000:
            raise UsageError(f"{where}: {name} must be US dollars, 0 or more")
    return OwnPrice(**entry)


def _semantic(table: Any, file: Path) -> Semantic:
    where = f"{file}: [semantic]"
    if not isinstance(table, dict):
        raise UsageError(f"{where} must be a table")
    _check_keys(table, {field.name for field in fields(Semantic)}, where)
    _check_texts(table, ("model", "path", "query_prefix", "passage_prefix", "pooling"), where)
    if not isinstance(table.get("auto", True), bool):
        raise UsageError(f"{where}: auto must be true or false")
    if table.get("pooling", "mean") not in POOLINGS:
        raise UsageError(f"{where}: pooling must be one of: {', '.join(POOLINGS)}")
    tokens, cosine = table.get("max_tokens", 1), table.get("least_cosine", 0)
    if type(tokens) is not int or not 1 <= tokens <= _MOST_TOKENS:
        raise UsageError(f"{where}: max_tokens must be a whole number from 1 to {_MOST_TOKENS}")
    if type(cosine) not in (int, float) or not -1 <= cosine <= 1:
        raise UsageError(f"{where}: least_cosine must be a number from -1 to 1")
    path = _beside(file, table.get("path"))
    named = {key: value for key, value in table.items() if value != "" or "prefix" in key}
    return Semantic(**{**named, "path": _folder(path) if path else None})


def _redact(environment: Mapping[str, str], config: Mapping[str, Any], file: Path) -> str | None:
    for where, value in (
        ("SJDUCK_REDACT", environment.get("SJDUCK_REDACT")),
        (f"{file}: redact", config.get("redact")),
    ):
        if value in (REDACT, AS_IT_IS):
            return str(value)
        if value not in (None, ""):
            raise UsageError(f'{where} must be "{REDACT}" or "{AS_IT_IS}", not {value!r}')
    return None


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
        if why := silent([source.path]).get(source.path):
            raise SjduckError(f"source {flag!r} {why}; check that its server and network are up")
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
            _source(home.kind, str(folder), host)
            for home in _HOMES
            for folder in home.folders(environment)
            if any((folder / name).exists() for name in home.holds)
        ]
    return sources


@dataclass(frozen=True, slots=True)
class _Home:
    """Where a harness keeps its sessions on this machine; `below` is the way from `variable`."""

    kind: str
    variable: str
    below: str
    defaults: tuple[str, ...]
    holds: tuple[str, ...]

    def folders(self, environment: Mapping[str, str]) -> list[Path]:
        """Return the folders that may be one."""
        if named := environment.get(self.variable):
            return [_folder(os.path.join(part, self.below)) for part in named.split(",") if part]
        return [_folder(folder) for folder in self.defaults]


_HOMES = (
    _Home("claude", "CLAUDE_CONFIG_DIR", "", ("~/.claude", "~/.config/claude"), ("projects",)),
    _Home("codex", "CODEX_HOME", "", ("~/.codex",), ("sessions", "archived_sessions")),
    _Home("copilot", "COPILOT_HOME", "", ("~/.copilot",), ("session-state",)),
    _Home("gemini", "GEMINI_CLI_HOME", ".gemini", ("~/.gemini",), ("tmp",)),
    _Home(
        "opencode", "XDG_DATA_HOME", "opencode", ("~/.local/share/opencode",),
        ("storage", "opencode.db"),
    ),
)  # fmt: skip


def _apart(sources: list[Source]) -> list[Source]:
    """Drop a tree that is named twice, and a memory tree that its storage root holds."""
    kept: list[Source] = []
    for source in sources:
        place = resolved(source.path)
        same = any(s.kind == source.kind and resolved(s.path) == place for s in kept)
        held = source.kind == "scrubjay-memory" and any(
            s.kind == "scrubjay" and resolved(s.path / "memory") == place for s in sources
        )
        if not (same or held):
            kept.append(source)
    return kept
