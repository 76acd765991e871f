"""A secret that its lines tell apart from its name goes, also where the lines are escaped, as in a tool's input."""

from __future__ import annotations

import base64
import json
import random
import string

import pytest

from ratchet.failures.redaction.text import redact
from ratchet.failures.tool_call import step_row
from ratchet.records import Json

DRAWN = "wk8s9Secret45zQx7Lm2"
FORMS = {
    "Kubernetes": "env:\n  - name: DB_PASSWORD\n    value: @\n",
    "Kubernetes, quoted": 'env:\n  - name: DB_PASSWORD\n    value: "@"\n',
    "Kubernetes, the value first": "env:\n  - value: @\n    name: API_SECRET\n  - name: PORT\n",
    "Kubernetes, listed": "     3\t  - name: DB_PASSWORD\n     4\t    value: @\n",
    "ECS": '[{"name": "DB_PASSWORD",\n  "value": "@"}]',
    "Postman": '{"key":"password",\n"value":"@"}',
    "TOML": '[[env]]\nname = "API_TOKEN"\nvalue = "@"\n',
    "Terraform": 'variable "db_password" {\n  type = string\n  default = "@"\n}',
    "Terraform, aligned": 'variable "api_token" {\n  default     = "@"\n}',
    "CloudFormation": "DbPassword:\n  Type: String\n  Default: @\n",
    "CloudFormation, quoted": 'Parameters:\n  MasterUserPassword:\n    Type: String\n    Default: "@"\n',
    "a password file": "db:5432:app:bob:@\n",
    "columns": "user,password\nbob,@\n",
    "a here-document": "read -r TOKEN <<EOF\n@\nEOF",
    "XML": "<password>\n  @\n</password>",
    "locals": "pw         = '@'\nself       = <T>",
    "wrapped": "secret token: egXxbKdmLr82raVBE55g\n              @",
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_secret_goes_in_plain_text_in_a_tool_s_input_and_in_json_inside_of_json(form: str) -> None:
    text = form.replace("@", DRAWN)
    hidden = redact(text)
    assert DRAWN not in hidden
    inside: dict[str, Json] = {"file_path": "/a", "content": f"first: 1\n{text}\nlast: 1"}
    values: tuple[dict[str, Json], ...] = (inside, {"body": json.dumps(inside)})
    for value in values:
        found = redact(json.dumps(value))
        assert DRAWN not in found
        assert json.loads(found).keys() == value.keys()
    step = step_row("Write", inside)
    assert DRAWN not in json.dumps(step)
    assert "last: 1" in json.loads(str(step["input"]))["content"]


def test_a_secret_goes_from_the_head_and_the_tail_of_a_long_input() -> None:
    entry = "- name: DB_PASSWORD\n  value: %s\n"
    text = entry % "headS9ecret41" + "x: 1\n" * 2000 + entry % "tailS9ecret42"
    kept = json.dumps([step_row("Write", {"file_path": "/a", "content": text}), redact(json.dumps({"content": text}))])
    assert "S9ecret4" not in kept


@pytest.mark.parametrize(
    "text",
    [
        'variable "region" {\n  default = "eu-west-1"\n}\nvariable "key_name" {\n  default = "my-key"\n}',
        "inputs:\n  token:\n    required: true\n    default: ${{ github.token }}\n",
        "password:\n  type: string\n  minLength: 8\n  default: null\n",
        "tokens:\n  default: 4096\nx: 1",
        "properties:\n  port:\n    type: integer\n    default: 8080\n  password:\n    type: string\n",
        'return <input\n  name="password"\n  value={password}\n/>',
        "class Token:\n    kind: str\n    value: str = None\n",
        "read -r line <<EOF\nabc def\nEOF",
        '{"content": "caf\\u00e9\\n\\tpassword = get()\\n\\/x \\q \\"quoted\\""}',
        "docker run -p8080:80 x; patch -p1 < a.diff; gcc -pthread; make -pRrq",
        "cache key: node-modules-linux-" + "2d711642b726b044" * 4,
        "public_key: MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=",
        "https://github.com/org/token-lib/commit/68d4a9427e897c95fb0c243da628186d56f82e33",
        "https://docs.example/password-reset/how-to-reset-a-forgotten-password",
    ],
)
def test_what_only_looks_like_it_stays_byte_for_byte(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "POST https://hooks.chat.example/services/T0/B0/0XZwoAYDKts9RR7mDPIdqy0P",
        "https://x.io/reset-password/68d4a9427e897c95fb0c243da628186d56f82e33",
        "./backup.sh -pHAXQYtS5dgs7 -h db",
    ],
)
def test_what_a_machine_drew_goes_from_a_path_and_behind_an_option(text: str) -> None:
    hidden = redact(text)
    assert "[redacted:" in hidden
    assert hidden.startswith(text[:10])


@pytest.mark.slow
@pytest.mark.parametrize("end", ["\\n", "\\\\n", "\n"])
def test_many_entries_take_linear_time(end: str) -> None:
    for piece in ("- name: DB_PASSWORD", "  value: @", "value = 'x", "  x: ", '"a', "read T <<EOF", "<pw>", "\\", "{"):
        redact((piece + end) * 20_000)  # no clock: what backtracks would not end within the test run


def test_a_null_character_beside_escaped_lines_hides_no_secret_from_the_filter() -> None:
    written = json.dumps({"content": f"first: 1\ndb:5432:app:bob:{DRAWN}\n" + "more: 1\n" * 90})
    assert DRAWN not in redact(written)
    assert DRAWN not in redact(f"\0{written}")


def drawn_key(width: int) -> list[str]:
    letters = random.Random(width)
    return ["".join(letters.choices(string.ascii_letters + string.digits + "+/", k=width)) for _ in range(24)]


CARRIERS = {
    "as it is": "%s",
    "listed": "    %d\t%s",
    "found": "id_rsa:%d:%s",
    "a diff": "+%s",
    "quoted": "> %s",
    "a comment": "# %s",
    "a container's log": "web_1  | %s",
    "a dated log": "2026-01-02T03:04:05.123Z %s",
    "a block of YAML": "    %s",
    "strings of a program": '"%s\\n" +',
}


@pytest.mark.parametrize("width", [64, 70])
@pytest.mark.parametrize("carrier", CARRIERS.values(), ids=CARRIERS)
def test_nothing_is_left_of_a_key_of_which_both_ends_were_cut(carrier: str, width: int) -> None:
    lines = drawn_key(width)
    text = "\n".join(carrier % ((number, line) if "%d" in carrier else line) for number, line in enumerate(lines, 1))
    for written in (text, json.dumps({"out": text}), json.dumps({"body": json.dumps({"out": text})})):
        for start, end in ((0, len(written)), (500, 900), (530, 1300), (777, -400)):
            hidden = redact(f"$ tail key\n{written[start:end]}\nok")
            left = [line for line in lines for at in range(width - 12) if line[at : at + 12] in hidden]
            assert not left, (start, hidden)


@pytest.mark.parametrize("name", ["CERTIFICATE", "PUBLIC KEY", "PGP SIGNATURE"])
def test_lines_that_everybody_may_read_stay(name: str) -> None:
    dashes = "-" * 5
    text = "\n".join([f"{dashes}BEGIN {name}{dashes}", *drawn_key(64), f"{dashes}END {name}{dashes}"])
    assert redact(text) == text


@pytest.mark.parametrize(
    "said",
    ["password=@", "export API_TOKEN=@\n", '{"password":"@"}', "postgres://bob:@@db/prod", "key: ghp_@@@\nb: 1"],
)
def test_a_secret_in_base64_goes_as_in_its_own_words(said: str) -> None:
    encoded = base64.b64encode(said.replace("@@@", DRAWN + DRAWN[:16]).replace("@", DRAWN, 1).encode()).decode()
    for text in (f"config: {encoded} read", f"echo {encoded} | base64 -d", f'{{"payload": "{encoded}"}}'):
        assert encoded[12:36] not in redact(text)


def test_what_is_no_secret_in_base64_stays() -> None:
    for said in (
        b"nothing to see here but words and 12 numbers" * 4,
        b'[{"version":3,"file":"a.js"}]' * 9,
        bytes(range(256)),
    ):
        text = f"config: {base64.b64encode(said).decode()} read"
        assert redact(text) == text
