"""What a model's tokens cost: rates that one request falls under, from the price table or ours.

All amounts are in picodollars (10⁻¹² US dollars) a token or web search: whole numbers, so that
sums are exact in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from sjduck.modelnames import Priced, priced_model
from sjduck.settings import OwnPrice

if TYPE_CHECKING:
    from genai_prices.types import ConditionalPrice, ModelPrice, PriceVariant

UNITS = ("input", "cache_write_5m", "cache_write_1h", "cache_read", "output", "web_search")
_PICO_PER_MILLION = Decimal(10**6)
_PICO_PER_THOUSAND = Decimal(10**9)
_FIRST_DAY, _LAST_DAY = date(1970, 1, 1), date(9999, 12, 31)
_DAY_MINUTES = 24 * 60
_NO_END = 2**62
_PROBE = 10**6
# A tier or speed by which a request is not priced apart.
_STANDARD = frozenset({None, "", "standard", "default", "auto", "on_demand"})

# What some models cost besides, which isn't counted here: what theirs cost is not known.
_UNCOUNTED = ("requests_kcount", "output_reasoning_mtok")


class Request(NamedTuple):
    """What a request's price depends on besides its date and size, as logged."""

    model: str | None
    provider: str | None
    service_tier: str | None
    speed: str | None


@dataclass(frozen=True, slots=True)
class Rate:
    """What one kind of request costs while it holds; None where a unit has no price.

    It holds for `request` sent from `since` and before `until` (UTC days), from minute
    `from_minute` and before `to_minute` of the UTC day, whose input with cache is over
    `over_tokens` and at most `upto_tokens`.
    """

    request: Request
    priced_as: str
    source: str
    since: date
    until: date
    from_minute: int
    to_minute: int
    over_tokens: int
    upto_tokens: int
    input: int | None
    cache_write_5m: int | None
    cache_write_1h: int | None
    cache_read: int | None
    output: int | None
    web_search: int | None


def table_version() -> str:
    """Return the price table that is used, with its version."""
    from genai_prices import __version__

    return f"genai-prices {__version__}"


def rates(requests: Iterable[Request], own: Sequence[OwnPrice]) -> list[Rate]:
    """Return every rate that requests of these kinds can fall under; of unknown ones none.

    No two hold for the same request at once: own prices go before the table's from their day on.
    """
    found: list[Rate] = []
    for request in requests:
        ours = list(_own_rates(request, own))
        limit = min((rate.since for rate in ours), default=_LAST_DAY)
        found += _before(_joined(_table_rates(request)), limit)
        found += ours
    return found


def _joined(table: Iterable[Rate]) -> Iterable[Rate]:
    """Return the rates, those of one band that follow each other unchanged as one."""
    joined: list[Rate] = []
    for rate in table:
        for place, before in enumerate(joined):
            if replace(before, since=rate.since, until=rate.until) == rate and (
                before.until == rate.since
            ):
                joined[place] = replace(before, until=rate.until)
                break
        else:
            joined.append(rate)
    return joined


def _before(table: Iterable[Rate], limit: date) -> Iterator[Rate]:
    for rate in table:
        if rate.since < limit:
            yield replace(rate, until=min(rate.until, limit))


# -- our own ---------------------------------------------------------------------------------


def _own_rates(request: Request, own: Sequence[OwnPrice]) -> Iterator[Rate]:
    holding = sorted(
        (price for price in own if _holds(price, request)),
        key=lambda price: (price.since or _FIRST_DAY, price.provider is not None),
    )
    starts = [price.since or _FIRST_DAY for price in holding]
    spans = pairwise([*starts, _LAST_DAY])
    for price, (since, until) in zip(holding, spans, strict=True):
        if since < until:
            amounts = {unit: _own_amount(price, unit) for unit in UNITS}
            yield Rate(
                request, price.model, "config", since, until, 0, _DAY_MINUTES, -1, _NO_END,
                **amounts,
            )  # fmt: skip


def _holds(price: OwnPrice, request: Request) -> bool:
    return (
        price.model == request.model
        and price.provider in (None, "", request.provider)
        and _apart(price.service_tier) == _apart(request.service_tier)
        and _apart(price.speed) == _apart(request.speed)
    )


def _apart(name: str | None) -> str | None:
    """Return a tier or speed by which a request is priced apart, None for the standard ones."""
    return None if name in _STANDARD else name


def _own_amount(price: OwnPrice, unit: str) -> int | None:
    amount = getattr(price, unit)
    if amount is None:
        return None
    scale = _PICO_PER_THOUSAND if unit == "web_search" else _PICO_PER_MILLION
    return int((Decimal(str(amount)) * scale).to_integral_value())


# -- the price table -------------------------------------------------------------------------


def _table_rates(request: Request) -> Iterator[Rate]:
    """Yield what the price table says: what each rate is, is asked of the table itself."""
    priced = priced_model(request.model, request.provider) if request.model else None
    if priced is None:
        return
    context = _context(request)
    name, source = f"{priced.provider.id}/{priced.model.id}", table_version()
    for since, until in pairwise(_days(priced)):
        for from_minute, to_minute in pairwise(_minutes(priced)):
            moment = datetime.combine(since, time(), UTC) + timedelta(minutes=from_minute)
            prices = _prices(priced, moment, context)
            if prices is None or any(vars(prices).get(part) for part in _UNCOUNTED):
                continue
            for over, upto in pairwise(_bands(prices)):
                yield Rate(
                    request, name, source, since, until, from_minute, to_minute, over, upto,
                    **_amounts(prices, over, upto),
                )  # fmt: skip


def _context(request: Request) -> dict[str, str]:
    """Return by what a request is priced apart, in the table's words."""
    context = {}
    if speed := _apart(request.speed):
        context["speed"] = speed
    if tier := _apart(request.service_tier):
        context["processing" if tier == "batch" else "service_tier"] = tier
    return context


def _prices(priced: Priced, moment: datetime, context: dict[str, str]) -> ModelPrice | None:
    """Return the prices at a moment; None where a tier or speed has none of its own then."""
    if context:
        sold_here = any(priced.model is model for model in priced.provider.models)
        active = [v for v in priced.model.price_variants or () if _is_active(v, moment)]
        if not (sold_here and any(variant.when == context for variant in active)):
            return None
    return priced.model.get_prices(moment, context or None)


def _is_active(variant: PriceVariant, moment: datetime) -> bool:
    return variant.constraint is None or variant.constraint.active(moment)


def _conditions(priced: Priced) -> Iterator[ConditionalPrice | PriceVariant]:
    if isinstance(priced.model.prices, list):
        yield from priced.model.prices
    yield from priced.model.price_variants or ()


def _days(priced: Priced) -> list[date]:
    """Return the days on which a price may change, the first and last of all included."""
    starts = {getattr(part.constraint, "start_date", None) for part in _conditions(priced)}
    return sorted({_FIRST_DAY, _LAST_DAY, *(day for day in starts if day is not None)})


def _minutes(priced: Priced) -> list[int]:
    """Return the minutes of the UTC day at which a price may change."""
    edges = {0, _DAY_MINUTES}
    for part in _conditions(priced):
        for name in ("start_time", "end_time"):
            edge = getattr(part.constraint, name, None)
            if edge is not None:
                there = datetime.combine(date(2026, 1, 1), edge)
                there = there.astimezone(UTC) if there.tzinfo else there
                edges.add(there.hour * 60 + there.minute)
    return sorted(edges)


def _bands(prices: ModelPrice) -> list[int]:
    """Return the sizes of input over which a request costs more, with -1 and no end around."""
    tiers = (getattr(price, "tiers", ()) for price in vars(prices).values())
    return sorted({-1, _NO_END, *(tier.start for some in tiers for tier in some)})


def _amounts(prices: ModelPrice, over: int, upto: int) -> dict[str, int | None]:
    """Return what a token of each unit costs in a band, as the table itself computes it."""
    size = upto if upto < _NO_END else max(over, 0) + _PROBE
    full = {"input_tokens": size}
    plain = _price(prices, full)
    has = vars(prices).get
    is_priced = has("input_mtok") is not None
    # It costs more than a 5-minute write, whose price the table would take instead.
    lacks_1h = has("cache_write_mtok") is not None and has("cache_write_1h_mtok") is None
    return {
        "input": _each(plain, size) if is_priced else None,
        "cache_write_5m": _each(_price(prices, full | {"cache_write_tokens": size}), size),
        "cache_write_1h": None
        if lacks_1h
        else _each(
            _price(prices, full | {"cache_write_tokens": size, "cache_write_1h_tokens": size}), size
        ),
        "cache_read": _each(_price(prices, full | {"cache_read_tokens": size}), size),
        "output": _each(_price(prices, full | {"output_tokens": _PROBE}) - plain, _PROBE)
        if has("output_mtok") is not None
        else None,
        "web_search": _each(_price(prices, full | {"web_searches": 1000}) - plain, 1000)
        if has("web_searches_kcount") is not None
        else None,
    }


def _price(prices: ModelPrice, usage: dict[str, int]) -> Decimal:
    from genai_prices import Usage

    return prices.calc_price(Usage(**usage))["total_price"]


def _each(price: Decimal, count: int) -> int:
    return int((price * 10**12 / count).to_integral_value())
