"""Recognises what test runners and compilers print when they fail. Lean: hook processes import it."""

from __future__ import annotations

from ratchet.failures.gated import Gated

_LINE = 200  # characters of a report line that are kept

# Patterns are strings, compiled by `re` (and kept there) when first met: a hook is a process per event.
_TEST_REPORTS = (
    r"^[ \t]{0,16}--- FAIL: ",  # go
    r"^FAIL\t",
    r"^(?:FAILED|ERROR) \S{1,300}::|^\S{1,200}::\S{1,200} FAILED\b",  # pytest
    r"^FAIL: \w{1,200} \(|(?<!\d)[1-9]\d{0,6} failing tests?\b",
    r"(?<!\d)[1-9]\d{0,6} failed(?:, \d{1,7} \w{1,12}){0,8} in \d",
    r"\bFAILED \((?:failures|errors)=",  # unittest
    r"\btest result: FAILED",  # cargo
    r"^[ \t]{0,8}Test(?:s| Suites| Files):? {1,12}(?:\d{1,7} \w{1,10} ?[,|] ?)?[1-9]\d{0,6} failed",  # jest, vitest
    r"^FAIL {1,4}\S{1,200}\.(?:test|spec)\.\w{1,4}\b",
    r"^[ \t]{0,8}[1-9]\d{0,6} (?:failing|failed)$",  # mocha, playwright
    r"\b(?:tests?|examples?|scenarios?|assertions?), [1-9]\d{0,6} failures?\b",  # ExUnit, RSpec
    r"\bTests run: \d{1,7}, (?:Failures: [1-9]|Failures: 0, Errors: [1-9])",  # JUnit
    r"\bAssertions: \d{1,7}, (?:Errors|Failures): [1-9]",  # PHPUnit
    r"\bFailed: {1,10}[1-9]\d{0,6}, Passed",  # dotnet
    r"^not ok \d",  # TAP
    r"(?<!\d)[1-9]\d{0,6} tests? failed",
    r"(?<!\d)[1-9]\d{0,6} tests failed out of",  # ctest
    r"^[#\u2139] fail [1-9]",  # node
    r"\bExecuted \d{1,7} tests?, with [1-9]\d{0,6} failures?\b",  # XCTest
    r"\bThere were failing tests\b",  # gradle
    r"\btests completed, [1-9]\d{0,6} failed",
    r"\bnpm (?:ERR!|error) Test failed",
    r"^(?:Error: )?Tests? (?:suite )?failed\b",
    r"^ ?[1-9]\d{0,6} fail$|^\(fail\) .{1,300} \[[\d.]{1,12}m?s\]$",  # bun
    r"\d passed[,|;]? {0,3}[1-9]\d{0,6} failed",
    r"(?<!\d)[1-9]\d{0,6} failed, \d{1,7} (?:passed|total|skipped)",
    r"\bThere (?:were|are) test failures\b|\b[1-9]\d{0,6} of \d{1,7} tests failed",
)
# The same reports of a run in which none failed: what tests printed before them is no error of the run.
_NONE_FAILED = tuple(
    form.replace(r"[1-9]\d{0,6}", "0").replace("[1-9]", "0") for form in _TEST_REPORTS if "[1-9]" in form
)
_REPORT_SIGNS = ("fail", "FAIL", "Fail", "not ok", "::", "Assertions: ")
_COMPILERS = (
    r"error\[E\d{4}\]",  # rustc
    r"\berror (?:TS|CS|C|LNK|FS)\d{4,5}\b",
    r"^[^\s:(]{1,200}(?::\d{1,6}){1,2}: (?:fatal )?error: ",  # gcc, clang, javac
    r"(?:^|^vet: |^go vet: |^Error: )[^\s:(]{1,200}\.go:\d{1,6}:\d{1,5}: ",
    r"^[^\s:(]{1,200}:\d{1,6}(?::\d{1,6})?: error: ",  # mypy
    r"\u2716 [1-9]\d{0,6} problems? \([1-9]",  # eslint
    r"\bundefined reference to\b",
    r"\bld returned \d",
    r"^\*\* \(CompileError\)|^== Compilation error in",
    r"^[ \t]{0,8}(?:error|warning) {1,4}[-\u2022] \S.{0,400}:\d{1,6}:\d",  # dart, flutter
)
_REPORTED, _NONE_REPORTED, _COMPILED = (
    Gated("(?m)" + "|".join(forms)) for forms in (_TEST_REPORTS, _NONE_FAILED, _COMPILERS)
)


def tests_failed(text: str) -> bool:
    """Tell whether a test runner reports at least one failing test in `text`."""
    return bool(test_summary(text))


def test_summary(text: str) -> str:
    """The first line in which a test runner reports failing tests, cut to 200 characters; "" without one."""
    global _last
    known, said = _last
    if known != text:
        said = _test_summary(text)
        _last = text, said
    return said


_last = ("", "")  # a failure is read several times in a row, for its kind and for its signature


def _test_summary(text: str) -> str:
    if not any(map(text.__contains__, _REPORT_SIGNS)):
        return ""
    # A report is a line, and each of its forms has one of these signs: most lines of an output have none.
    text = "\n".join([line for line in text.split("\n") if any(map(line.__contains__, _REPORT_SIGNS))])
    found = _REPORTED.search(text)
    if found is None:
        return ""
    start = text.rfind("\n", 0, found.start() + 1) + 1
    return text[start : start + 4 * _LINE].split("\n", 1)[0][: 4 * _LINE].strip()[:_LINE] or found[0].strip()


def behind_passed(text: str) -> str:
    """The text behind the last report of a test runner that none failed; the whole text without one."""
    if not any(map(text.__contains__, _REPORT_SIGNS)):
        return text
    ends = [found.end() for found in _NONE_REPORTED.finditer(text)]
    return text[ends[-1] :] if ends else text


def compiler_failed(text: str) -> bool:
    """Tell whether a compiler or linter reports an error in `text`."""
    return _COMPILED.search(text) is not None
