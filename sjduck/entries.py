"""What questions by words find: documents, and sessions that only a catalogue knows."""

from dataclasses import asdict, dataclass
from threading import Lock

from sjduck.archive import Row, View
from sjduck.periods import Period, local
from sjduck.refs import path_of
from sjduck.sqlfiles import sql

# Of so many sets of filters the entries that pass are kept while the snapshot is.
_MOST_KEPT = 64
_KEPT = "eligible"
_lock = Lock()


@dataclass(frozen=True, slots=True)
class Filters:
    """What an entry has to be; None where anything will do."""

    host: str | None = None
    project: str | None = None
    harness: str | None = None
    type: str | None = None
    include_sidechains: bool = False


def keep_eligible(view: View, filters: Filters, span: Period, tz: str) -> None:
    """Leave the entries that pass the filters in `eligible`, copies of one session folded."""
    asked = filters, span, tz
    values = {**asdict(filters), "since_at": span.since_at, "until_at": span.until_at, "tz": tz}
    kept: dict[tuple[Filters, Period, str], str] = view.kept.setdefault(_KEPT, {})
    with _lock:
        name = kept.get(asked)
        if name is None and len(kept) < _MOST_KEPT:
            name = f"eligible_{len(kept)}"
            view.keep(name, sql("recall/eligible"), **values)
            kept[asked] = name
    if name is None:
        name = "eligible_now"
        view.table(name, sql("recall/eligible"), **values)
    view.define("eligible", f"from {name}")


def shown(row: Row, tz: str) -> Row:
    """Return what a listing would show of an entry."""
    there = local(row["dated_at"], tz)
    found: Row = {
        "type": row["type"],
        "date": f"{there:%Y-%m-%d}" if there else None,
        "host": row["host"],
        "project": row["project"],
        "topic": row["topic"],
        "sid": row["sid"],
    }
    if row["document"] is None:
        host = row["host"] or "the host it ran on"
        found["note"] = f"transcript not in this archive — recall it on {host}"
    else:
        found["path"] = path_of(row)
    others = sorted(set(row["hosts"] or ()) - {row["host"]})
    return {**found, "also_on": others} if others else found
