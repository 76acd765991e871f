"""Secrets leave a text, everything else stays; capping never sets a part of a secret free."""

from __future__ import annotations

import json
import math
import random
import string

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ratchet.failures.redaction.text import LIMIT, cap, clean, redact, redact_json
from support.campaigns import many

# Built from pieces, so that no scanner takes this file for a leak.
SECRETS = {
    "openai": "sk-" + "proj-" + "Zx9vB3nM1qW7eR5tY2uI8oP4aS6dF0gH",
    "openai, old": "sk-" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9fG1hJ3",
    "anthropic": "sk-ant-" + "api03-Qw3rTy7uIoP1aSdF5gHjK9lZxC2vBnM4",
    "google": "AI" + "zaSyD4fG7hJ1kL9zX3cV5bN8mQ2wE6rT0yU4i",
    "aws": "AK" + "IAQ3EGRIB5EXMPLK7Z",
    "github": "gh" + "p_9aB8cD7eF6gH5iJ4kL3mN2oP1qR0sT9uV8wX",
    "github, fine-grained": "github" + "_pat_11ABCDEFG0aBcDeFgHiJkL_mNoPqRsTuVwXyZ0123456789",
    "gitlab": "glp" + "at-xY7zA9bC1dE3fG5hJ7kL",
    "slack": "xo" + "xb-123456789012-1234567890123-aBcDeFgHiJkLmNoPqRsTuVwX",
    "stripe": "sk_" + "live_51HqLyjWDarjtT1zdp7dcXYZ",
    "huggingface": "hf" + "_aBcDeFgHiJkLmNoPqRsTuVwXyZ01234567",
    "npm": "np" + "m_aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5",
    "pypi": "py" + "pi-AgEIcHlwaS5vcmcCJDEyMzQ1Njc4LTkwYWItY2RlZi0xMjM0",
    "sendgrid": "SG" + ".ngeVfQFYQlKU0ufo8x5d1A.TwL2iGABf9DHoTf09kqeF8tAmbihYzrnopKc",
    "twilio": "SK" + "0123456789abcdef0123456789abcdef",
    "telegram": "1234567890:AA" + "HdqTcvCH1vGWJxfSeofSAs0K5PALDsaw9",
    "groq": "gs" + "k_aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9fG1hJ3kL5m",
    "databricks": "da" + "pi0123456789abcdef0123456789abcdef",
    "jwt": "ey" + "JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
    "planetscale": "psc" + "ale_tkn_aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9f",
    "doppler": "dp" + ".pt.aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9f",
    "heroku": "HR" + "KU-57c01d19-6cc5-3c66-4ce4-d08e6827dde6",
    "terraform": "4rx6Yv8O8hyz2C.atl" + "asv1.aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9fG1hJ3kL5mN7",
    "pulumi": "pu" + "l-7aa7be0136393723ba8d5892c57f09f716c39f18",
    "fly": "fm" + "2_W6khMLNT1UMFo3COtSqfMlLDZIPgRVOwKE8H1ataJkMkPYtyr1E2MM",
    "1password": "op" + "s_8FCOKppuTTo9jfhXCPDIPYa3RjaFSNRSi9hZc1We1BC6l8hWbvYXBIQHOW3vTokFGF2Q5JudX9LuaFcn",
    "e2b": "e2" + "b_688977e2ff7ad86bd0a347a97b793f8381433e94",
    "e-mail": "mary.jones+ci@mail.example.org",
    "card": "4242 4242 4242 4242",
    "card, solid": "5555555555554444",
    "card, amex": "3782-822463-10005",
    "aws beside": "AK" + "IAQ3EGRIB5EXMPLK7Z wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzKEY",
}

NAMED = [
    ("password=%s", "hunter2"),
    ("password: %s", "Tr0ub4dor&3"),
    ("PASSWD=%s", "swordfish"),
    ('{"password": "%s"}', "correct horse battery"),
    ("name     | bob\npassword | %s\n", "Zx9Qw3rT7yUi2Op8"),
    ('form-data; name="password"\r\n\r\n%s\r\n--x', "Zx9Qw3rT7yUi2Op8"),
    ('<input name="password" type="hidden" value="%s">', "Zx9Qw3rT7yUi2Op8"),
    ("<key>password</key>\n<string>%s</string>", "Zx9Qw3rT7yUi2Op8"),
    ("<password><![CDATA[%s]]></password>", "Zx9Qw3rT7yUi2Op8"),
    ("$cfg{password} = '%s';", "Zx9Qw3rT7yUi2Op8"),
    ("密码：%s", "Zx9Qw3rT7yUi2Op8"),
    ('{"client_secret": "%s", "x": 1}', "q8Xv2Lm9"),
    ('{\\"db_password\\": \\"%s\\", \\"x\\": 1}', "hunter2hunter2"),
    ("'api_key': '%s'", "4f9a8b7c6d5e4f3a"),
    ("api-key: %s", "4f9a8b7c6d5e4f3a"),
    ("X-Api-Key: %s", "Zm9vYmFyMTIzNDU2"),
    ("export FOO_TOKEN=%s", "t0k3nt0k3nt0k3n"),
    ('export SECRET_KEY="%s"', "django-insecure-1a2b3c4d"),
    ("connect(host='db', password='%s', port=1)", "s3cr3t!pass"),
    ("connect(token=b'%s')", "abc123abc123"),
    ("run --token %s --verbose", "9f8e7d6c5b4a"),
    ("run --db-password %s", "opensesame"),
    ("run --api-key=%s", "9f8e7d6c5b4a"),
    ("['--password', '%s']", "hunter2"),
    ('os.environ["API_KEY"] = "%s"', "xyz123abc987"),
    ("db:\n  password: %s\n  port: 5432", "swordfish"),
    ("- name: DB_PASSWORD\n  value: %s", "swordfish1"),
    ("<password>%s</password>", "hunter2"),
    ("Incorrect API key provided: %s. You can find", "4f9a8b7c6d5e"),
    ("my password is %s, ok", "hunter42"),
    ("aws_secret_access_key = %s", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzKEY"),
    ("AccountKey=%s;EndpointSuffix=core", "Zm9vYmFyMTIzNDU2Nzg5MGFiY2RlZg=="),
    ("Server=db;User Id=sa;Password=%s;Encrypt=yes", "P@ssw0rd,1"),
    ("Authorization: Bearer %s", "mF_9.B5f-4.1JqM"),
    ('"Authorization": "Bearer %s"', "abcdef1234567890"),
    ("authorization: token %s", "0123456789abcdef0123"),
    ("Authorization: Basic %s", "dXNlcjpodW50ZXIy"),
    ("sent Bearer %s to the host", "a1B2c3D4e5F6"),
    ("Cookie: session=%s; theme=dark", "31d4d96e407aad42"),
    ("Set-Cookie: sid=%s; Path=/; HttpOnly", "s%3AaBcDeF"),
    ("postgres://app:%s@db.internal:5432/app", "s3cr3t"),
    ("postgresql+psycopg://app:%s@db/app", "p@ss/w0rd"),
    ("mongodb+srv://admin:%s@cluster0.mongodb.net/?w=1", "S3cr3t!"),
    ("redis://:%s@localhost:6379/0", "redispass"),
    ("amqp://guest:%s@mq:5672//", "guestpw"),
    ("https://bob:%s@git.example.com/x.git", "ppp"),
    ("https://%s@github.com/o/r.git", "a1B2c3D4e5F6g7H8i9J0"),
    ("GET /v1?api_key=%s&page=2", "abc123def456"),
    ("https://x.blob.core/y?sv=2021&sig=%s&se=1", "aB3dE5fG7hJ9kL1mN3pQ5r%2B"),
    ("https://x/y?access_token=%s", "ya29a0AfH6SMB"),
    ("curl -u bob:%s https://x", "hunter2"),
    ("mysql -h db -u root -p%s app", "S3cret"),
    ("sshpass -p %s ssh host", "S3cret"),
    ("PGPASSWORD=%s psql", "letmein"),
    ("API_KEY=%s", "supersecret"),
    ("api_key='%s'", "abcdefghijklmnopqrstuvwxyz"),
    ("token: %s", "abcdefghijklmnop"),
    ("Authorization: Bearer %s", "abcdefghijklmnopqrstuvwxyz"),
    ("Bearer %s", "abc.def.ghi"),
    ("password '%s' was rejected", "hunter2"),
    ("login failed for admin with password %s", "hunter2"),
    ("ssh-pass: %s", "hunter2"),
    ("key %s", "sk-" + "test-abcdefghijklmnopq"),
]


@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_of_a_known_form_is_gone_wherever_it_stands(kind: str) -> None:
    secret = SECRETS[kind]
    for frame in ("%s", "error: key %s was rejected", '{"a": "%s"}', "x=%s;", "(%s)", "\n%s\n", "'%s',"):
        found = redact(frame.replace("%s", secret))
        for part in secret.split():
            assert part not in found
        assert "[redacted:" in found
        assert redact(found) == found


@pytest.mark.parametrize(("frame", "secret"), NAMED)
def test_a_value_next_to_a_name_that_says_so_is_gone(frame: str, secret: str) -> None:
    found = redact(frame.replace("%s", secret))
    assert secret not in found
    assert "[redacted:" in found
    assert redact(found) == found
    before, _, after = frame.partition("%s")
    assert found.startswith(before.rsplit("session=")[0].rsplit("sid=")[0].rsplit("https://")[0])
    assert found.endswith(after) or "ookie" in frame or "github.com" in frame


@pytest.mark.parametrize(
    "text",
    [
        "password: required",
        "password is required",
        "| password | required |",
        "| password | The password of the user |",
        '"password"\n\nThe field of the form',
        "f'{password}: {token}'",
        "\x1b[32mpassword\x1b[0m: required",
        "&quot;password&quot;: required",
        "Authorization: Bearer required",
        "give it by the --username and --password options",
        "sessionid: 0x14ede63a5a70002,E38,Processed session termination",
        'echo "SESSION_ID=test-session-\\$(date +%s)"',
        "MAX_TOKENS=unlimited KEY=home",
        "the password policy of 2024 and the secret santa list",
        "The password field must not be empty.",
        '{"password": ["This field is required."]}',
        '{"error": "invalid_token", "error_description": "The token has expired"}',
        "max_tokens=4096",
        "token count: 1234",
        '"usage": {"prompt_tokens": 1200, "completion_tokens": 88, "total_tokens": 1288}',
        "unexpected token: 'foo' in JSON at position 12",
        "SyntaxError: Unexpected token '}' at 3:14",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "id 0192f0c1-aaaa-7bbb-8ccc-0123456789ab, session_id=0192f0c1-aaaa-7bbb-8ccc-0123456789ab",
        "git@github.com:owner/repo.git",
        "src/app/auth/token_store.py:12: in refresh",
        "PASS: tests/test_a1.py",
        "pass: 12, fail: 3",
        "KeyError: 'session_key'",
        "primary key: order_id",
        "for key, value in mapping.items():",
        "password=os.environ['DB_PASSWORD']",
        "password=self.password, token=get_token()",
        "password=None",
        "api_key=YOUR_API_KEY",
        "token = ${GITHUB_TOKEN}",
        'password = "********"',
        "secret_name=prod-db-v2 token_file=/run/secrets/t0ken1",
        "See https://example.com/docs/api-keys#rotate and http://localhost:8080/health",
        "python:3.11-slim@sha256:0123456789abcdef",
        "npm ERR! 404 '@types/node@18.19.3' is not in this registry",
        "task-abcdefghijklmnop-1 and sk-learn-contrib",
        "order 4242424242424241 shipped at 1700000000000",
        "Bearer token required; use Basic authentication",
        "icon@2x.png",
        "use AshSqlite.Repo, otp_app: :spotter",
        'curl -s http://x; T="$(date -u +%Y-%m-%dT%H:%M:%S.%6NZ)"',
        "blk_-4980916519894289629",
        "session_id: 2026-01-05-0bb9a2d9-a51e-4d5a-8275-566c766a0ff2",
        "5FJEPvJjeUpahXi96TyfiObKcAxxeyJnPDhySuLHi",
        "keyboard: interrupted, monkey: 12, authentic: yes, design=1",
        "/usr/lib/python3.11/site-packages/requests/sessions.py:575",
    ],
)
def test_ordinary_text_stays_byte_for_byte(text: str) -> None:
    assert redact(text) == text


KEY = "\n".join(["MIIEpAIBAAKCAQEA7bq3" + "aB3/" * 11] * 6)


def test_a_private_key_goes_as_a_whole_also_without_its_end_or_its_beginning() -> None:
    begin, end = "-----BEGIN RSA " + "PRIVATE KEY-----", "-----END RSA " + "PRIVATE KEY-----"
    assert redact(f"a\n{begin}\n{KEY}\n{end}\nb") == "a\n[redacted:private-key]\nb"
    assert redact(f"a\n{begin}\n{KEY}") == "a\n[redacted:private-key]"
    assert redact(f"the log says\n{KEY}\n{end}\nb") == "the log says[redacted:private-key]\nb"
    assert redact(json.dumps({"k": f"{begin}\n{KEY}\n{end}\n", "b": 1})) == '{"k": "[redacted:private-key]\\n", "b": 1}'
    escaped = redact(json.dumps({"k": f"{KEY}\n{end}\n", "b": 1}))
    assert "MII" not in escaped
    assert escaped.endswith('"b": 1}')
    openssh = begin.replace("RSA", "OPENSSH")
    assert redact(f"{openssh}\n{KEY}\n") == "[redacted:private-key]"


def test_a_certificate_is_no_secret() -> None:
    text = f"-----BEGIN CERTIFICATE-----\n{KEY}\n-----END CERTIFICATE-----"
    assert redact(text) == text


MARKS = (
    "= : \" ' \\ @ . - _ -- :// password token key sk- eyJ [redacted: ] [redacted:email] secret is 4111 1 a Z9 %40 //"
)


def test_a_dump_of_credentials_is_cut_where_there_are_too_many() -> None:
    found = redact("".join(f"password=x{number} " for number in range(1000)))
    assert found.endswith("[redacted:password]")
    assert "x999" not in found
    assert "x1 " not in found


PIECES = st.sampled_from(
    [
        *SECRETS.values(),
        *(frame.replace("%s", secret) for frame, secret in NAMED),
        *MARKS.split(),
        " ",
        "\n",
        "Bearer ",
        "cookie: ",
    ]
)


@example("postgres://app:s3cr3t@db.internal:5432/apphf_aBcDeFgHiJkLmNoPqRsTuVwXyZ01234567")
@settings(max_examples=many(300))
@given(st.lists(PIECES | st.text(max_size=6), max_size=24).map("".join))
def test_what_is_redacted_once_needs_no_second_time(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@given(st.text(string.ascii_letters + " \n", max_size=200), st.text(string.ascii_letters + " \n", max_size=200))
def test_a_secret_between_any_words_is_gone(before: str, after: str) -> None:
    secret = SECRETS["github"]
    assert secret not in redact(f"{before} {secret} {after}")


@given(st.text())
def test_any_text_comes_back_as_text_that_every_database_takes(text: str) -> None:
    found = clean(text + "\ud800\0")
    found.encode()
    assert "\0" not in found
    assert len(found) <= LIMIT


@given(st.integers(0, 9000), st.integers(0, 9000))
def test_a_cap_keeps_head_and_tail_and_sets_no_part_of_a_secret_free(before: int, after: int) -> None:
    secret = "".join(SECRETS["anthropic"])
    text = "HEAD " + "lorem ipsum " * (before // 12) + secret + " dolor sit" * (after // 10) + " TAIL"
    found = clean(text)
    assert len(found) <= LIMIT
    assert found.startswith("HEAD ")
    assert found.endswith(" TAIL")
    assert all(secret[i : i + 9] not in found for i in range(len(secret) - 8))


@pytest.mark.parametrize("position", range(2500, 6500, 97))
def test_a_private_key_across_a_cut_leaves_none_of_its_lines(position: int) -> None:
    lines = "\n".join("MIIEpAIBAAKCAQEA7bq3" + "aB3/" * 11 for _ in range(50))
    for close in ("\n-----END RSA " + "PRIVATE KEY-----\n", ""):
        text = "a word " * (position // 7) + "\n-----BEGIN RSA " + "PRIVATE KEY-----\n" + lines + close
        found = clean(text + ("some words " * 200 if close else ""))
        assert "aB3/" not in found


def test_a_text_without_spaces_keeps_both_ends_unless_it_looks_like_a_secret() -> None:
    plain = clean("a" * 9000 + "b" * 9000)
    assert plain.startswith("aaa")
    assert plain.endswith("bbb")
    noise = "".join(random.Random(1).choices(string.ascii_letters + string.digits, k=9000))
    assert noise[-300:] not in clean("x = " + noise)


def test_a_cap_says_how_much_it_left_out() -> None:
    text = "word " * 3000
    found = cap(text)
    assert len(found) <= LIMIT
    assert found.startswith("word word")
    assert "characters left out" in found
    assert cap("short") == "short"


def test_nested_values_are_cleaned_under_their_names() -> None:
    found = redact_json(
        {
            "password": "swordfish",
            "db": {"api_key": "4f9a8b7c6d5e4f3a", "port": 5432, "pin": 7},
            "argv": ["run", "--token", "9f8e7d6c5b4a", "--verbose"],
            "note": f"the key {SECRETS['openai']} failed",
            SECRETS["github"]: 1,
            "passwords": ["correcthorse", "battery"],
            "token": {"value": "q1w2e3r4t5"},
            "pair": ("a", {"b"}, None, True, 1.5),
        }
    )
    assert isinstance(found, dict)
    text = json.dumps(found)
    for secret in (
        "correcthorse",
        "battery",
        "q1w2e3r4t5",
        "swordfish",
        "4f9a8b7c6d5e4f3a",
        "9f8e7d6c5b4a",
        SECRETS["openai"],
        SECRETS["github"],
    ):
        assert secret not in text
    assert found["pair"] == ["a", ["b"], None, True, 1.5]
    assert found["argv"] == ["run", "--token", "[redacted:secret]", "--verbose"]


def test_cycles_giants_and_numbers_that_are_none_are_left_out_and_named() -> None:
    cyclic: dict[str, object] = {"n": math.nan, "big": 10**400}
    cyclic["self"] = cyclic
    problems: list[str] = []
    found = redact_json(cyclic, problems, "context")
    json.dumps(found, allow_nan=False)
    assert {"context.n", "context.big"} <= set(problems)
    assert len(json.dumps(redact_json([["x" * 100] * 1000] * 1000))) < 40_000


@pytest.mark.parametrize(
    "unit", ["a", "a@", "password=", 'password="', "key: ", "sk-", "eyJ", "://a:", "=", "\\", '\\"']
)
def test_a_text_ten_times_as_long_costs_about_ten_times_as_many_steps(unit: str) -> None:
    # No clock: a quadratic rule on a megabyte of these would not end within the test run.
    redact(unit * (200_000 // len(unit)))


@pytest.mark.parametrize(
    "frame",
    [
        "ALTER USER x IDENTIFIED BY '%s'",
        "CREATE USER x IDENTIFIED WITH caching_sha2_password BY '%s';",
        "Config(key=SecretStr('%s'), x=1)",
        "redirect?next=%2Fx%3Ftoken%3D%s",
        "openssl rsa -in k.pem -passin pass:%s -out x",
    ],
)
def test_a_password_in_a_frame_of_its_own_is_gone(frame: str) -> None:
    found = redact(frame.replace("%s", "Zq7bSpywhc"))
    assert "Zq7bSpywhc" not in found
    assert redact(found) == found


def test_what_only_resembles_such_a_frame_stays() -> None:
    for text in ("12 tests pass: 3 fail", "SecretStr('**********')", "a%3D1"):
        assert redact(text) == text


@pytest.mark.parametrize(
    ("frame", "secret"),
    [
        ("db:\\n  password:\\n    %s\\n  port: 5432", "swordfish"),
        ("db:\\n  password:\\t%s\\n", "swordfish"),
        ("db:\\\\n  password: %s\\\\n  port: 5432", "swordfish"),
        ('{"yaml": "password:\\n  %s\\n"}', "hunter2"),
        ("token\\t=\\t%s", "9f8e7d6c5b4a"),
    ],
)
def test_a_value_behind_an_escaped_line_end_or_tab_is_gone(frame: str, secret: str) -> None:
    found = redact(frame.replace("%s", secret))
    assert found == frame.replace("%s", found[found.index("[redacted:") : found.index("]") + 1])


@pytest.mark.parametrize(
    "frame",
    [
        *(f"GET /r?to=https%3A%2F%2Fx.dev%2Fa%3F{name}%3D@@" for name in ("key", "code", "auth", "sas")),
        "GET /r?to=https%3A%2F%2Fx.dev%2Fa%3Fb%3D1%26key%3D@@&c=2",
        "$ ngrok config add-authtoken @@",
        "ngrok authtoken @@ && ngrok http 80",
    ],
)
def test_a_key_in_an_address_within_an_address_and_a_tunnels_token_are_gone(frame: str) -> None:
    secret = "abcdefghijklmnop" + "qrstuvwxyz"  # nothing about it looks like a secret: the frame has to tell
    assert secret not in redact(frame.replace("@@", secret))
    assert redact(frame.replace("@@", "short")) == frame.replace("@@", "short")


@pytest.mark.parametrize("times", [0, 1, 2, 3])
@pytest.mark.parametrize("name", ["password", "client_secret", "api_key", "Authorization", "pass"])
def test_json_that_was_escaped_several_times_keeps_no_value(name: str, times: int) -> None:
    value = "Bearer abcdef1234567890" if name == "Authorization" else "q8Xv2Lm9hunter"
    text = json.dumps({name: value, "port": 5432})
    for _ in range(times):
        text = json.dumps({"body": text})
    found = redact(text)
    assert value.rpartition(" ")[2] not in found
    assert "5432" in found
    assert redact(found) == found
    for _ in range(times):
        found = json.loads(found)["body"]
    assert json.loads(found)["port"] == 5432


def test_a_digest_header_keeps_none_of_its_parts() -> None:
    header = (
        'Authorization: Digest username="bob", realm="x, y", nonce="dcd98b71", uri="/d", qop=auth, '
        'response="6629fae49393a053", opaque="5ccc069c"'
    )
    for text in (header, json.dumps({"h": header, "n": 1}), json.dumps(json.dumps({"h": header, "n": 1}))):
        found = redact(text + "\nHost: x")
        for secret in ("bob", "dcd98b71", "6629fae4", "5ccc069c"):
            assert secret not in found
        assert found.endswith("\nHost: x")
        assert redact(found) == found
    assert '"n": 1' in redact(json.dumps({"h": header, "n": 1}))


@pytest.mark.parametrize(
    "frame",
    [
        "openssl enc -aes-256-cbc -k %s -in a -out b",
        "openssl enc -d -aes-256-cbc -in a -k '%s'",
        "openssl enc -aes-128-cbc -K %s -iv 00",
        "echo %s | docker login -u bob --password-stdin registry.example.com",
        "echo -n '%s' | docker login --password-stdin",
        'printf "%s" | docker login -u x --password-stdin',
        "printf '%%s' '%s' | docker login -u x --password-stdin",
        'docker login -u x --password-stdin <<< "%s"',
        "docker login --password-stdin -u x <<<%s",
        "echo %s | gh auth login --with-token",
        "echo %s | sudo -S apt install x",
        'echo "bob:%s" | sudo chpasswd',
        '{"command": "echo \\"%s\\" | docker login --password-stdin"}',
        "http -a bob:%s https://x",
        "http -u bob:%s GET https://x",
        "wget -u bob:%s https://x",
        "xh --auth bob:%s https://x",
        "https -a bob:%s x",
        "curl -ubob:%s https://x",
        "curl 'https://x?a=1&b=2' -u bob:%s",
        "curl -u bob:1%s https://x",
        "sqlplus scott/%s@orcl",
        "sqlplus -s scott/%s@//db.example.com:1521/orcl @x.sql",
        "@@ 12 12\n+ sqlplus scott/%s@orcl\n@@ 20 20\n- x",
        "sqlplus scott/%s",
        "jdbc:oracle:thin:scott/%s@db:1521:orcl",
        "exp userid=scott/%s@orcl file=x.dmp",
        "ORA-01017: invalid username/password; logon denied for scott/%s@orcl",
        "cx_Oracle.connect('scott/%s@host')",
        "SQL> connect scott/%s@orcl",
    ],
)
def test_a_password_that_a_command_takes_without_a_name_is_gone(frame: str) -> None:
    text = frame.replace("%%", "%").replace("%s", "Zq7bSpywhc") if "%%s" not in frame else (frame % "Zq7bSpywhc")
    found = redact(text)
    assert "Zq7bSpywhc" not in found
    assert redact(found) == found


@pytest.mark.parametrize(
    "text",
    [
        "openssl x509 -in a.pem && curl -k https://example.com/health",
        "curl -k https://example.com",
        "echo done | tee log; docker login --help",
        'echo "$TOKEN" | docker login --password-stdin',
        "echo $CR_PAT | gh auth login --with-token",
        "docker login --password-stdin < token.txt",
        "echo hello | git hash-object --stdin",
        "docker run -u 1000:1000 image",
        "docker exec -u app:app web sh",
        "uses: actions/checkout@v4",
        "npm install @types/node@18.19.3 lodash/fp@4",
        "go install golang.org/x/tools/gopls@latest",
        "import oracledb; pip install org/pkg@1.2",
        "rsync -a host:dir/ x",
        "scp -p a:b c",
    ],
)
def test_commands_without_a_password_stay_as_they_are(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    ("table", "secrets", "kept"),
    [
        ("name,password,email_ok\nbob,hunter2,yes\nann,swordfish,no\n", ["hunter2", "swordfish"], ["bob", "no"]),
        ("id;api_key;at\n7;4f9a8b7c6d5e4f3a;2024\n", ["4f9a8b7c6d5e4f3a"], ["2024"]),
        ("user\ttoken\nbob\t9f8e7d6c5b4a3\n", ["9f8e7d6c5b4a3"], ["bob"]),
        ('"user","Password"\n"bob","a,b"\n"x","correct horse"\n', ["a,b", "correct horse"], ["bob"]),
        (
            " id | password | at \n----+----------+----\n 1 | swordfish | 2024 \n(1 row)",
            ["swordfish"],
            ["2024", "(1 row)"],
        ),
        ("| user | password |\n|------|----------|\n| bob | hunter2 |\n", ["hunter2"], ["bob"]),
        ('{"out": "name,client_secret\\nbob,q8Xv2Lm9zz\\n", "n": 1}', ["q8Xv2Lm9zz"], ["bob", '"n": 1']),
        ("name,db_password\r\nbob,swordfish\r\n", ["swordfish"], ["bob", "\r\n"]),
    ],
)
def test_a_column_under_a_heading_that_says_so_is_gone(table: str, secrets: list[str], kept: list[str]) -> None:
    found = redact("before\n" + table + "\nafter, it, goes, on")
    for secret in secrets:
        assert secret not in found
    for each in (*kept, "\nafter, it, goes, on"):
        assert each in found
    assert redact(found) == found


@pytest.mark.parametrize(
    "text",
    [
        "token,pos,lemma\nThe,DET,the\nchecks,NOUN,check\n",
        "name, password, email\nport, database, host\n",
        "Give the name, password, email\nof somebody, somewhere, somehow\n",
        "| Option | Token |\n|---|---|\n| a | required |\n",
        "def login(user, password, host):\n    call(user, password, host)\n",
        "user,password\n\nbob,thing\n",
        "user,password\nbob\n",
        '    "name",\n    "password",\n    "editing_mode",\n',
        "names = [\n    'read', 'password', 'mode1',\n    'bins', 'binary2', 'mode3',\n]",
        "import (\n    Password,\n    EditingMode2,\n)",
        "cd|pwd|set\nop|time|top\n",
        "user,password\nbob,$PASSWORD\nann,\njim,****\n",
    ],
)
def test_a_table_without_secrets_stays_as_it_is(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "frame",
    [
        "passphrase: %s",
        "Enter passphrase: %s\nok",
        "host: x\npassword: %s\nport: 1",
        '{"note": "password: %s"}',
        "db_password = %s\n",
        "wifi:\\n  password: %s\\n  ssid: x",
    ],
)
def test_an_unquoted_passphrase_goes_with_all_its_words(frame: str) -> None:
    found = redact(frame.replace("%s", "correct horse battery staple"))
    for word in ("correct", "horse", "battery", "staple"):
        assert word not in found
    before, _, after = frame.partition("%s")
    assert found == f"{before}[redacted:password]{after}"


@pytest.mark.parametrize(
    "text",
    [
        "password: must contain at least eight characters",
        "Password: enter your new one",
        "passphrase: too short for this key",
        "invalid password: ldap bind rejected",
        "Password: see the vault documentation, section two",
        "password: forgotten? click here",
        "password = input from the user\n",
    ],
)
def test_a_sentence_behind_a_name_stays(text: str) -> None:
    assert redact(text) == text


def test_a_card_in_groups_by_dots_is_gone() -> None:
    assert redact("paid by 4242.4242.4242.4242.") == "paid by [redacted:card]."
    for text in ("version 4242.4242.4242.4243", "at 1.4242.4242.4242.4242", "10.20.30.40"):
        assert redact(text) == text


def test_a_value_on_the_next_line_of_a_numbered_listing_is_gone() -> None:
    text = '    16→  secret_key_base:\n    17→    "' + SECRETS["npm"][4:] + '",\n    18→  live: 1'
    for found in (redact(text), json.loads(redact(json.dumps(text)))):
        assert found == '    16→  secret_key_base:\n    17→    "[redacted:secret]",\n    18→  live: 1'
