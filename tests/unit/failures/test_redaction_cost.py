"""Redaction takes linear time: openings without an end, runs of one character, many empty and many short lines."""

from __future__ import annotations

import time

import pytest

from ratchet.failures.redaction.text import _redacted

DASHES, KEY = "-" * 5, "PRIVATE KEY" + "-" * 5  # in pieces: no rule of a scanner is to stop at this file
BODY = ("MIIEpAIBAAKCAQEA" * 4 + "\n") * 3
OPENINGS = {
    "nothing": "",
    "a key": f"{DASHES}BEGIN RSA {KEY}\n{BODY}{DASHES}END RSA {KEY}\n",
    "a key without an end": f"{DASHES}BEGIN {KEY}\n{BODY}",
    "a key without a beginning": f"{BODY}{DASHES}END {KEY}\n",
    "a key in a diff": f"+x = 1\n+{DASHES}BEGIN {KEY}\n+{BODY}-y\n+{DASHES}END {KEY}\n",
    "a key in JSON": f'{{"k": "{DASHES}BEGIN {KEY}\\n{BODY[:60]}\\n',
    "a key of PuTTY": "PuTTY-User-Key-File-2: ssh-rsa\nPrivate-Lines: 8\n" + BODY,
    "a JSON Web Key": '{"kty": "RSA", "d": "',
    "a manifest": "kind: Secret\ndata:\n  a: eHl6\n",
    "a manifest without values": 'kind: Secret\n"data": {"data": {',
    "a manifest in braces": "kind: Secret\ndata: {a: ",
    "a manifest that grep found": "s.yml:1:kind: Secret\ns.yml:2:data:\ns.yml:3:  a: eHl6\n",
    "a diff of values": " - name: DB_PASSWORD\n-  value: A1b2\n+  value: hunter2pass2\n",
    "a manifest in JSON": '{"kind": "Secret", "data": {"a": "',
    "a block": "password: |\n  a\n",
    "a header": "Authorization: ",
    "a name": "password=",
    "a quoted name": "{'api_key': '",
    "brackets": 'token = (\n  "abc',
    "an insert": "insert into t (user, password) values ('a', '",
    "a table": "user password\nbob hunter2hunter2\n",
    "a command": "docker login -u bob -p ",
    "a URL": "https://bob:",
    "lines of a key": ("0aB/" * 16 + "\n") * 3,
    "base64": "0aB/" * 16 + "==\n",
    "a cookie": "Set-Cookie: sid=",
}
FILLERS = (
    "\n",
    "\r\n",
    "ab\n",
    "  \n",
    "  a: b\n",
    "+x\n",
    "- a: b\n",
    "# x\n",
    "1\t\n",
    "\\n",
    "\\",
    "a",
    "A1b2",
    " ",
)
MORE = ("'", '"', "=", ": ", "{", "(", "|", "/", "a=b&", "-", ".", "@")
LINES = 500


@pytest.mark.slow
@pytest.mark.parametrize("opening", OPENINGS.values(), ids=OPENINGS)
def test_four_times_the_text_takes_no_more_than_some_four_times_the_work(opening: str) -> None:
    for filler in (*FILLERS, *MORE):
        assert _is_linear(opening, filler, 1), (opening, filler)
        assert _is_linear("", filler, 1, opening), (opening, filler)
    assert _is_linear("", opening, 8), opening
    assert _is_linear("", opening[: len(opening) * 2 // 3] + "\n", 8), opening


def _is_linear(before: str, piece: str, share: int, after: str = "") -> bool:
    """Compare the CPU time of this thread for a text and for one four times as long: quadratic work takes sixteen times
    as much. Asked thrice, since another process may empty the caches between."""
    few, many = (before + piece * (lines // share) + after for lines in (LINES, 4 * LINES))
    return any(_work(many) <= 9 * _work(few) + _LITTLE_S for _ in range(3))


_LITTLE_S = 0.02


def _work(text: str) -> float:
    before = time.thread_time()
    _redacted(text)
    return time.thread_time() - before
