"""The data of Kubernetes secrets stays hidden, however the document is written and wherever it says what it is."""

from __future__ import annotations

import json

import pytest

from ratchet.failures.redaction.text import clean, redact

B = "aHVudGVyMnBhc3M" + "="
WORD = "zebra9" + "horse"
LONG = "QUJD" * 1500
FORMS = {
    "kind behind a long value": f"apiVersion: v1\ndata:\n  foo: {B}\n  ca.crt: {LONG}\nkind: Secret\n",
    "kind ahead of a long value": f"kind: Secret\ndata:\n  ca.crt: {LONG}\n  foo: {B}\n  bar: {B}\n",
    "the same in a diff": f"+data:\n+  foo: {B}\n+  ca.crt: {LONG}\n+kind: Secret\n",
    "the same in JSON": json.dumps({"data": {"foo": B, "ca": LONG, "bar": B}, "kind": "Secret"}),
    "a block": f"kind: Secret\nstringData:\n  x: |-\n\n    a {WORD}\n\n    b {WORD}\n  y: {WORD}\n",
    "a line end within quotes": f'kind: Secret\nstringData:\n  x: "a\\n{WORD}"\n  y: {WORD}\n',
    "an empty line and remarks": f"kind: Secret\ndata: # c\n\n  # c\n  a: {B}\n# c\n  b: {B}\n",
    "braces": f"kind: Secret\ndata: {{foo: {B}}}\n",
    "braces on the next line": f"kind: Secret\ndata:\n  {{foo: {B}}}\n",
    "braces over lines": f"kind: Secret\ndata: {{\n  foo: {B},\n  b: '{{{B}}}'\n}}\n",
    "a quoted name": f"kind: Secret\n\"data\":\n  'foo': {B}\n",
    "a space ahead of the colon": f"kind : Secret\ndata : \n  foo : {B}\n",
    "a type": f"kind: Secret\ndata: !!map\n  foo: !!binary |\n    {B}\n",
    "values on the next line": f"kind: Secret\ndata:\n  foo:\n    {B}\n  bar: >-\n    {B}\n",
    "grep -n": f"1:kind: Secret\n2:data:\n3:  foo: {B}\n",
    "grep -n of files": f"a-1-s.yml-1-kind: Secret\na-1-s.yml-2-data:\na-1-s.yml:3:  foo: {B}\n",
    "far to the right": "".join(" " * 90 + line for line in ("kind: Secret\n", "data:\n", f"  foo: {B}\n")),
    "objects within": f'{{"kind":"Secret","data":{{"foo":"x","n":{{"x":["{B}"]}},"bar":"{B}"}}}}',
    "braces within": f'{{"kind":"Secret","stringData":{{"foo":"{{a}}","bar":"{WORD}"}}}}',
    "backslashes within": json.dumps({"kind": "Secret", "stringData": {"a\\": f'\\\\"}}{WORD}\\', "bar": WORD}}),
    "without an end": f'{{"kind":"Secret","stringData":{{"foo":"a \\" {WORD}, "bar": {WORD}',
    "of Python": str({"kind": "Secret", "data": {"foo": B}}),
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_the_data_of_a_secret_is_hidden_in_every_form(text: str) -> None:
    for said in (text, json.dumps({"out": text}), json.dumps([json.dumps([text])]), text.replace("\n", "\r\n")):
        kept = clean(said)
        assert B not in kept, kept[:400]
        assert WORD not in kept, kept[:400]
        assert redact(redact(said)) == redact(said)


def test_what_stands_beside_the_data_stays() -> None:
    for kind in ("ConfigMap", "SecretStore"):
        text = f"kind: {kind}\ndata:\n  foo: {B}\n"
        assert clean(text) == text
    text = '{{"kind": "Secret", "data": {{"foo": "{}"}}, "type": "Opaque", "data2": {{"a": "b"}}}}'
    assert redact(text.format(B)) == text.format("[redacted:secret]")


def test_a_value_in_a_diff_stands_beside_the_name_of_the_one_that_it_replaces() -> None:
    for old in ("A1b2", "changeme"):
        told = redact(f" - name: DB_PASSWORD\n-  value: {old}\n+  value: {WORD}2\n   x: 1\n")
        assert WORD not in told
        assert told.endswith("+  value: [redacted:password]\n   x: 1\n")


def test_a_space_of_any_width_separates_a_name_from_its_value() -> None:
    for space in "\u00a0\u2003\u202f\u3000":
        assert redact(f"password:{space}{WORD}2") == f"password:{space}[redacted:password]"
        assert WORD not in redact(f"password{space}={space}{WORD}2")
