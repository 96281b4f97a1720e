"""What questions by words find: documents, and sessions that only a catalogue knows."""

from dataclasses import asdict, dataclass

from sjduck.archive import Row, View
from sjduck.periods import Period, local
from sjduck.refs import path_of
from sjduck.sqlfiles import sql


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
    view.table(
        "eligible",
        sql("recall/eligible"),
        **asdict(filters),
        since_at=span.since_at,
        until_at=span.until_at,
        tz=tz,
    )


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
