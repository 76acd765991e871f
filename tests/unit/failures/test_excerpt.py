"""The lines that carry an error, and failures that nobody flagged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ratchet.failures import excerpt
from ratchet.failures import runner_reports as reports
from ratchet.failures.excerpt import LINES, SHORT, carried, deciding, error_lines, plain
from ratchet.failures.kinds.kind import kind_of
from ratchet.failures.signature import template_of
from ratchet.failures.unflagged import says_failure

BANNER = "\n".join(f"[{i:3}/400] Compiling crate_{i} v0.{i}.1 (registry+https://example.org)" for i in range(400))
TRACEBACK = 'Traceback (most recent call last):\n  File "app.py", line 3, in f\n    g()\nValueError: bad'


@pytest.mark.parametrize(
    "error",
    [
        "error[E0382]: borrow of moved value: `name`",
        "src/x.c:3:5: error: expected ';' before 'return'",
        "src/app.ts(14,7): error TS2322: Type 'string' is not assignable to type 'number'.",
        "cmd/list/tree.go:42:24: cannot use cp as string value in struct literal",
        "fatal: The current branch x has no upstream branch.",
        "npm ERR! 404 Not Found - GET https://registry.example.org/left-padd",
        "panic: runtime error: index out of range [5] with length 3",
        "--- FAIL: TestParse (0.00s)",
        "E       AssertionError: assert 3 == 4",
        "** (RuntimeError) no :secret_key_base configuration found",
        "/bin/bash: line 1: rg: command not found",
    ],
)
def test_a_build_log_of_400_lines_reduces_to_its_error(error: str) -> None:
    assert error_lines(f"{BANNER}\n{error}\n{BANNER}") == error


def test_what_only_repeats_that_something_failed_goes() -> None:
    log = f"{BANNER}\nsrc/x.c:3:5: error: boom\nmake: *** [Makefile:3: all] Error 1\n[build] ERROR task failed"
    assert error_lines(log) == "src/x.c:3:5: error: boom"


def test_the_same_line_is_told_once_and_only_the_first_errors_are_kept() -> None:
    log = "\n".join(["error: same"] * 50 + [f"error: number {i}" for i in range(50)] + ["done"])
    kept = error_lines(log).split("\n")
    assert kept[0] == "error: same"
    assert kept.count("error: same") == 1
    assert len(kept) == LINES


def test_a_short_traceback_stays_whole_and_the_last_one_counts() -> None:
    assert error_lines(f"{BANNER}\n{TRACEBACK}\n\nbye\n{BANNER}") == TRACEBACK
    chained = f"{TRACEBACK}\n\nDuring handling of the above exception:\n\n" + TRACEBACK.replace("bad", "worse")
    assert error_lines(chained).endswith("ValueError: worse")


def test_a_long_traceback_keeps_what_its_exception_says() -> None:
    frames = "".join(f'  File "a.py", line {i}, in f\n    g()\n' for i in range(300))
    kept = error_lines(f"Traceback (most recent call last):\n{frames}ValueError: deep", 500)
    assert len(kept) <= 500
    assert kept.endswith("ValueError: deep")


def test_colours_progress_bars_and_the_shell_tools_header_go() -> None:
    assert error_lines("Exit code 1\n\x1b[31merror:\x1b[0m boom") == "error: boom"
    assert plain("  1%\r 50%\r100% done\nnext\r\n") == "100% done\nnext\n"
    assert error_lines("Exit code 1") == "Exit code 1"


def test_line_breaks_that_a_tool_wrote_as_two_characters_are_read_as_such() -> None:
    said = "Pre-commit validation failed:\\n\\n[FORMAT] Code is not formatted.\\n\\nChecking\\nfiles ..."
    assert error_lines(said) == "[FORMAT] Code is not formatted."


def test_without_an_error_line_a_text_is_known_by_its_end() -> None:
    assert error_lines("one\ntwo\nthree\nfour\nfive") == "three\nfour\nfive"


def test_of_a_refused_edit_the_sentence_stays_not_the_code() -> None:
    said = "<tool_use_error>String to replace not found in file.\nString: error: boom\n</tool_use_error>"
    assert error_lines(said) == "String to replace not found in file."


UPSTREAM = "fatal: The current branch x has no upstream branch."
PUSH = "\nTo push the current branch and set the remote as upstream, use\n\n    git push -u origin x\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            UPSTREAM + PUSH,
            UPSTREAM,
        ),
        (
            UPSTREAM + PUSH + "\nTo have this happen automatically for branches without a tracking\n"
            "upstream, see 'push.autoSetupRemote' in 'git help config'.\n",
            UPSTREAM,
        ),
        ("error: pathspec 'a' did not match\nhint: try `git fetch`", "error: pathspec 'a' did not match"),
        ("Error: no lockfile\nTo make one, run:\n  npm install", "Error: no lockfile"),
        # What is no advice, or stands above another error, stays.
        ("error: cannot open\nreason: the disk is full", "error: cannot open\nreason: the disk is full"),
        (
            "error: push refused\nhint: refused because it is behind",
            "error: push refused\nhint: refused because it is behind",
        ),
        ("fatal: a\nhint: try b\nfatal: c", "fatal: a\nhint: try b\nfatal: c"),
        ("To push, use\n  git push", "To push, use\n  git push"),
    ],
)
def test_an_error_is_the_same_with_advice_below_and_without(text: str, said: str) -> None:
    assert error_lines(text) == said


def test_the_report_of_a_test_runner_stays_recognisable() -> None:
    report = f"{BANNER}\n  1) test a\n     ** (RuntimeError) boom\n{BANNER}\n5 tests, 5 failures"
    assert error_lines(report).split("\n") == ["** (RuntimeError) boom", "5 tests, 5 failures"]


@given(st.text(max_size=2000), st.integers(min_value=1, max_value=300))
def test_an_excerpt_fits_its_limit_and_never_fails(text: str, limit: int) -> None:
    assert len(error_lines(text, limit)) <= limit


@given(st.text(alphabet="aE :\n\\n.error/1)(", max_size=400))
def test_an_excerpt_of_an_excerpt_is_no_longer(text: str) -> None:
    once = error_lines(text)
    assert len(error_lines(once)) <= len(once)


@pytest.mark.parametrize(
    "piece", ["a", "\n", "1", "a.b:1:", "error: ", "E  ", "\x1b[", "\r", "\\n\\n", "FAIL ", "** ("]
)
def test_a_huge_hostile_text_is_read(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    assert len(error_lines(text)) <= 2000
    assert says_failure(text, tool="Bash", head="make") in (True, False)


FAILURES = [
    ("--- FAIL: TestParse (0.00s)\n    parse_test.go:14: got 3\nFAIL", "Bash", "go test"),
    ("fatal: The current branch x has no upstream branch.", "Bash", "git push"),
    ("12 passed in 3s\n=== 1 failed, 12 passed in 3.21s ===", "Bash", "pytest"),
    ("src/a.ts(3,5): error TS2339: Property 'x' does not exist on type 'Y'.", "Bash", "npx tsc"),
    (TRACEBACK, "Bash", "python"),
    ("compiling\nBUILD FAILED in 3s", "Bash", "gradle build"),
    ("make: *** [all] Error 2", "Bash", "make"),
    ("npm ERR! code ELIFECYCLE", "Bash", "npm run"),
    ("bash: rg: command not found", "Bash", ""),
    ("Process exited with code 1\nOutput:\nno", "shell", ""),
    ("hi\n[The command completed with exit code 2.]", "execute_bash", ""),
    ("cat: x.txt: No such file or directory", "Bash", "cat"),
    ("fatal: not a git repository (or any of the parent directories): .git", "Bash", "git log"),
    ('{"error": {"type": "rate_limit_error", "message": "slow down"}}', "call_model", ""),
    ('{"status": 429, "message": "Too Many Requests"}', "mcp__api__get", ""),
    ('{"error":{"code":429,"message":"Resource has been exhausted"}}', "Bash", "curl"),
    ("HTTP/1.1 429 Too Many Requests\nretry-after: 3", "Bash", "curl"),
    ("Error: user not found", "get_user_details", ""),
    ("<tool_use_error>File does not exist.</tool_use_error>", "Read", ""),
    ("--- FAIL: TestX (0.00s)", "", ""),
    ("fatal: bad revision 'x'", "", ""),
]


@pytest.mark.parametrize(("text", "tool", "head"), FAILURES)
def test_a_failure_is_recognised_by_what_it_says(text: str, tool: str, head: str) -> None:
    assert says_failure(text, tool=tool, head=head)


SUCCESSES = [
    ("", "Bash", "git push"),
    ("     1\traise ValueError('fatal: boom')\n     2\t# error: x", "Read", ""),
    ("a.py:3: error: what a parser says\nb.py:4: fatal: x\nc: d\ne: f\ng", "Grep", ""),
    ('src/a.go:12:\treturn errors.New("fatal: x")', "Bash", "grep"),
    ("67dc57b Fix endpoint error rendering\nef25fe1 fatal: handle it", "Bash", "git log"),
    ("+error: unknown\n-fatal: x\n+--- FAIL: TestX\n 1 failed, 2 passed in 0.1s", "Bash", "git diff"),
    ("# Errors\n\nError: this page explains errors.\n404 Not Found means that ...", "WebFetch", ""),
    ("not found", "Bash", "ls"),
    ("14:02 [error] a log line of a passing test\n14 doctests, 410 tests, 0 failures", "Bash", "mix test"),
    ("ERROR error before init\n--- PASS: TestInit (0.02s)\nPASS\nok  \tpkg\t0.6s", "Bash", "go test"),
    ("error: retried once\ntest result: ok. 12 passed; 0 failed; 0 ignored", "Bash", "cargo test"),
    ('{"error": null, "data": [1, 2]}', "call_api", ""),
    ('{"success": true, "errors": []}', "call_api", ""),
    ('{"status": 200}', "Bash", "curl"),
    ("[main 3f2] fix: error handling when the build failed\n 1 file changed", "Bash", "git commit"),
    ("Updated src/errors.py: raise Error: x", "Edit", ""),
    ("took 429 ms", "search_tool", ""),
    ("The review found that Error: lines are logged twice.", "Task", ""),
    ("0 errors, 0 warnings", "Bash", "npm run"),
    ("Found 0 errors in 3 files", "Bash", "mypy"),
]


@pytest.mark.parametrize(("text", "tool", "head"), SUCCESSES)
def test_a_success_that_merely_holds_such_words_is_none(text: str, tool: str, head: str) -> None:
    assert not says_failure(text, tool=tool, head=head)


def test_reports_of_runners_and_compilers_are_told_from_passing_ones() -> None:
    assert reports.tests_failed("Tests:       2 failed, 40 passed, 42 total")
    assert reports.tests_failed("FAILED (failures=1)")
    assert not reports.tests_failed("Tests:       40 passed, 40 total\n0 failed")
    assert not reports.tests_failed("3 failed login attempts")
    assert reports.compiler_failed("main.c:12:5: error: use of undeclared identifier")
    assert not reports.compiler_failed("main.c:12:5: warning: unused variable 'error'")


def _results(folder: Path) -> Iterator[tuple[str, str, bool | None]]:
    """(tool, text, flag) of the plain tool results in real histories."""
    for path in sorted(folder.glob("*.jsonl")):
        tools: dict[str, str] = {}
        for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
            try:
                content = json.loads(line)["message"]["content"]
            except (ValueError, KeyError, TypeError):
                continue
            for block in content if isinstance(content, list) else ():
                if block.get("type") == "tool_use":
                    tools[block["id"]] = block["name"]
                elif block.get("type") == "tool_result" and isinstance(block.get("content"), str):
                    yield tools.get(block["tool_use_id"], ""), block["content"], block.get("is_error")


def test_in_real_histories_reads_and_edits_raise_no_alarm_and_flagged_commands_are_recognised(shared: Path) -> None:
    results = list(_results(shared / "data" / "claude-code"))
    assert len(results) > 300
    unflagged = [text for tool, text, flag in results if not flag and tool in ("Read", "Edit", "Grep", "Write", "Glob")]
    assert not [text[:80] for text in unflagged if says_failure(text, tool="Read")]
    flagged = [text for tool, text, flag in results if flag and tool == "Bash" and "user doesn't want" not in text]
    assert sum(says_failure(text, tool="Bash") for text in flagged) >= 0.9 * len(flagged)


_LINE = st.sampled_from(
    (
        "{a}: cannot open file {b} in /srv/{a}/x.py",
        "  while working on /srv/project/{a}/unit_{b}.py at line {b}",
        "  request id {a}-{b}, attempt {b} after {b} ms",
        "src/{a}.py:{b}: unexpected {a}",
        "Error: build {a} of stage: permission denied",
        "Expected: {b}",
        "left: {a}{b}",
        "detail {a}il daily {b}fail{a}",
        "FA{a}IL {b} de{b}nied can{a}not",
        "\u212ailled fa\u0130l {a}",
        "##il #rr#r {a}",
    )
)
_PART = st.text("0123456789abcdefABCDEFxyz", min_size=1, max_size=6)
_TEXTS = st.lists(
    st.lists(st.builds(lambda form, a, b: form.format(a=a, b=b), _LINE, _PART, _PART), min_size=4, max_size=9).map(
        "\n".join
    ),
    min_size=2,
    max_size=6,
)


@given(_TEXTS)
def test_what_is_remembered_of_lines_changes_nothing(texts: list[str]) -> None:
    remembered = [carried(text) for text in texts]
    for text, found in zip(texts, remembered, strict=True):
        excerpt._bare.clear()
        excerpt._known_signs.clear()
        excerpt._last = 0, "", ("", False)
        assert carried(text) == found


@given(st.text(max_size=80), st.text(max_size=80), st.text(max_size=80))
def test_what_is_in_a_line_is_in_its_shape(before: str, inside: str, after: str) -> None:
    whole = f"{before}{inside}{after}".encode("ascii", "replace").decode()
    part = inside.encode("ascii", "replace").decode()
    assert excerpt._shape(part.lower()) in excerpt._shape(whole)


WORDS = (
    *("error", "Error:", "FAILED", "left: 1", "  right: 2", "got  : x", "Received  : 5", "Expected   : 4", "WANT : 7"),
    *("warning", "foo.py:12: in x", "foo.py:12: warning: x", "A.PY:1:x", "#rror: x", "#.##:#", "\u2717 x", "\u00e9"),
    *("abc", "0x1f", "deadbeef", "make: ***", "x.go:3:", "K", "\u0130", "E   x", "no such", "ok", "done"),
)
LINE = st.tuples(st.sampled_from(("", "  ", "\t")), st.sampled_from(WORDS), st.sampled_from(("", " \u00e9", " x")))
TEXTS = st.lists(st.lists(LINE.map("".join), min_size=4, max_size=30).map("\n".join), min_size=1, max_size=4)


def _anew() -> ModuleType:
    """The module as a new process has it: it remembers nothing."""
    spec = find_spec("ratchet.failures.excerpt")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@given(TEXTS)
@example(["  Received  : 5\n\u00e9\nok\ndone", "Error: x\n  Received  : 5\n\u00e9\nok\ndone"])
def test_what_a_text_comes_to_does_not_depend_on_what_was_read_before(texts: list[str]) -> None:
    one = _anew()
    for text in texts:
        assert one.carried(text) == _anew().carried(text)


_LINES = (
    "  while working on /srv/a/unit_12.py at line 4",
    "compiling module 3 of 9",
    "request id 88-3 after 12 ms",
    "==========",
    "Error: could not open the file: permission denied",
    "could not parse what came: unexpected end",
    "    at load (a.js:3:4)",
    "FAILED tests/a.py::test_b",
    "src/a.py:12: error: bad",
    "  expected: 3",
    "validation error for the model:",
    "usage: tool [--all]",
    "Exit code 2",
    "Wall time: 3",
    "the user said:",
)


@given(
    first=st.lists(st.sampled_from(_LINES), min_size=4, max_size=9),
    others=st.lists(st.tuples(st.integers(0, 9), st.sampled_from(_LINES[:4]), st.integers(0, 9)), max_size=5),
    tool=st.sampled_from(["", "Bash", "Read"]),
)
def test_texts_with_the_same_deciding_lines_have_one_kind_and_one_signature(
    first: list[str], others: list[tuple[int, str, int]], tool: str
) -> None:
    second = list(first)
    for place, line, digit in others:
        second.insert(place, line.replace("3", f"{digit}"))
    read = []
    for text in ("\n".join(first), "\n".join(second)):
        read.append((kind_of(text, tool=tool), template_of(text), deciding(text, SHORT)))
    if read[0][2] and read[0][2] == read[1][2]:
        assert read[0] == read[1]


def test_what_differs_in_lines_that_say_nothing_is_the_same_text() -> None:
    def text(number: int) -> str:
        return (
            f"Error: no such table\n  started at {number}\n  ran for {number} ms\n  file {number}.log holds more\n" * 2
        )

    for number in (1, 2):
        kind_of(text(number))
    assert deciding(text(1), SHORT) == deciding(text(2), SHORT) == "\n".join(["Error: no such table"] * 2)
    assert not deciding(text(1), 10_000)


def test_of_powershell_the_sentence_stays_without_where_it_was_said() -> None:
    said = (
        "At line:1 char:29\n+ cd client && npm install uuid\n+                             ~~\n"
        "The token '&&' is not a valid statement separator in this version.\n"
        "    + CategoryInfo          : ParserError: (:) [], ParentContainsErrorRecordException\n"
        "    + FullyQualifiedErrorId : InvalidEndOfLine\n "
    )
    assert error_lines(said) == "The token '&&' is not a valid statement separator in this version."


def test_of_a_long_run_of_bun_the_test_that_failed_is_kept() -> None:
    log = "\n".join([*(f"[Parser] read {n} items" for n in range(400)), "(fail) cart > sums up [0.29ms]", " 1 fail"])
    assert error_lines(log) == "(fail) cart > sums up [0.29ms]"
