"""What a check finds: how bad it is, what, where, and what to do about it."""

from dataclasses import asdict, dataclass

LEVELS = ("serious", "warning", "info")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing worth telling; `level` is one of LEVELS, serious where data or answers lack."""

    level: str
    what: str
    where: str
    remedy: str

    def row(self) -> dict[str, str]:
        """Return it as an answer has it."""
        return asdict(self)
