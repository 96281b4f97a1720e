"""Secrets that nobody has, put together at run time so that no scanner finds them here."""

import base64
import json


def _word(alphabet: str, length: int) -> str:
    """Return characters that look drawn, the same in every run."""
    drawn, number = [], 7
    for _ in range(length):
        number = (number * 1_103_515_245 + 12_345) % 2**31
        drawn.append(alphabet[number // 7 % len(alphabet)])
    return "".join(drawn)


_LOWER, _DIGITS = "abcdefghijklmnopqrstuvwxyz", "0123456789"
_ALPHABET = _LOWER.upper() + _LOWER + _DIGITS
_HEX = "abcdef" + _DIGITS


def letters(length: int) -> str:
    """Return letters and digits."""
    return _word(_ALPHABET, length)


def hexed(length: int) -> str:
    """Return hexadecimal digits."""
    return _word(_HEX, length)


def _part(value: dict[str, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


AWS = "AK" + "IA" + _word(_LOWER.upper() + _DIGITS, 16)
GITHUB = "gh" + "p_" + letters(36)
ANTHROPIC = "sk-" + "ant-api03-" + letters(40) + "-" + letters(20)
WEB_TOKEN = ".".join([_part({"alg": "HS256"}), _part({"sub": "tulip"}), letters(43)])
PASSWORD = "tomato" + "7seeds"
KEY_LINES = ["MIIEow" + letters(58), *(letters(60 + n % 2 * 4) for n in range(4)), "Q0" + "xx="]

# Kind → a key of it.
KEYS = {
    "AWS access key": AWS,
    "Azure storage key": "Account" + "Key=" + letters(86) + "==",
    "Discord token": "M" + letters(23) + "." + letters(6) + "." + letters(27),
    "GitHub token": GITHUB,
    "GitLab token": "gl" + "pat-" + letters(20),
    "JSON web token": WEB_TOKEN,
    "Mailchimp key": hexed(32) + "-" + "us12",
    "OpenAI key": "sk-" + "proj-" + letters(60),
    "PyPI token": "pypi-" + "AgEIcHlwaS5vcmc" + letters(80),
    "SendGrid key": "SG" + "." + letters(22) + "." + letters(43),
    "Slack token": "xox" + "b-" + "1234567890-" + letters(24),
    "Square secret": "sq0" + "csp-" + letters(43),
    "Stripe key": "sk_" + "live_" + letters(40),
    "Telegram token": "123456789" + ":" + letters(35),
    "Anthropic key": ANTHROPIC,
    "OpenRouter key": "sk-" + "or-v1-" + hexed(64),
    "API key": "sk-" + letters(40),
    "Google key": "AI" + "za" + letters(35),
    "Google token": "ya" + "29." + letters(60),
    "Google secret": "GOC" + "SPX-" + letters(28),
    "Hugging Face token": "h" + "f_" + _word(_LOWER, 34),
    "Groq key": "gs" + "k_" + letters(52),
    "xAI key": "x" + "ai-" + letters(80),
    "Perplexity key": "pp" + "lx-" + letters(48),
    "Replicate token": "r" + "8_" + letters(37),
    "npm token": "np" + "m_" + letters(36),
    "Docker token": "dck" + "r_pat_" + letters(27),
    "DigitalOcean token": "do" + "p_v1_" + hexed(64),
    "Databricks token": "da" + "pi" + hexed(32),
    "Tailscale key": "ts" + "key-auth-" + letters(30),
    "Shopify token": "sh" + "pat_" + hexed(32),
    "Atlassian token": "ATA" + "TT3x" + letters(60),
    "Linear key": "lin" + "_api_" + letters(40),
    "Notion token": "nt" + "n_" + letters(46),
    "Supabase key": "sb" + "p_" + hexed(40),
    "Vault token": "hv" + "s." + letters(24),
    "Doppler token": "dp" + ".pt." + letters(43),
    "New Relic key": "NR" + "AK-" + _word(_LOWER.upper() + _DIGITS, 27),
    "age key": "AGE-" + "SECRET-KEY-1" + _word(_LOWER.upper() + _DIGITS, 58),
}


def private_key(*, label: str = "RSA ", between: str = "\n") -> str:
    """Return a private key as a file has it."""
    begin, end = (f"-----{mark} {label}PRIVATE " + "KEY-----" for mark in ("BEGIN", "END"))
    return between.join([begin, *KEY_LINES, end])
