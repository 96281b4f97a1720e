"""Rates of requests: equal to the price table's own sums, and none where a price is a guess."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import genai_prices
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sjduck.modelnames import priced_model
from sjduck.prices import UNITS, Rate, Request, rates
from sjduck.settings import OwnPrice

STANDARD = [
    ("claude-sonnet-4-5-20250929", None),
    ("claude-opus-4-6", "anthropic"),
    ("claude-haiku-4-5-20251001", "aws-bedrock"),
    ("claude-3-5-sonnet-20241022", None),
    ("gpt-5.5", "openai"),
    ("gpt-5-codex", None),
    ("gemini-2.5-pro", "google"),
    ("deepseek-chat", None),
    ("glm-4.7", None),
]
COUNTS = st.integers(0, 400_000)


def rate_of(model: str, provider: str | None, moment: datetime, size: int) -> Rate:
    """Return the one rate that a request falls under."""
    minute = 60 * moment.hour + moment.minute
    (rate,) = [
        rate
        for rate in rates([Request(model, provider, None, None)], ())
        if rate.since <= moment.date() < rate.until
        and rate.from_minute <= minute < rate.to_minute
        and rate.over_tokens < size <= rate.upto_tokens
    ]
    return rate


@given(
    st.sampled_from(STANDARD),
    st.datetimes(datetime(2025, 6, 1), datetime(2026, 12, 31)),
    st.tuples(COUNTS, COUNTS, COUNTS, COUNTS, COUNTS),
)
def test_a_standard_request_costs_what_the_price_table_says(
    named: tuple[str, str | None], moment: datetime, counts: tuple[int, int, int, int, int]
) -> None:
    model, provider = named
    fresh, write_5m, write_1h, read, output = counts
    size = fresh + write_5m + write_1h + read
    priced = priced_model(model, provider)
    assert priced is not None
    usage = genai_prices.Usage(
        input_tokens=size,
        cache_write_tokens=write_5m + write_1h,
        cache_write_1h_tokens=write_1h,
        cache_read_tokens=read,
        output_tokens=output,
    )
    theirs = priced.model.calc_price(
        usage, priced.provider, genai_request_timestamp=moment.replace(tzinfo=UTC)
    )

    rate = rate_of(model, provider, moment, size)
    ours = sum(
        count * (getattr(rate, unit) or 0) for unit, count in zip(UNITS, counts, strict=False)
    )

    assert Decimal(ours) == theirs.total_price * 10**12


def test_every_moment_and_size_falls_under_one_rate_at_most() -> None:
    for model, provider in STANDARD:
        for moment in (datetime(2025, 1, 1), datetime(2026, 3, 13), datetime(2026, 10, 14, 23, 59)):
            for size in (0, 1, 199_999, 200_000, 200_001, 272_001, 10**9):
                rate_of(model, provider, moment, size)


# -- what is priced apart --------------------------------------------------------------------


def kinds(model: str, **apart: str) -> list[Rate]:
    request = Request(model, "anthropic", apart.get("service_tier"), apart.get("speed"))
    return rates([request], ())


def test_a_speed_with_a_price_of_its_own_has_that() -> None:
    (fast,) = kinds("claude-opus-4-8", speed="fast")
    (standard,) = kinds("claude-opus-4-8", speed="standard")

    assert (fast.input, fast.output) == (10_000_000, 50_000_000)
    assert (standard.input, standard.output) == (5_000_000, 25_000_000)


@pytest.mark.parametrize(
    ("model", "apart"),
    [
        ("claude-haiku-4-5", {"speed": "fast"}),
        ("claude-opus-4-8", {"service_tier": "priority"}),
        ("claude-opus-4-8", {"service_tier": "batch", "speed": "fast"}),
        ("claude-opus-4-8", {"speed": "faster"}),
    ],
)
def test_a_tier_or_speed_without_a_price_of_its_own_has_none(
    model: str, apart: dict[str, str]
) -> None:
    assert kinds(model, **apart) == []


def test_a_tier_has_its_price_from_the_day_on_that_it_is_known() -> None:
    (batch,) = kinds("claude-opus-4-8", service_tier="batch")

    assert (batch.input, batch.since) == (2_500_000, date(2026, 10, 14))


def test_a_write_for_an_hour_is_never_priced_as_one_for_5_minutes() -> None:
    (bedrock,) = rates([Request("claude-opus-4-1-20250805", "aws-bedrock", None, None)], ())
    (anthropic,) = rates([Request("claude-opus-4-1-20250805", "anthropic", None, None)], ())

    assert (bedrock.cache_write_5m, bedrock.cache_write_1h) == (18_750_000, None)
    assert (anthropic.cache_write_5m, anthropic.cache_write_1h) == (18_750_000, 30_000_000)


@pytest.mark.parametrize("model", ["sonar", "sonar-pro", "sonar-deep-research"])
def test_a_model_that_costs_something_we_do_not_count_has_no_price(model: str) -> None:
    assert priced_model(model, "perplexity") is not None
    assert rates([Request(model, "perplexity", None, None)], ()) == []


# -- which model a name means --------------------------------------------------------------


@pytest.mark.parametrize(
    ("logged", "provider", "priced_as"),
    [
        ("claude-opus-4-6", None, "anthropic/claude-opus-4-6"),
        ("Claude-Opus-4-6[1m]", None, "anthropic/claude-opus-4-6"),
        ("claude-opus-4.6", None, "anthropic/claude-opus-4-6"),
        ("Claude Opus 4.6", None, "anthropic/claude-opus-4-6"),
        ("claude-opus-4-6-20260205", None, "anthropic/claude-opus-4-6"),
        ("claude-opus-4-6-thinking", None, "anthropic/claude-opus-4-6"),
        ("anthropic/claude-opus-4-6", None, "anthropic/claude-opus-4-6"),
        ("claude-3-5-haiku-latest", None, "anthropic/claude-3-5-haiku-latest"),
        ("us.anthropic.claude-opus-4-6-v1:0", None, "anthropic/claude-opus-4-6"),
        (
            "global.anthropic.claude-haiku-4-5-20251001-v1:0",
            "amazon-bedrock",
            "aws/global.anthropic.claude-haiku-4-5-20251001-v1:0",
        ),
        ("claude-sonnet-4-5@20250929", "google-vertex", "google/claude-sonnet-4-5"),
        ("gpt-5-codex", "azure", "azure/gpt-5"),
        ("gpt-5.1-codex-max", None, "openai/gpt-5.1"),
        ("openai/gpt-5.5", None, "openai/gpt-5.5"),
        ("anthropic/claude-sonnet-4.5", "openrouter", "openrouter/anthropic/claude-sonnet-4.5"),
        ("moonshot-ai/kimi-k2.7-code", None, "moonshotai/kimi-k2.7-code"),
    ],
)
def test_a_name_means_the_model_that_it_is_a_name_of(
    logged: str, provider: str | None, priced_as: str
) -> None:
    priced = priced_model(logged, provider)

    assert priced is not None
    assert f"{priced.provider.id}/{priced.model.id}" == priced_as


@pytest.mark.parametrize(
    ("logged", "provider"),
    [
        # The price table's own rules would take these for a model whose name they begin with.
        ("claude-opus-4-6-turbo", None),
        ("gpt-5.3-codex-spark", None),
        ("gemini-3.1-pro-preview-customtools", None),
        ("claude-opus-4-9", None),
        ("kimi-k2.5:cloud", None),
        ("unsloth/claude-opus-4-6", None),
        # Who sells it is not in the table: what it costs there is not known.
        ("claude-opus-4-6", "my-proxy"),
        ("claude-opus-4-6", "openai"),
        # Only Bedrock's names end in a version that is not the model's.
        ("claude", None),
        ("claude-v3", None),
        ("gpt-5-v2", None),
        ("", None),
        ("[1m]", None),
        pytest.param("[" * 1_000_000, None, id="too long"),
    ],
)
def test_a_name_that_is_none_means_no_model(logged: str, provider: str | None) -> None:
    assert priced_model(logged, provider) is None


# -- our own -------------------------------------------------------------------------------


def test_own_prices_follow_each_other_and_go_before_the_tables() -> None:
    own = (
        OwnPrice("claude-opus-4-8", since=date(2026, 9, 1), input=2, output=3),
        OwnPrice("claude-opus-4-8", since=date(2026, 8, 1), input=1.25, output=2),
        OwnPrice("claude-opus-4-8", provider="elsewhere", input=7),
    )

    found = rates([Request("claude-opus-4-8", "anthropic", "standard", None)], own)

    assert [(rate.source, rate.input, rate.since, rate.until) for rate in found] == [
        (f"genai-prices {genai_prices.__version__}", 5_000_000, date(1970, 1, 1), date(2026, 8, 1)),
        ("config", 1_250_000, date(2026, 8, 1), date(2026, 9, 1)),
        ("config", 2_000_000, date(2026, 9, 1), date(9999, 12, 31)),
    ]


def test_of_two_own_prices_of_a_day_the_one_for_this_provider_holds() -> None:
    own = (OwnPrice("m", provider="here", input=1), OwnPrice("m", input=9))

    assert [r.input for r in rates([Request("m", "here", None, None)], own)] == [1_000_000]
    assert [r.input for r in rates([Request("m", "there", None, None)], own)] == [9_000_000]
    assert rates([Request("m", "here", None, "fast")], own) == []


@pytest.mark.parametrize("logged", [None, "", "standard", "default"])
def test_an_own_price_may_name_what_is_standard(logged: str | None) -> None:
    own = (OwnPrice("m", service_tier="standard", speed="standard", provider="", input=1),)

    assert [r.input for r in rates([Request("m", "here", logged, logged)], own)] == [1_000_000]
    assert rates([Request("m", "here", "batch", logged)], own) == []


def test_amounts_of_the_config_are_kept_to_the_picodollar() -> None:
    own = (OwnPrice("m", input=0.1, web_search=12.5),)
    (rate,) = rates([Request("m", None, None, None)], own)

    assert rate.input == 100_000
    assert rate.web_search == 12_500_000_000
    assert rate.output is None


def test_prices_that_change_within_the_day_do() -> None:
    day = datetime(2025, 7, 1)
    by_night = rate_of("deepseek-chat", None, datetime.combine(day, time(20, 0)), 1)
    by_day = rate_of("deepseek-chat", None, day + timedelta(hours=10), 1)

    assert by_night.input is not None
    assert by_day.input is not None
    assert by_night.input < by_day.input
