"""What is taken for a secret and what is not, and what masking one does to a text."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sjduck import masking
from sjduck.masking import find_all, mask_all, masked
from tests.invented import (
    ANTHROPIC,
    AWS,
    GITHUB,
    KEY_LINES,
    KEYS,
    PASSWORD,
    WEB_TOKEN,
    hexed,
    letters,
    private_key,
)


def mask(text: str) -> str:
    """Return a text masked."""
    return mask_all([text]).get(0, (text,))[0]


def kinds(text: str) -> list[str]:
    """Return the kinds of the secrets in a text."""
    return [secret.kind for secret in find_all([text]).get(0, [])]


# -- what is one ---------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "key"), KEYS.items(), ids=KEYS)
def test_a_key_of_a_known_form_is_masked_whole_wherever_it_stands(kind: str, key: str) -> None:
    for before, after in (
        ("use ", " for it"), ('"', '"'), ("", ""), ("=", "\n"), ("\\n", "\\n"), ("(", ")."),
        ("\x1b[m\x1b[K", "\x1b[m"), ("\x1b[01;32m", "\x1b[0m"), ("\\u001b[38;5;196m", "\\u001b[0m"),
        ("\\u003c", "\\u003c"), ("token%3D", "%20"),
    ):  # fmt: skip
        shown = mask(f"{before}{key}{after}")

        assert shown == f"{before}[secret: {kind}]{after}", (before, after)


@pytest.mark.parametrize(
    "text",
    [
        f'password = "{PASSWORD}"',
        f"PGPASSWORD={PASSWORD} psql",
        f'"db_password": "{PASSWORD}",',
        f'{{"command": "export DB_PASSWORD=\\"{PASSWORD}\\"\\nmake"}}',
        f"password: {PASSWORD}",
        f"spring.datasource.password={PASSWORD}",
        f'password: str = "{PASSWORD}"',
        f"--password {PASSWORD} --host db",
        f"postgres://ann:{PASSWORD}@db.local/shop",
        f"curl -s -u ann:{PASSWORD} https://shop.local",
        f"sshpass -p '{PASSWORD}' ssh atlas",
        f"SMTP_PASS={PASSWORD}",
        f'"DB_PASS": "{PASSWORD}"',
        f"mysql -h db -u root -p{PASSWORD} shop",
        f"mysqldump -p'{PASSWORD}' shop > shop.sql",
        f"docker exec db mariadb-admin -uroot -p{PASSWORD} status",
        f"machine api.shop.local login ann password {PASSWORD}",
        f"machine api.shop.local\n  login ann\n  password {PASSWORD}\n",
        f'{{"file": "machine api\\nlogin ann\\npassword {PASSWORD}\\n"}}',
        f"DB_PASSWORD={PASSWORD}\x1b[0m",
        f"DB_PASSWORD=\x1b[1;32m{PASSWORD}\x1b[0m",
        f'\x1b[34;1m"password"\x1b[0m\x1b[39m:\x1b[0m \x1b[0;32m"{PASSWORD}"\x1b[0m',
        f'"out": "\\u001b[34mpassword\\u001b[0m=\\u001b[32m{PASSWORD}\\u001b[0m"',
    ],
)
def test_a_password_is_told_by_what_stands_before_it(text: str) -> None:
    shown = mask(text)

    assert PASSWORD not in shown
    assert re.sub(r"\[secret: [\w ]+\]", PASSWORD, shown) == text


@pytest.mark.parametrize(
    "text",
    [
        f"AWS_SECRET_ACCESS_KEY={letters(40)}",
        f'"api_key": "{hexed(32)}"',
        f"client_secret: {letters(30)}",
        f"X-Api-Key: {letters(32)}",
        f"Authorization: Bearer {letters(40)}",
        f'authorization\\": \\"Basic {letters(24)}==',
        f"TOKEN='{letters(24)}'",
    ],
)
def test_a_token_is_told_by_what_stands_before_it(text: str) -> None:
    assert len(kinds(text)) == 1
    assert letters(12) not in mask(text)
    assert hexed(12) not in mask(text)


@pytest.mark.parametrize(
    "text",
    [
        "password = get_password(user)",
        "password: str",
        'password = "changeme"',
        'password="your-password-1"',
        'PASSWORD="${DB_PASSWORD}"',
        "password=$PASSWORD1",
        "self.token = token1",
        "token = response.json()['token2']",
        "docker run --name mysql -p3306:3306 mysql:8",
        "mysql -u root -p shop2",
        "find /var/lib/mysql -type f -print0",
        "the machine has a login page, password reset2 included",
        "password rules2 are these",
        "first_pass = 'loop1_main'",
        "BYPASS=second1thing",
        "MIN_PASSES=12abcdefgh",
        "max_tokens: 4096, input_tokens=1234567890123",
        "secret_key = os.environ['SECRET_KEY_2']",
        "api_key: <your key here 123>",
        "private_key: ed25519.Ed25519PrivateKey",
        "Authorization: Bearer $TOKEN",
        "Authorization: Bearer <token>",
        "git@github.com:ann/shop.git",
        "ssh://git@host:2222/shop",
        "https://user:password@host/x",
        "http://localhost:8080/@scope/package",
        "docker run -u 1000:1000 image",
        f"commit {hexed(40)}",
        "3f2a9c1e-7d4b-4c7e-9a55-0b1d2e3f4a5b",
        "iVBORw0KGgo" + AWS + letters(20),
        f"the token {letters(8)}",
        "the password is on the fridge",
        "-----BEGIN PRIVATE " + "KEY----- is how such a file begins, and END how it ends",
        "secret: password, key: value",
        "sk-learn-and-other-packages-of-this-kind-here",
        "csrf_token_header: X-CSRF-Token-V2",
    ],
)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert mask(text) == text


# -- private keys --------------------------------------------------------------------------


def _numbered(text: str, mark: str) -> str:
    return "\n".join(f"{number:6}{mark}{line}" for number, line in enumerate(text.split("\n"), 1))


@pytest.mark.parametrize(
    "text",
    [
        private_key(),
        private_key(label=""),
        private_key(label="OPENSSH "),
        private_key(between="\r\n"),
        private_key(between="\\n"),
        private_key(between="\\\\n"),
        private_key(between=" "),
        json.dumps({"key": private_key()}),
        json.dumps(json.dumps({"key": private_key()})),
        _numbered(private_key(), "→"),
        _numbered(private_key(), "\t"),
        json.dumps(_numbered(private_key(), "\t")),
        private_key(between='\\n" +\n  "'),
        "\n".join("+" + line for line in private_key().split("\n")),
        "\n".join("    " + line for line in private_key().split("\n")),
        private_key().replace(KEY_LINES[0], f"Proc-Type: 4,ENCRYPTED\n\n{KEY_LINES[0]}"),
        "\n".join(private_key().split("\n")[:4]),
        "PuTTY-User-Key-File-2: ssh-rsa\nPrivate-Lines: 6\n" + "\n".join(KEY_LINES),
    ],
)
def test_a_private_key_is_one_secret_and_keeps_its_lines(text: str) -> None:
    shown = mask(f"before\n{text}\nand after it")

    assert kinds(text) == ["private key"]
    assert not any(line[:12] in shown for line in KEY_LINES[:-1])
    assert KEY_LINES[-1] not in shown
    assert shown.count("\n") == text.count("\n") + 2
    assert shown.startswith("before\n")
    assert shown.endswith("\nand after it")


def test_a_public_key_stays() -> None:
    text = private_key().replace("PRIVATE", "PUBLIC")

    assert mask(text) == text


# -- what masking does ---------------------------------------------------------------------

_PIECES = st.sampled_from(
    [
        *KEYS.values(), private_key(), private_key(between="\\n"), f"password={PASSWORD}",
        f'"token": "{letters(24)}"', f"https://ann:{PASSWORD}@host", f"Bearer {WEB_TOKEN}",
        "[secret: password]", "secret: ", "password=", "\n", "\\n", '"', "'", "\\", " ", "=", "://a:",
    ]
)  # fmt: skip
_TEXTS = st.lists(st.one_of(_PIECES, st.text(max_size=20)), max_size=12).map("".join)


@given(_TEXTS)
def test_masking_keeps_every_line_and_does_nothing_the_second_time(text: str) -> None:
    once = mask(text)

    assert once.count("\n") == text.count("\n")
    assert mask(once) == once


_NAMES = st.sampled_from(["password", "api_key", "note"])
_JSON = st.recursive(_TEXTS, lambda inner: st.dictionaries(_NAMES, inner), max_leaves=6)


@given(_JSON, st.booleans())
def test_json_stays_json_and_keeps_its_shape(value: object, is_ascii: bool) -> None:  # noqa: FBT001
    shown = json.loads(mask(json.dumps(value, ensure_ascii=is_ascii)))

    assert _shape(shown) == _shape(value)


def _shape(value: object) -> object:
    """Return the names of a JSON value, and how many lines each of its texts has."""
    if isinstance(value, dict):
        return {name: _shape(part) for name, part in value.items()}
    return str(value).count("\n")


@given(_TEXTS, _TEXTS)
def test_the_hint_finds_every_text_that_a_rule_finds_a_secret_in(before: str, after: str) -> None:
    text = before + after
    is_found = any(list(rule.find(line)) for rule in masking._rules() for line in text.split("\n"))

    assert not is_found or masking.suspects([text]) == [0]


def test_a_long_word_is_looked_at_once() -> None:
    # Patterns that begin anew at each of its letters would take minutes.
    for word in ("sk-" * 100_000 + "T3BlbkFJ" + letters(20), "eyJ" * 100_000 + " eyJa.b"):
        assert len(mask(word)) <= len(word)


def test_the_same_secret_has_the_same_mask_and_no_mask_tells_of_it() -> None:
    other = GITHUB[:-1] + ("a" if GITHUB[-1] != "a" else "b")

    assert mask(GITHUB) == mask(other) == "[secret: GitHub token]"


def test_of_secrets_that_overlap_the_surer_kind_is_told() -> None:
    assert mask(f"password={ANTHROPIC}") == "password=[secret: Anthropic key]"
    assert (
        mask(f"Authorization: Bearer {WEB_TOKEN}")
        == "Authorization: Bearer [secret: JSON web token]"
    )


def test_an_answer_is_masked_in_all_its_texts_and_in_nothing_else() -> None:
    answer = {"total": 2, "items": [{"text": f"a {AWS}", "line": 7}, None], "also": (AWS, True)}
    mark = "[secret: AWS access key]"

    assert masked(answer) == {
        "total": 2,
        "items": [{"text": f"a {mark}", "line": 7}, None],
        "also": (mark, True),
    }
    assert masked(plain := {"a": ["b"]}) is plain
