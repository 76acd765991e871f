"""What is named, announced or only begun is no secret; what is beside it and secret still goes."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from ratchet.failures.redaction.text import redact
from ratchet.failures.redaction.values import is_placeholder

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"
DRAWN = "Zx9vB3nM1qW7eR5tY2uI8oP4aS6dF0gH"
MOST = 0.05  # of the harmless forms of a part


@pytest.fixture
def values(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield import_module("secretvalues")
    sys.modules.pop("secretvalues", None)


@pytest.mark.parametrize("part", ["placeholders", "names", "public", "code", "more"])
def test_few_harmless_texts_of_each_kind_are_changed(values: ModuleType, part: str) -> None:
    texts = [values.draw(form, random.Random(form)).text for form in values.parts(values.HARMLESS)[part]]
    changed = [text for text in texts if redact(text) != text]
    assert len(changed) <= MOST * len(texts) + 1, changed


@pytest.mark.parametrize("name", ["password", "API_KEY", "token", "client_secret", "SECRET_KEY", "stripe_key"])
@pytest.mark.parametrize("prefix", ["", "sk_test_", "ghp_", "xoxb-"])
@pytest.mark.parametrize("rest", ["...", "x" * 24, "*" * 12, "X" * 12, "your-key", "<key>", "EXAMPLE"])
@pytest.mark.parametrize("sign", ["=%s", ': "%s"', "='%s'"])
def test_what_stands_for_a_value_stays(name: str, prefix: str, rest: str, sign: str) -> None:
    text = name + sign % (prefix + rest)
    assert redact(text) == text


@pytest.mark.parametrize("value", ["111111", "aabbccddee", "%9kQz7Wv2", "$x7Kq93Lkt2", "examp1e9Kq", "hunter2...."])
def test_a_value_that_only_resembles_a_placeholder_is_none(value: str) -> None:
    assert not is_placeholder(value)


@pytest.mark.parametrize(
    "asks",
    [
        "aws secretsmanager get-secret-value --secret-id %s",
        "gcloud secrets versions access latest --secret=%s",
        "SecretId: %s",
        'secret_id = "%s"',
        "existingSecret: %s",
        "arn:aws:secretsmanager:eu-west-1:123456789012:secret:%s",
    ],
)
def test_the_name_of_a_secret_stays_and_what_was_drawn_goes(asks: str) -> None:
    text = asks % "prod/payments/stripe-key"
    assert redact(text) == text
    if "arn:" not in asks:  # which only names
        assert DRAWN not in redact(asks % DRAWN)


@pytest.mark.parametrize("name", ["DB_PASSWORD", "MYSQL_PWD", "passphrase", "admin.password"])
@pytest.mark.parametrize("value", ["correct-horse", "horse-battery-staple", "api-token-horse"])
def test_words_under_a_name_of_a_password_are_one(name: str, value: str) -> None:
    assert value not in redact(f"{name}={value}")


@pytest.mark.parametrize(
    "text",
    [
        "key fingerprint is SHA256:4Tg/t3wvk8xD72sELpxH1LAod/CWW4P2rso2r8cyhyJ.",
        "gpg: using RSA key 5FBA7AC5C61A2CE31C23D09238FC02A0C96FED78",
        "recipient age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kp9sfgxq0rca8dk is new",
        "CID: bafybeiqc2xmxylgrxkqqvxkgjlx37zf4wf2akxb4zvg35nmtkfar74pu6f",
        "nonce=484245 to=0xd2ce7662ad658f384c54652f36182a3658d220a6",
        f'"nextPageToken": "{DRAWN}"',
        f'{{"type": "thinking", "signature": "{DRAWN}{DRAWN}=="}}',
        f"password: ENC[AES256_GCM,data:{DRAWN},iv:{DRAWN}=,type:str]",
        "Set-Cookie: theme=dark; Path=/; Max-Age=31536000",
        "https://ann@git.example.com/app.git",
        "$password = shift;",
        "PASSWORD=`pass show db/prod`",
        'password_too_short: "ist zu kurz, bitte etwas mehr"',
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
    ],
)
def test_what_a_text_says_to_be_public_stays(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "https://h/f?sig=%s",
        "https://h/f?X-Amz-Signature=%s",
        "Set-Cookie: sid=%s; Path=/",
        "Set-Cookie: theme=dark; session=%s",
        "-----BEGIN PRIVATE KEY-----\n%s\n-----END PRIVATE KEY-----",
        "the key fingerprint is public, its password is %s",
        "tool set --user bob --password 'hQ%%%s' --keep",
        'curl -u "AC511b630ee91128c516938beea38f7fcf:%s" https://h',
        "You can use bob with password %s to see it.",
        "le mot de passe est : %s",
        "Password for the staging env: %s",
        "the token of the new file: %s",
        "Password reset: %s",
        '  ~ admin_password = "changeme" -> "%s"',
        "token=eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..%s.abcdefgh",
    ],
)
def test_a_secret_beside_what_looks_harmless_is_gone(text: str) -> None:
    found = redact(text % DRAWN)
    assert DRAWN[:12] not in found
    assert redact(found) == found


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("Recovery codes: 7bea7-8000b 1b765-35c13 4bfd3-e4d4d", ["7bea7-8000b", "4bfd3-e4d4d"]),
        ("Your one-time backup codes:\n1. 1390 2212\n2. 3321 5148\n", ["1390", "5148"]),
        ('recovery_codes: ["a1b2c3d4", "e5f6a7b8"]', ["a1b2c3d4", "e5f6a7b8"]),
    ],
)
def test_codes_in_groups_are_gone(text: str, codes: list[str]) -> None:
    found = redact(text)
    assert not any(code in found for code in codes)
    assert redact(found) == found
    for harmless in ("Recovery codes: download them now", "Backup codes:\nsome more text here\n"):
        assert redact(harmless) == harmless
