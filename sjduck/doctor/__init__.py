"""Look over an archive and what it is filled from: what is wrong, and the remedy of each.

Nothing here writes: `sjduck doctor --fix` asks the etl to.
"""

import os
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from sjduck.bounds import Answer
from sjduck.doctor.archive import archive_findings
from sjduck.doctor.findings import LEVELS, Finding
from sjduck.doctor.machine import machine_findings
from sjduck.doctor.secrets import secret_findings
from sjduck.doctor.sources import source_findings
from sjduck.errors import UsageError
from sjduck.settings import Settings, config_file, load


def diagnose(
    archive: str | None = None,
    *,
    with_checksums: bool = True,
    environment: Mapping[str, str] = os.environ,
) -> Answer:
    """Return every finding, the worst first, and how many there are of each level.

    Raises nothing for what is wrong with the configuration: that is a finding.
    """
    settings, findings = _settings(archive, environment)
    findings += source_findings(settings)
    findings += archive_findings(settings, with_checksums=with_checksums)
    findings += machine_findings(settings.archive)
    findings += secret_findings(settings)
    findings.sort(key=lambda finding: LEVELS.index(finding.level))
    counts = {level: sum(f.level == level for f in findings) for level in LEVELS}
    return {
        "archive": str(settings.archive),
        "with_checksums": with_checksums,
        **counts,
        "findings": [finding.row() for finding in findings],
    }


def _settings(
    archive: str | None, environment: Mapping[str, str]
) -> tuple[Settings, list[Finding]]:
    """Return the settings in force; without the configuration where that can't be taken."""
    try:
        return load(archive=archive, environment=environment), []
    except UsageError as error:
        file = config_file(environment)
        bare = {**environment, "SJDUCK_CONFIG": os.devnull}
        settings = load(archive=archive or _archive_in(file, environment), environment=bare)
        found = Finding(
            "serious",
            f"the configuration can't be taken: {error}",
            str(file),
            "correct it; until then every command fails, and the rest here is about the defaults",
        )
        return settings, [found]


def _archive_in(file: Path, environment: Mapping[str, str]) -> str | None:
    """Return the archive that a configuration names, whatever else is wrong with it."""
    if environment.get("SJDUCK_ARCHIVE"):
        return None
    with suppress(OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        named = tomllib.loads(file.read_text(encoding="utf-8-sig")).get("archive")
        if isinstance(named, str) and named:
            return os.path.join(file.parent, os.path.expanduser(named))
    return None


def lines(answer: Answer) -> Iterator[str]:
    """Yield the findings as a person reads them."""
    for finding in answer["findings"]:
        where = f" ({finding['where']})" if finding["where"] else ""
        yield f"{finding['level']:<8} {finding['what']}{where}"
        if finding["remedy"]:
            yield f"{'':<8} → {finding['remedy']}"
