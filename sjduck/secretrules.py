"""Keys that show what they are: rules of detect-secrets, and our own where it has none.

Of the library those rules are taken whose form alone tells a key. In transcripts hashes, ids and
code abound: there its entropy rules find paths and names, its keyword rule placeholders, its
assignment rules for single vendors any word of the right length; and an IP address is no secret.
"""

import importlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of secret: its pattern, and where in a match the secret is (None: it is none).

    `hint` is a pattern for RE2, which finds it in every text that the rule may match, far faster.
    """

    kind: str
    pattern: re.Pattern[str]
    hint: str
    span_of: Callable[[re.Match[str]], Span | None]

    def find(self, text: str) -> Iterator[Span]:
        """Yield where secrets of this kind stand in a text."""
        for match in self.pattern.finditer(text):
            if span := self.span_of(match):
                yield span


# -- of the library ------------------------------------------------------------------------


class _Taken(NamedTuple):
    """Which of a plugin's patterns are taken; `is_whole`: with more after it, it is no key."""

    module: str
    plugin: str
    kind: str
    hint: str
    is_whole: bool = False
    patterns: slice = slice(None)


_TAKEN = (
    _Taken(
        "aws", "AWSKeyDetector", "AWS access key",
        "(?:A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA)[0-9A-Z]{8}", is_whole=True, patterns=slice(1),
    ),
    _Taken("azure_storage_key", "AzureStorageKeyDetector", "Azure storage key", "AccountKey="),
    _Taken(
        "discord", "DiscordBotTokenDetector", "Discord token",
        r"\.[a-zA-Z0-9_-]{6}\.[a-zA-Z0-9_-]{27}", is_whole=True,
    ),
    _Taken("github_token", "GitHubTokenDetector", "GitHub token", "gh[pousr]_[A-Za-z0-9_]{8}"),
    _Taken(
        "gitlab_token", "GitLabTokenDetector", "GitLab token",
        "gl(?:pat|dt|ft|soat|rt|cbt|imt|ptt|agent|oas)-|GR1348941",
    ),
    _Taken(
        "mailchimp", "MailchimpDetector", "Mailchimp key", "[0-9a-z]{8}-us[0-9]", is_whole=True
    ),
    _Taken("pypi_token", "PypiTokenDetector", "PyPI token", "pypi-AgE"),
    _Taken("sendgrid", "SendGridDetector", "SendGrid key", r"SG\.[a-zA-Z0-9_-]{22}\."),
    _Taken("slack", "SlackDetector", "Slack token", r"(?i:xox[abpors]-|hooks\.slack\.com/)"),
    _Taken("square_oauth", "SquareOAuthDetector", "Square secret", "sq0csp-"),
    _Taken("stripe", "StripeDetector", "Stripe key", "[rs]k_live_"),
    _Taken(
        "telegram_token", "TelegramBotTokenDetector", "Telegram token",
        "[0-9]{8}:[0-9A-Za-z_-]{35}", is_whole=True,
    ),
)  # fmt: skip

# What may stand before a key and is no part of its word: an escape of JSON or of a URL, and the
# colour of a terminal.
_PARTING = (
    r"\\[nrtbf]", r"\\u[0-9A-Fa-f]{4}", "%[0-9A-Fa-f]{2}",
    r"\[[mK]", r"[\[;][0-9]m", r"[\[;][0-9]{2}m", r"[\[;][0-9]{3}m",
)  # fmt: skip
_PARTED = "|".join(f"(?<={pattern})" for pattern in _PARTING)
# The library's own patterns for these look at each character of a long word again and again.
_WEB_TOKEN = re.compile(rf"(?:(?<![A-Za-z0-9_-])|{_PARTED})eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.?")
_OPENAI = re.compile("sk-[A-Za-z0-9_-]{20,180}?T3BlbkFJ[A-Za-z0-9_-]{20}")


def library_rules() -> Iterator[Rule]:
    """Yield the rules taken of detect-secrets; raises ImportError where it is not installed."""
    for taken in _TAKEN:
        module = importlib.import_module(f"detect_secrets.plugins.{taken.module}")
        span_of = partial(_key, accepts=bool, is_whole=taken.is_whole)
        for pattern in list(getattr(module, taken.plugin).denylist)[taken.patterns]:
            yield Rule(taken.kind, pattern, taken.hint, span_of)
    web_tokens = importlib.import_module("detect_secrets.plugins.jwt").JwtTokenDetector
    span_of = partial(_key, accepts=web_tokens.is_formally_valid)
    yield Rule("JSON web token", _WEB_TOKEN, r"eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]", span_of)


# -- our own -------------------------------------------------------------------------------

# Kind, what a key begins with, and what of it follows.
_KEYS = (
    ("Anthropic key", "sk-ant-", "[A-Za-z0-9_-]{24}"),
    ("OpenAI key", "sk-(?:proj|svcacct|admin|None)-", "[A-Za-z0-9_-]{24}"),
    ("OpenRouter key", "sk-or-v1-", "[0-9a-f]{32}"),
    ("API key", "sk-", "[A-Za-z0-9]{32}"),
    ("GitHub token", "github_pat_", "[A-Za-z0-9_]{40}"),
    ("Google key", "AIza", "[A-Za-z0-9_-]{35}"),
    ("Google token", r"ya29\.", "[A-Za-z0-9_-]{30}"),
    ("Google secret", "GOCSPX-", "[A-Za-z0-9_-]{20}"),
    ("Hugging Face token", "hf_", "[A-Za-z]{30}"),
    ("Groq key", "gsk_", "[A-Za-z0-9]{40}"),
    ("xAI key", "xai-", "[A-Za-z0-9]{60}"),
    ("Perplexity key", "pplx-", "[A-Za-z0-9]{40}"),
    ("Replicate token", "r8_", "[A-Za-z0-9]{37}"),
    ("npm token", "npm_", "[A-Za-z0-9]{36}"),
    ("Docker token", "dckr_(?:pat|oat)_", "[A-Za-z0-9_-]{20}"),
    ("DigitalOcean token", "do[opr]_v1_", "[0-9a-f]{64}"),
    ("Databricks token", "dapi", "[0-9a-f]{32}"),
    ("Tailscale key", "tskey-[a-z]+-", "[A-Za-z0-9-]{16}"),
    ("Slack token", "(?:xapp-[0-9]|xox[cde])[.-]", "[A-Za-z0-9%.-]{20}"),
    ("Stripe key", "(?:[rs]k_test|whsec)_", "[A-Za-z0-9]{24}"),
    ("Shopify token", "shp(?:at|ca|pa|ss)_", "[0-9a-fA-F]{32}"),
    ("Atlassian token", "AT[AC]TT3x", "[A-Za-z0-9_=-]{40}"),
    ("Linear key", "lin_(?:api|oauth)_", "[A-Za-z0-9]{32}"),
    ("Notion token", "ntn_", "[A-Za-z0-9]{40}"),
    ("Supabase key", "sb(?:[pt]|_secret)_", "[A-Za-z0-9_]{30}"),
    ("Vault token", r"hv[bsr]\.", "[A-Za-z0-9_-]{24}"),
    ("Doppler token", r"dp\.(?:pt|st|ct|sa)\.", "[A-Za-z0-9.]{40}"),
    ("New Relic key", "NRAK-", "[A-Z0-9]{27}"),
    ("age key", "AGE-SECRET-KEY-1", "[0-9A-Z]{58}"),
)
_COUNT = re.compile(r"\{\d+\}$")


def own_rules() -> Iterator[Rule]:
    """Yield the rules for keys that the library does not know, or only in an older form."""
    yield Rule("OpenAI key", _OPENAI, "T3BlbkFJ", partial(_key, accepts=bool))
    for kind, begin, rest in _KEYS:
        # RE2 is slow where it has to count to more.
        hint = begin + _COUNT.sub("{8}", rest)
        yield Rule(kind, re.compile(begin + rest), hint, partial(_key, accepts=_has_digit))


def _has_digit(text: str) -> bool:
    """Tell a key from words joined by dashes; those of Hugging Face are letters alone."""
    return text.startswith("hf_") or any(c.isdigit() for c in text)


# -- where a key begins and ends -----------------------------------------------------------

# The signature of a web token is the longest that there is.
_WORD = re.compile(r"[A-Za-z0-9_-]{0,2000}")
_FOLLOWS = re.compile(_PARTED)


def _key(
    match: re.Match[str], *, accepts: Callable[[str], bool], is_whole: bool = False
) -> Span | None:
    """Return a key up to the end of its word; None inside a word, or where it is to be whole."""
    text, (start, end) = match.string, match.span()
    before = text[start - 1 : start]
    if before.isascii() and before.isalnum() and not _FOLLOWS.match(text, start):
        return None
    after = _WORD.match(text, end)
    last = after.end() if after else end
    if not accepts(match[0]) or (is_whole and last > end):
        return None
    return start, last
