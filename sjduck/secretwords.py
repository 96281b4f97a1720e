"""Secrets that only their surroundings tell: a password in a URL, a value assigned to `API_KEY`.

Text may be JSON, also in JSON: a quote has any number of backslashes before it, and no value
holds one, so that what is masked leaves JSON as valid as it was.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

from sjduck.secretrules import Rule, Span

_QUOTE = r"""\\{0,8}["'`]"""
_VALUE = r"""[^\s\x00-\x1f\\"'`<>{}]"""
# `DB_PASS` is an environment's; in other cases it is one of many passes.
_PASSWORD = "(?:pass(?:word|wd|phrase)|pwd|(?-i:[A-Z0-9]_PASS))"
_KEY = (
    "(?:secret|token|credential"
    "|(?:access|account|api|app|auth|client|encryption|master|private|service|signing|storage)"
    "[_-]?key)"
)
_SUFFIX = "(?:[_-]?(?:access|api|base|hash|key|string|value))*"
# Blanks, and the colours of a terminal.
_SPACE = r"(?:[ \t]|(?:\x1b|\\{1,8}(?:u001b|x1b|033|e))\[[0-9;]{0,12}[mK]){0,6}"
_VALUE_OF = (
    rf"""[]\\"'`]{{0,8}}{_SPACE}"""
    # Between them may be a type: password: str = "…"
    r"(?::[ \t]?[A-Za-z&.]{1,20}[ \t]?(?==))?"
    rf"(?::=|=>|={{1,3}}|:(?!:)){_SPACE}(?i:[bfru@](?=[\"']))?"
    rf"(?:(?P<quote>{_QUOTE})(?P<quoted>{_VALUE}{{6,200}})(?P=quote)"
    # All of a word: before a bracket it is a name of code.
    r"""|(?P<bare>[A-Za-z0-9+/!#%^*_.-][^]\s\x00-\x1f\\"'`<>{}(),;&|=[]{7,200}+={0,2}+)(?![(<{[=]))"""
)
# Not in the name of a mask.
_PASSWORD_IS = re.compile(rf"(?i:(?<!\[){_PASSWORD}{_SUFFIX}){_VALUE_OF}")
_KEY_IS = re.compile(rf"(?i:(?<!\[){_KEY}{_SUFFIX}){_VALUE_OF}")
_OPTION = re.compile(
    r"(?<![\w-])--(?:\w+-)*(?:passphrase|passwd|password|token|secret|api-key)[ \t]+"
    rf"(?:{_QUOTE})?(?P<secret>[^\s\\\"'`$<>{{}}()|;&-][^\s\\\"'`<>{{}}()|;&]{{5,200}})"
)
_AUTHORIZATION = re.compile(
    r"(?i:\bbearer|authorization[\\\"'`]{0,6}[ \t]*[:=][ \t]*[\\\"'`]{0,6}(?:basic|token))"
    r"[ \t]+(?P<secret>[A-Za-z0-9._~+/-]{12,2000}=*)"
)
_URL = re.compile(
    r"""[A-Za-z][A-Za-z0-9+.-]{1,20}://[^]\s:/@\\"'`<>{}()[]{0,100}:"""
    r"""(?P<secret>[^\s/@\\"'`<>{}$]{3,200})@"""
)
_CURL = re.compile(
    r"\bcurl\b[^\n|;]{0,300}?[ \t](?:-u|--user)[ =]?"
    rf"(?:{_QUOTE})?[^\s:\\\"'`$]{{1,100}}:(?P<secret>[^\s\\\"'`$<>{{}}]{{4,200}})"
)
_SSHPASS = re.compile(
    rf"\bsshpass[ \t]+-p[ \t]*(?:{_QUOTE})?(?P<secret>[^\s\\\"'`$<>{{}}]{{4,200}})"
)
_MYSQL = re.compile(
    r"\b(?:mysql|mariadb)[a-z-]{0,10}[ \t][^\n|;]{0,300}?(?<=[ \t])-p(?!rint0)"
    rf"(?:{_QUOTE})?(?P<secret>[^\s\\\"'`$<>{{}}]{{4,200}})"
)
_GAP = r"(?:[ \t]|\\{1,8}n){1,20}"
_NETRC = re.compile(
    rf"\bmachine{_GAP}[^\s\\]{{1,200}}{_GAP}login{_GAP}[^\s\\]{{1,200}}{_GAP}password{_GAP}"
    r"(?P<secret>[^\s\\\"'`<>{}]{4,200})"
)
_ALONE = re.compile(r"^[ \t]*password[ \t]+(?P<secret>[^\s\\\"'`<>{}]{6,200})[ \t\r]*$")


def word_rules() -> Iterator[Rule]:
    """Yield the rules that go by what stands around a secret, the surest first."""
    for kind, pattern, hint, accepts in (
        ("password in a URL", _URL, r"://[^\s/@]{0,100}:[^\s/@]+@", _is_real),
        ("authorization", _AUTHORIZATION, "(?i:bearer|authorization)", _is_random),
        ("password", _CURL, r"\bcurl\b[^\n]*[ \t](?:-u|--user)", _is_real),
        ("password", _SSHPASS, r"sshpass[ \t]+-p", _is_real),
        ("password", _MYSQL, r"(?:mysql|mariadb)[a-z-]*[ \t](?:[^\n]*[ \t])?-p", _is_password),
        ("password", _NETRC, r"machine(?:[ \t]|\\+n)+[^\s\\]+(?:[ \t]|\\+n)+login", _is_real),
        ("password", _ALONE, r"(?m:^[ \t]*password[ \t]+[^\s]+[ \t\r]*$)", _is_password),
        ("password or key", _OPTION, r"--[\w-]*(?:pass|token|secret|api-key)", _is_password),
    ):
        yield Rule(kind, pattern, hint, partial(_group, accepts=accepts))
    for kind, name, pattern, accepts in (
        ("password", _PASSWORD, _PASSWORD_IS, _is_password),
        ("token or key", _KEY, _KEY_IS, _is_random),
    ):
        hint = rf"(?i:{name}{_SUFFIX})[^\n]{{0,40}}?[:=]"
        yield Rule(kind, pattern, hint, partial(_assigned, accepts=accepts))


def _group(match: re.Match[str], *, accepts: Callable[[str], bool]) -> Span | None:
    return match.span("secret") if accepts(match["secret"]) else None


def _assigned(match: re.Match[str], *, accepts: Callable[[str], bool]) -> Span | None:
    """Return a value that is no placeholder, no code and no name."""
    group = "bare" if match["quoted"] is None else "quoted"
    is_name = group == "bare" and _is_name(match[group])
    return match.span(group) if accepts(match[group]) and not is_name else None


# -- what may be a secret ------------------------------------------------------------------

_PLACEHOLDER = re.compile(
    r"(?i)(?:[x*.•-]{3}|.*(?:\.\.\.|…|x{4}|\*{3}|example|placeholder|redacted|changeme|dummy"
    r"|your[_-]?|my[_-]?(?:pass|secret|token|key)|insert|replace|todo|1234567|abcdef|test"
    r"|\$[{(A-Za-z]|%[sdv]\b))"
)
_WORDS = frozenset(
    (
        "admin", "bytes", "false", "none", "null", "pass", "passwd", "password", "pwd", "root",
        "secret", "str", "string", "token", "true", "undefined", "user", "username",
    )
)  # fmt: skip
_WORD = r"[A-Za-z]+\d{0,2}"
_NAMES = re.compile(rf"_*{_WORD}(?:[./:_-]+{_WORD})*_*(?:\.\w+)*|.*(?i:key|password|secret|token)")
_HEX_OR_UUID = re.compile(r"[0-9a-fA-F-]{32,}")


def _is_real(value: str) -> bool:
    """Tell a value from what stands for one: in an example, or where one was masked."""
    is_mask = value.startswith("[secret:")
    return not is_mask and value.lower() not in _WORDS and _PLACEHOLDER.match(value) is None


def _is_password(value: str) -> bool:
    """Tell whether a value has letters and digits, as most words and numbers have not."""
    has_both = any(c.isalpha() for c in value) and any(c.isdigit() for c in value)
    return has_both and _is_real(value)


def _is_name(value: str) -> bool:
    """Tell a name of code, a path or a version, with a number at its end at most."""
    return _NAMES.fullmatch(value) is not None


def _is_random(value: str) -> bool:
    """Tell whether a value looks drawn: many different characters, several digits among them."""
    if not _is_password(value) or _is_name(value):
        return False
    digits = sum(c.isdigit() for c in value)
    is_long = len(value) >= 12 and digits >= 2 and _entropy(value) >= 3.0
    return is_long or _HEX_OR_UUID.fullmatch(value) is not None


def _entropy(value: str) -> float:
    """Return Shannon's entropy, in bits a character."""
    size = len(value)
    return -sum(n / size * math.log2(n / size) for n in Counter(value).values())
