"""A value that looks chosen or drawn goes wherever a text speaks of a credential; names, versions and code stay."""

from __future__ import annotations

import pytest

from ratchet.failures.redaction.text import redact

SECRETS = ("Tr0ub4dor&3x", "kq72-hhs8-mmz1", "x7Qp-93Lk-t2Vz", "b7Qx!mZ2rT")
CARRIERS = (
    "$ show the secret of db\n%s", "Recovery codes:\n  %s\n  %s", "A password was made for you:\n\n%s\n\nKeep it.",
    'passwords: ["%s", "%s"]', "passwords:\n  - %s\n  - %s\n", "tokens = ['x', 'y'] # the password %s was taken",
    "Das Passwort f\u00fcr den Server lautet %s.", "Le mot de passe de la base est \u00ab %s \u00bb.",
    "La contrase\u00f1a del servidor es %s.", "A senha do banco \u00e9 %s", "L\u00f6senordet \u00e4r %s",
    "\u041f\u0430\u0440\u043e\u043b\u044c \u043e\u0442 \u0431\u0430\u0437\u044b: %s",
    "\u6570\u636e\u5e93\u5bc6\u7801\u662f %s",
    "| user | password        |\n|------|-----------------|\n| ann  | %s |", 'password:            "%s"',
    '{\n  "admin_password": {\n    "sensitive": true,\n    "value": "%s"\n  }\n}',
)  # fmt: skip


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("secret", SECRETS)
def test_a_credential_that_a_text_speaks_of_is_gone(carrier: str, secret: str) -> None:
    text = carrier.replace("%s", secret)
    found = redact(text)
    assert secret not in found
    assert redact(found) == found


@pytest.mark.parametrize("value", ["violet.Sky8", "dump.Ster3", "AN029(r^)HO5Ws", "Kedi.Kara7"])
def test_a_literal_is_no_reference(value: str) -> None:
    assert value not in redact(f'connect(host="db", password="{value}")')


@pytest.mark.parametrize(
    "text",
    [
        "Is the token in a cookie? See SessionProvider.tsx#L44.",
        'PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]',
        "PASSWORD_RESET_TIMEOUT = 259200",
        "SECRETS_BACKEND=hashicorp-vault-1.18",
        "POST /oauth/token 400 AADSTS50034: user not found",
        "Post-Handshake-Authentication (TLSv1.3 feature)",
        "        'ssh2_auth_password',\n        'ssh2_auth_pubkey_file',",
        "        if password is not None:\n            start_worker2_command += 1",
        "password_pat = r'[a-zA-Z](?:[a-zA-Z0-9-]*)'",
        "token.depth>0&&this.maxLookAhead2-1",
        "Found the password in 3 files\n/home/ann/app/secrets/loader2.py",
        'rules = {"password": ["required", "min:8", "confirmed"]}',
        "encrypt the secret with AES256-GCM and PBKDF2",
        "password hashing uses argon2id or bcrypt12",
        "login failed for user admin2024",
        "The token bucket has capacity500 left",
        "Rate limit reached in organization org-4f7ac81e9b2d on tokens per min (TPM): Limit 200000",
        "run run-7x2k9qpl4m: token budget spent",
    ],
)
def test_names_versions_and_code_beside_a_credential_stay(text: str) -> None:
    assert redact(text) == text
