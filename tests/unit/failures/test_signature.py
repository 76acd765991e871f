"""Masking, templates and signatures: what varies goes, what names the cause stays."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ratchet.failures.grouping import group
from ratchet.failures.signature import LIMIT, VERSION, mask, sign, template_of

PYTHON = """Traceback (most recent call last):
  File "{home}/proj/run.py", line {line}, in <module>
    main()
  File "{home}/proj/app/core.py", line 33, in load
    return json.loads(text)
           ^^^^^^^^^^^^^^^^
  File "/usr/lib/python3.{minor}/json/__init__.py", line 346, in loads
    return _default_decoder.decode(s)
json.decoder.JSONDecodeError: Expecting value: line 1 column {column} (char 0)
"""
NODE = """/home/u/app/src/db.js:14
    throw new Error('boom ' + id);
    ^

TypeError: Cannot read properties of undefined (reading 'name')
    at getUser (/home/u/app/src/db.js:14:11)
    at async handler (/home/u/app/src/routes/user.js:33:5)
    at Layer.handle [as handle_request] (/home/u/app/node_modules/express/lib/router/layer.js:95:5)
    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)

Node.js v20.11.0"""
JAVA = """Exception in thread "main" java.lang.RuntimeException: could not start 42
\tat com.acme.app.Main.start(Main.java:31)
\tat com.acme.app.Main.main(Main.java:12)
Caused by: java.lang.IllegalStateException: no port 8080
\tat com.acme.net.Port.open(Port.java:55)
\tat org.springframework.boot.Foo.bar(Foo.java:1)
\tat com.acme.app.Main.start(Main.java:28)
\t... 2 more"""
GO = """panic: runtime error: index out of range [5] with length 3

goroutine 1 [running]:
main.(*Server).load(0xc000012345, {0x1, 0x2})
\t/home/u/go/src/acme/server.go:42 +0x1d
main.main()
\t/home/u/go/src/acme/main.go:10 +0x25
runtime.main()
\t/usr/local/go/src/runtime/proc.go:250 +0x207
exit status 2"""
RUST = """thread 'main' panicked at src/store.rs:88:14:
called `Result::unwrap()` on an `Err` value: NotFound
stack backtrace:
   0: rust_begin_unwind
             at /rustc/9fc6b43126469e3858e2fe86cafb4f0fd5068869/library/std/src/panicking.rs:665:5
   1: acme::store::open::h0123456789abcdef
             at ./src/store.rs:88:14
   2: acme::main
             at ./src/main.rs:12:5
note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace."""


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("attempt 3 of 5", "attempt <num> of <num>"),
        ("Limit 30,000 used -1.5e9 or 12.5%", "Limit <num> used <num> or <num>"),
        ("please try again in 1.4s", "please try again in <dur>"),
        ("retry in 2 seconds", "retry in <dur>"),
        ("retry after 1m30s or 920ms", "retry after <dur> or <dur>"),
        ("used 12MB of 1.5 GB", "used <size> of <size>"),
        ("at 2024-01-02T03:04:05.123Z", "at <time>"),
        ("at 2024-01-02 03:04:05,678 it failed", "at <time> it failed"),
        ("on Sat Jun 11 03:28:22 2005 it failed", "on <time> it failed"),
        ("open '/home/a b/x.json'", "open <name>"),
        ("cat: /etc/shadow: Permission denied", "cat: <path>: Permission denied"),
        ("src/app.ts:12:5 - error", "<path> - error"),
        ("in ./scripts/run.sh and C:\\Users\\me\\a.txt", "in <path> and <path>"),
        ("tests/test_a.py::test_foo FAILED", "<path>::test_foo FAILED"),
        ("GET https://api.example.com/v1/x?id=3 failed", "GET <url> failed"),
        ("cannot reach api.openai.com:443", "cannot reach <host>"),
        ("connect ECONNREFUSED 127.0.0.1:5432", "connect ECONNREFUSED <ip>"),
        ("connect ECONNREFUSED ::1:5432", "connect ECONNREFUSED <ip>"),
        ("mail to bob@example.com bounced", "mail to <email> bounced"),
        ("request 3f2b8c1e-1111-2222-3333-444455556666", "request <id>"),
        ("id toolu_01AbCdEfGhIjKlMnOpQrStUv", "id toolu_<id>"),
        ("commit 3f2b8c1 at 0xDEADBEEF", "commit <hex> at <hex>"),
        ("No module named 'requests'", "No module named <name>"),
        ("unknown flag `--foo`", "unknown flag <name>"),
        ("rm: cannot remove 'x': Is a directory", "rm: cannot remove <name>: Is a directory"),
        ("at ThunderboltTypeAdapter2::wake took 3 us", "at ThunderboltTypeAdapter<num>::wake took <num> us"),
    ],
)
def test_a_parameter_becomes_the_placeholder_of_its_type(text: str, masked: str) -> None:
    assert mask(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "error TS2345: not assignable",
        "error[E0308]: mismatched types",
        "ORA-00942: table or view does not exist",
        "fatal: refusing to merge unrelated histories",
        "read/write and/or application/json",
        "can't do that, it won't and doesn't",
        "java.lang.NullPointerException",
        '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
        "{'error': {'message': 'Too many calls', 'code': 'rate_limit_exceeded'}}",
    ],
)
def test_what_names_the_cause_stays(text: str) -> None:
    assert mask(text) == text


TOKENS = r"""error: failed to open '/tmp/a 1' "name" at 10:11:12.5 2024-01-02 blk_-12 a/b/c.py:3:4 10.0.0.1:80 HTTP/1.1
x=1, (2) [3] <4> foo(5) 6s 7MB 8 seconds 9 KB 0xff deadbeef1 req_01AbCdEfGhIjKlMnOp2 bob@example.com www.example.com:443
https://example.com/x?y=1 C:\\x\\y.txt ./a ../b ~/c `d` TS2345 50% 1,234 key='v' isn't"""
WORDS = st.sampled_from(TOKENS.split())


@given(st.lists(WORDS, max_size=30).map(" ".join))
@example("HTTP/1.1 and a/2/b <path><num> x:<ip>:5")
def test_masking_a_masked_text_changes_nothing(text: str) -> None:
    once = mask(text)
    assert mask(once) == once


@given(st.text(max_size=2_000), st.integers(1, 40))
def test_any_text_has_a_bounded_template(text: str, times: int) -> None:
    assert len(template_of(text * times)) <= LIMIT


def test_the_same_cause_on_another_machine_has_the_same_template() -> None:
    here = PYTHON.format(home="/home/alice", line=10, minor=11, column=1)
    there = PYTHON.format(home="/Users/bob/work", line=99, minor=13, column=7)
    assert template_of(here) == template_of(there)


def test_a_python_traceback_is_its_exception_and_its_in_project_frames() -> None:
    template = template_of("some log line before\n" + PYTHON.format(home="/srv", line=1, minor=12, column=1))
    assert template.split("\n") == [
        "json.decoder.JSONDecodeError: Expecting value: line <num> column <num> (char <num>)",
        "in <module> (run.py)",
        "in load (core.py)",
    ]


def test_of_a_chain_of_exceptions_the_one_that_got_out_counts() -> None:
    chained = (
        PYTHON.format(home="/srv", line=1, minor=12, column=1)
        + "\nThe above exception was the direct cause of the following exception:\n\n"
        + 'Traceback (most recent call last):\n  File "/srv/proj/cli.py", line 3, in main\n    go()\n'
        + "app.ConfigError: bad config 'x.json'\n"
    )
    assert template_of(chained) == "app.ConfigError: bad config <name>\nin main (cli.py)"


def test_a_recursion_is_told_once() -> None:
    frame = '  File "/srv/a.py", line 4, in walk\n    walk(x)\n'
    text = f"Traceback (most recent call last):\n{frame * 50}RecursionError: maximum recursion depth exceeded"
    assert template_of(text) == "RecursionError: maximum recursion depth exceeded\nin walk (a.py)"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            NODE,
            [
                "TypeError: Cannot read properties of undefined (reading <name>)",
                "in handler (user.js)",
                "in getUser (db.js)",
            ],
        ),
        (
            JAVA,
            [
                "Exception in thread <name> java.lang.RuntimeException: could not start <num>",
                "Caused by: java.lang.IllegalStateException: no port <num>",
                "in com.acme.app.Main.start",
                "in com.acme.net.Port.open",
            ],
        ),
        (
            GO,
            [
                "panic: runtime error: index out of range [<num>] with length <num>",
                "in main.main (main.go)",
                "in main.(*Server).load (server.go)",
            ],
        ),
        (
            RUST,
            [
                "thread <name> panicked at <path>:",
                "called <name> on an <name> value: NotFound",
                "in acme::main (main.rs)",
                "in acme::store::open (store.rs)",
            ],
        ),
    ],
    ids=["node", "java", "go", "rust"],
)
def test_a_traceback_of_any_language_keeps_exception_and_in_project_frames(text: str, lines: list[str]) -> None:
    assert template_of(text).split("\n") == lines


def test_a_long_build_log_is_known_by_its_error_and_not_by_its_banner() -> None:
    def log(version: str, unit: str, error: str) -> str:
        banner = [f"Acme build tool {version}, workspace /ci/{version}/job"]
        steps = [f"[{i}/400] compiling module {unit}{i}" for i in range(400)]
        steps[200] = error
        return "\n".join([*banner, *steps, "build finished"])

    one = log("1.2", "core", "src/a.c:12:5: error: expected ';' before '}' token")
    two = log("9.7", "net", "lib/other.c:77:1: error: expected ';' before '}' token")
    other = log("1.2", "core", "src/a.c:12:5: fatal error: foo.h: No such file or directory")
    assert template_of(one) == template_of(two)
    assert template_of(one) != template_of(other)
    assert "error: expected" in template_of(one)
    assert "Acme" not in template_of(one)


def test_the_wrapping_of_a_host_does_not_change_the_template() -> None:
    plain = "File has not been read yet. Read it first before writing to it."
    assert template_of(f"<tool_use_error>{plain}</tool_use_error>") == template_of(plain)
    assert template_of("Exit code 128\nfatal: not a git repository") == template_of("fatal: not a git repository")


def test_the_keys_and_values_of_pretty_json_stay() -> None:
    assert mask('{\n    "code": "invalid_request",\n    "id": 7\n}') == '{\n"code": "invalid_request",\n"id": <num>\n}'


def test_a_traceback_with_its_line_breaks_spelled_out_is_still_one() -> None:
    text = PYTHON.format(home="/srv", line=1, minor=12, column=1)
    assert template_of(text.replace("\n", "\\n")) == template_of(text)


def test_a_windows_path_is_no_line_break() -> None:
    text = "cannot load C:\\new\\nested\\nodes.cfg for the service"
    assert template_of(text) == "cannot load <path> for the service"


def test_a_signature_names_version_kind_and_template() -> None:
    signature = sign("network", "connection refused")
    assert signature.startswith(f"{VERSION}:")
    assert len(signature) == len(VERSION) + 1 + 16
    assert signature != sign("timeout", "connection refused")
    assert signature != sign("network", "connection reset")


@pytest.mark.parametrize("hash_seed", ["0", "1", "4711"])
def test_a_signature_is_the_same_in_every_process(hash_seed: str, tmp_path: Path) -> None:
    text = "429 rate limit for org-A1b2C3d4E5f6G7h8 at 10:11:12, retry in 2s: 'gpt'"
    program = (
        "from ratchet.failures.signature import sign, template_of\n"
        "from ratchet.failures.grouping import group\n"
        f"print(sign('rate_limit', template_of({text!r})), *group([{text!r}]))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "LC_ALL": "C", "TZ": "Asia/Tokyo"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [sign("rate_limit", template_of(text)), *group([text])]


ADVERSARIAL = {
    "one token": "a",
    "digits": "1",
    "quotes": '"',
    "apostrophes": " '",
    "slashes": "/",
    "dotted": "a.",
    "colons": "1:",
    "hex": "deadbeef",
    "assignments": "a= ",
    "brackets": "(",
    "dashes": "0-",
    "exponents": "1e+",
    "packages": "com.",
    "urls": "http://",
    "escapes": "\x1b[",
    "frames": '  File "x", line 1\n',
    "javascript": "\n    at x (y:1:1)",
    "json": '{"a":',
}


@pytest.mark.parametrize("piece", ADVERSARIAL.values(), ids=ADVERSARIAL.keys())
def test_an_adversarial_text_of_any_length_is_answered(piece: str) -> None:
    """At these lengths work that is not linear would take minutes."""
    assert len(template_of(piece * 40_000)) <= LIMIT
    assert len(mask(piece * 10_000)) <= 10 * len(piece * 10_000)
