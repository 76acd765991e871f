"""Read how the tests of other languages ended from what jest, vitest, node, cargo, go, rspec and gradle print. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from ratchet.healing.episode import RunnerCounts

Ended = Literal["passed", "failed", "skipped"]
Named = Iterable[tuple[str, Ended]]
"""Tests by the runner's own names for them, in the order in which it tells of them."""

_MOST = 5_000  # names that are kept
_PARTS = re.compile(r"(\d{1,7}) (passed|failed|skipped|todo|pending)\b")
_JEST = re.compile(r"^Tests: {1,8}(.{0,120}\d total)$", re.MULTILINE)
_JEST_TEST = re.compile(r"^ {1,4}● (.{1,300})$", re.MULTILINE)
_NOT_RUN = "Test suite failed to run"
_JEST_SUITES = re.compile(r"^Test Suites: {1,8}(\d{1,7}) failed", re.MULTILINE)
_VITEST = re.compile(r"^ {4,10}Tests {1,4}(.{1,120}) \(\d{1,7}\)$", re.MULTILINE)
_VITEST_TEST = re.compile(r"^ FAIL {1,4}(\S.{0,300}? > .{1,300})$", re.MULTILINE)
_VITEST_FILE = re.compile(r"^ FAIL {1,4}(\S.{0,300}) \[ .{1,300} \]$", re.MULTILINE)
_VITEST_LOST = re.compile(r"^ {1,12}(?:Test Files|Errors) {1,4}(\d{1,7}) (?:failed|errors?)\b", re.MULTILINE)
_NODE = re.compile(r"^[#\u2139] tests \d{1,7}$", re.MULTILINE)
_NODE_PART = re.compile(r"^[#\u2139] (pass|fail|cancelled|skipped|todo) (\d{1,7})$", re.MULTILINE)
_NODE_ENDED = re.compile(r"^( *)(not ok|ok) \d{1,7} - (.{1,300}?)(?: # (SKIP|TODO).*)?$")
_NODE_MARKED = re.compile(r"^( *)([\u2714\u2716\uFE63]) (.{1,300}?) \([\d.]{1,12}ms\)(?: # (SKIP|TODO).*)?$")
_NODE_OPENED = re.compile(r"^( *)(?:# Subtest: |\u25b6 )(.{1,300}?)(?: \([\d.]{1,12}ms\))?$")
_CARGO = re.compile(r"^test result: \w{1,8}\. (\d{1,7}) passed; (\d{1,7}) failed; (\d{1,7}) ignored", re.MULTILINE)
_CARGO_TEST = re.compile(r"^test (\S.{0,300}?) \.\.\. (ok|FAILED|ignored)", re.MULTILINE)
_GO_TEST = re.compile(r"^ {0,40}--- (PASS|FAIL|SKIP): (\S{1,300})", re.MULTILINE)
_GO_PACKAGE = re.compile(
    r"^(ok|FAIL)[ \t]{1,8}\S{1,300}[ \t](?:[\d.]{1,12}s|\(cached\)|\[)(?!.{0,99}\[no tests to run)", re.MULTILINE
)
_RSPEC = re.compile(
    r"^(\d{1,7}) examples?, (\d{1,7}) failures?(?:, (\d{1,7}) pending)?"
    r"(?:, (\d{1,7}) errors? occurred outside of examples)?$",
    re.MULTILINE,
)
_RSPEC_TEST = re.compile(r"^rspec \S{1,300} # (.{1,300})$", re.MULTILINE)
_GRADLE = re.compile(r"^(?:\d{1,7} tests? completed, \d{1,7} failed|BUILD (?:SUCCESSFUL|FAILED) in )", re.MULTILINE)
_GRADLE_TEST = re.compile(r"^(\S.{0,300}? > .{1,300}?) (FAILED|PASSED|SKIPPED)$", re.MULTILINE)
_ENDED: dict[str, Ended] = {
    "ok": "passed", "not ok": "failed", "FAILED": "failed", "ignored": "skipped", "PASS": "passed", "FAIL": "failed",
    "SKIP": "skipped", "PASSED": "passed", "SKIPPED": "skipped", "\u2714": "passed", "\u2716": "failed",
    "\ufe63": "skipped",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class RunnerDialect:
    """A runner by what only it prints, and the reading of it."""

    name: str
    tells: re.Pattern[str]
    read: Callable[[str], RunnerCounts]


def counted_elsewhere(text: str) -> RunnerCounts | None:
    """Read what one of these runners says of its tests; None where none of them is heard."""
    return next((each.read(text) for each in _DIALECTS if each.tells.search(text)), None)


def _counts(named: Named, **numbers: int) -> RunnerCounts:
    """Counts with the names of tests; the numbers are those of the names where none is given."""
    ended = dict(named)
    ids = {
        how: tuple(name for name, its in ended.items() if its == how)[:_MOST] for how in ("passed", "failed", "skipped")
    }
    told = numbers or {how: len(names) for how, names in ids.items()}
    return RunnerCounts(**told, failed_ids=ids["failed"], passed_ids=ids["passed"], skipped_ids=ids["skipped"])


def _parts(said: str) -> dict[str, int]:
    """The numbers of a line such as `2 failed | 1 passed | 1 skipped`."""
    found = {word: int(number) for number, word in _PARTS.findall(said)}
    off = sum(found.get(word, 0) for word in ("skipped", "todo", "pending"))
    return {"passed": found.get("passed", 0), "failed": found.get("failed", 0), "skipped": off}


def _jest(text: str) -> RunnerCounts:
    """Of jest: only what failed is named, unless it is asked for more."""
    headings = [name.strip() for name in _JEST_TEST.findall(text)]
    named: list[tuple[str, Ended]] = [(name, "failed") for name in headings if name not in (_NOT_RUN, "Console")]
    return _with_lost(named, _parts(_JEST.findall(text)[-1]), headings.count(_NOT_RUN), _JEST_SUITES.findall(text))


def _vitest(text: str) -> RunnerCounts:
    failed: list[tuple[str, Ended]] = [(name, "failed") for name in _VITEST_TEST.findall(text)]
    lost = len({*_VITEST_FILE.findall(text)})
    return _with_lost(failed, _parts(_VITEST.findall(text)[-1]), lost, _VITEST_LOST.findall(text))


def _with_lost(named: Named, parts: dict[str, int], errors: int, lost: Iterable[str]) -> RunnerCounts:
    """Counts in which files that are `lost` are errors, but for those whose tests tell of it."""
    return _counts(named, **parts, errors=errors or (0 if parts["failed"] else sum(map(int, lost))))


def _node(text: str) -> RunnerCounts:
    said = {word: int(number) for word, number in _NODE_PART.findall(text)}
    bad, off = (sum(said.get(word, 0) for word in words) for words in (("fail", "cancelled"), ("skipped", "todo")))
    return _counts(_nested(text.splitlines()), passed=said.get("pass", 0), failed=bad, skipped=off)


def _nested(lines: Iterable[str]) -> Iterator[tuple[str, Ended]]:
    """Tests of node by their names with those around them; what holds others is none itself."""
    above: list[tuple[int, str]] = []
    holding: set[str] = set()
    for line in lines:
        if line.startswith("\u2716 failing tests:"):
            return  # told a second time
        opened = _NODE_OPENED.match(line)
        ended = _NODE_ENDED.match(line) or _NODE_MARKED.match(line)
        if opened is not None:
            depth = len(opened[1])
            above = [*(each for each in above if each[0] < depth), (depth, opened[2])]
        elif ended is not None:
            outer = [name for depth, name in above if depth < len(ended[1])]
            name = " > ".join([*outer, ended[3]])
            holding.update(" > ".join(outer[:at]) for at in range(1, len(outer) + 1))
            if name not in holding:
                yield name, "skipped" if ended[4] else _ENDED[ended[2]]


def _cargo(text: str) -> RunnerCounts:
    passed, failed, ignored = (sum(map(int, each)) for each in zip(*_CARGO.findall(text), strict=True))
    named = ((name, _ENDED[how]) for name, how in _CARGO_TEST.findall(text))
    return _counts(named, passed=passed, failed=failed, skipped=ignored)


def _go(text: str) -> RunnerCounts:
    """Of go: without -v it tells of no test that passes, so its packages are counted then."""
    told = [(name, _ENDED[how]) for how, name in _GO_TEST.findall(text)]
    outer = {name.rpartition("/")[0] for name, _ in told}
    named = [each for each in told if each[0] not in outer]
    if any(how == "passed" for _, how in named):
        return _counts(named)
    packages = _GO_PACKAGE.findall(text)
    return _counts(named, passed=packages.count("ok"), failed=packages.count("FAIL"))


def _rspec(text: str) -> RunnerCounts:
    told = [[int(number or 0) for number in each] for each in _RSPEC.findall(text)][-1]
    total, failed, pending, errors = told
    named: list[tuple[str, Ended]] = [(name, "failed") for name in _RSPEC_TEST.findall(text)]
    passed = max(0, total - failed - pending)
    return _counts(named, passed=passed, failed=failed, skipped=pending, errors=errors)


def _gradle(text: str) -> RunnerCounts:
    """Of gradle: it counts only where something failed, so nothing is held against a run that does not."""
    named = [(name, _ENDED[how]) for name, how in _GRADLE_TEST.findall(text)]
    every = any(how == "passed" for _, how in named)
    return _counts(named) if every else _counts(named, passed=0, failed=0, skipped=0)


_DIALECTS = (
    RunnerDialect("jest", _JEST, _jest),
    RunnerDialect("vitest", _VITEST, _vitest),
    RunnerDialect("node", _NODE, _node),
    RunnerDialect("cargo", _CARGO, _cargo),
    RunnerDialect("rspec", _RSPEC, _rspec),
    RunnerDialect("go", re.compile(f"(?:{_GO_TEST.pattern})|(?:{_GO_PACKAGE.pattern})", re.MULTILINE), _go),
    RunnerDialect("gradle", _GRADLE, _gradle),
)
