"""Numbers as a person reads them at a glance: $1.2k, 3.4 M, 12 %."""

_UNITS = ("", "k", "M", "B", "T")
# Keeps a number and its unit on one line.
_UNBROKEN = "\u00a0"


def dollars(amount: float | None) -> str:
    """Return US dollars: `$0.0042`, `$3.20`, `$1.2k`; what has no known price says so."""
    if amount is None:
        return "unpriced"
    sign, size = ("−" if amount < 0 else ""), abs(amount)
    if 0 < size < 0.01:
        return f"{sign}${size:.2g}" if size >= 0.0001 else f"{sign}<$0.0001"
    if size < 999.995:
        return f"{sign}${size:.2f}"
    number, unit = _scaled(size)
    return f"{sign}${number}{unit}"


def count(amount: float) -> str:
    """Return a count: `812`, `34.1 k`, `3.4 M`."""
    if amount < 999.5:
        return f"{amount:.0f}"
    number, unit = _scaled(amount)
    return f"{number}{_UNBROKEN}{unit}"


def percent(share: float | None) -> str:
    """Return a share: `0.4 %`, `12 %`; `–` where there is none."""
    if share is None:
        return "–"
    digits = 1 if 0 < share < 0.0995 or 0.9 < share < 1 else 0
    return f"{100 * share:.{digits}f}{_UNBROKEN}%"


def _scaled(amount: float) -> tuple[str, str]:
    unit = ""
    for unit in _UNITS:
        if amount < 999.5 or unit == _UNITS[-1]:
            break
        amount /= 1000
    return (f"{amount:.1f}" if amount < 99.95 else f"{amount:.0f}"), unit
