"""Where secrets stand in an archive, and whether what masks them can."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from itertools import islice

from sjduck import masking
from sjduck.archive import Archive, Row, View
from sjduck.bounds import Answer, page
from sjduck.doctor.findings import Finding
from sjduck.errors import SjduckError
from sjduck.masking import Secret
from sjduck.mounts import silent
from sjduck.readable import shown_text
from sjduck.settings import AS_IT_IS, REDACT, Settings
from sjduck.snapshots import Manifest, read_snapshot
from sjduck.sqlfiles import sql

LIMIT = 100
MAX_CHARS = 12_000
_BEFORE, _EXCERPT = 40, 120
_INSTALL = "run pip install 'sjduck[secrets]' in this environment"


def secrets(
    settings: Settings, *, limit: int = LIMIT, offset: int = 0, max_chars: int = MAX_CHARS
) -> Answer:
    """Return where secrets stand, newest documents first, and how many there are of each kind.

    A row has the line of the readable, or, where that leaves the text out, of the source alone;
    `secret` is the same number for the same one. No row holds a secret. Raises SjduckError where
    the rules are not installed.
    """
    archive = Archive(settings.archive, timezone=settings.timezone, redact=AS_IT_IS)
    try:
        rows, masked = archive.ask(lambda view: (list(_rows(view)), _masked(view)))
    finally:
        archive.close()
    offset = max(offset, 0)
    head = {"archive": str(settings.archive), "tz": settings.timezone, "masked": masked}
    shown = islice(rows, offset, offset + limit)
    return page(
        {**head, "kinds": _kinds(rows)},
        [{name: row[name] for name in row if name != "document"} for row in shown],
        name="items",
        total=len(rows),
        offset=offset,
        max_chars=max_chars,
    )


def _rows(view: View) -> Iterator[Row]:
    suspects = view.rows(sql("doctor/suspects"), hint=masking.hint(), tz=view.timezone)
    texts = [_shown(row) for row in suspects]
    numbers: dict[str, int] = {}
    found = masking.find_all(texts)
    hidden = [number for number in range(len(texts)) if number not in found]
    # A command alone is shown of a call's input: in the rest of it may stand one, too.
    inputs = masking.find_all([suspects[number]["text"] for number in hidden])
    found |= {hidden[at]: secrets for at, secrets in inputs.items()}
    for number, secrets in sorted(found.items()):
        row, text = suspects[number], texts[number]
        is_shown = number not in set(hidden)
        text = text if is_shown else row["text"]
        for secret in secrets:
            value = "\n".join(text[start:end] for start, end in secret.spans)
            yield {
                "document": row["document"],
                "type": row["type"],
                "date": row["begun"] and f"{row['begun']:%Y-%m-%d}",
                "host": row["host"],
                "project": row["project"],
                "sid": row["sid"] or row["stem"],
                "line": _line(row, text, secret, is_shown=is_shown),
                "source_line": row["source_line"],
                "kind": secret.kind,
                "secret": numbers.setdefault(value, len(numbers) + 1),
                "text": _excerpt(text, secrets, secret),
            }


def _shown(row: Row) -> str:
    if row["line_start"] is None:
        return str(row["text"])
    told = {name: row[name] for name in ("tool_name", "is_error")}
    return shown_text(row["kind"], row["text"], **told)


def _line(row: Row, text: str, secret: Secret, *, is_shown: bool) -> int | None:
    if row["line_start"] is None:
        return None
    return int(row["line_start"]) + (text.count("\n", 0, secret.start) if is_shown else 0)


def _excerpt(text: str, secrets: list[Secret], secret: Secret) -> str:
    """Return the line that a secret begins in, every secret in it masked, cut around this one."""
    first = text.rfind("\n", 0, secret.start) + 1
    last = text.find("\n", secret.start)
    last = len(text) if last < 0 else last
    pieces, at, begin = [], first, 0
    for start, end, kind in sorted((*span, s.kind) for s in secrets for span in s.spans):
        if first <= start < last:
            pieces += [text[at:start]]
            if start == secret.start:
                begin = sum(map(len, pieces))
            pieces += [masking.mask_of(kind)]
            at = end
    line = "".join([*pieces, text[at:last]])
    begin = max(begin - _BEFORE, 0)
    return ("…" if begin else "") + line[begin : begin + _EXCERPT].strip()


def _kinds(rows: list[Row]) -> list[Row]:
    """Return how many places, secrets and documents there are of each kind, most places first."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["kind"]].append(row)
    return [
        {
            "kind": kind,
            "places": len(group),
            "secrets": len({row["secret"] for row in group}),
            "documents": len({row["document"] for row in group}),
        }
        for kind, group in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    ]


def _masked(view: View) -> Row:
    """Return how much of what is stored is masked already."""
    masked = [segment.live_masked for segment in view.snapshot.segments]
    return {
        "places": sum(sum(places.values()) for places in masked),
        "documents": sum(map(len, masked)),
    }


# -- findings ------------------------------------------------------------------------------


def secret_findings(settings: Settings) -> Iterator[Finding]:
    """Yield what keeps secrets from being masked as the configuration asks."""
    manifests: tuple[Manifest, ...] = ()
    if not silent([settings.archive]):
        # What is wrong with the archive is found where that is looked at.
        with suppress(SjduckError):
            manifests = read_snapshot(settings.archive).manifests
    is_masked = any(segment.masked_by for m in manifests for segment in m.segments)
    is_on = settings.redact == REDACT or (settings.redact is None and is_masked)
    if is_on and find_spec("detect_secrets") is None:
        yield Finding(
            "serious",
            "secrets are to be masked, and detect-secrets is not installed: runs fail",
            "this environment",
            f'{_INSTALL}, or set redact = "{AS_IT_IS}"',
        )
    if settings.redact is None and is_masked:
        yield Finding(
            "info",
            "secrets in it are masked, and the configuration here does not say so: it stays masked",
            str(settings.archive),
            f'set redact = "{REDACT}" in the configuration, or "{AS_IT_IS}" to end it',
        )
    for manifest in manifests:
        left = sum(not segment.masked_by for segment in manifest.segments)
        if settings.redact == REDACT and left:
            yield Finding(
                "info",
                f"{left:,} of its segments hold what secrets there are: they are masked when read",
                f"manifests/{manifest.writer} on {manifest.host}",
                f"run 'sjduck etl' there with redact = \"{REDACT}\"",
            )
