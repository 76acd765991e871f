"""Reads what a check printed and how it ended into a verdict. Pure."""

from __future__ import annotations

import re

from ratchet.failures.excerpt import error_lines, uncoloured
from ratchet.failures.kinds.kind import kind_of
from ratchet.failures.redaction.text import clean, redact
from ratchet.failures.signature import sign, template_of
from ratchet.healing.episode import RunnerCounts, Verdict
from ratchet.healing.judges.runners import counted_elsewhere
from ratchet.sandbox.command import Ran

OUTPUT_CHARS = 60_000
_LINE_CHARS = 300
_KILLED = {
    "wall": "did not end within {wall:.0f} s",
    "idle": "neither worked nor said anything",
    "cpu": "used up its CPU time",
    "memory": "used up its memory",
    "disk": "wrote more than it may",
    "inodes": "made more files than it may",
    "output": "printed more than it may",
    "cancel": "was cancelled",
}
_KINDS = {"wall": "timeout", "idle": "timeout", "cpu": "timeout"}

# What runners say of how many tests there were: (pattern, whether its matches add up).
_RAN = (
    (re.compile(r"^Ran (\d{1,7}) tests? in ", re.MULTILINE), True),  # unittest
    (re.compile(r"^1\.\.(\d{1,7})$", re.MULTILINE), False),  # TAP
)
_PYTEST = re.compile(r"^=* ?((?:\d{1,7} [a-z]{1,12}(?:, )?){1,8}) in [\d.]{1,12}s", re.MULTILINE)
_PARTS = re.compile(r"(\d{1,7}) (passed|failed|errors?|skipped|xfailed|xpassed)")
_MOCHA = re.compile(r"^ {1,8}(\d{1,7}) (passing|failing)\b", re.MULTILINE)
_NOTHING = re.compile(
    r"^no tests ran\b|\bcollected 0 items\b|^Ran 0 tests|^NO TESTS RAN|^No tests? found|"
    r"no test(?:s to run| files)\]?$|Error: no test specified",
    re.MULTILINE | re.IGNORECASE,
)


def whole_text(ran: Ran) -> str:
    """Return all its output, standard output first, as it came."""
    parts = (stream.decode("utf-8", "replace") for stream in (ran.stdout, ran.stderr))
    return "\n".join(part.rstrip("\n") for part in parts if part.strip())


def text_of(ran: Ran) -> str:
    """Return its output without colours and secrets, its middle left out where it is very long: a secret that was cut
    first would not be known for one."""
    return clean(uncoloured(whole_text(ran)), OUTPUT_CHARS)


def last_line(text: str) -> str:
    """The last line that says anything, as one short line; "" where none does."""
    last = next((line for line in reversed(text.split("\n")) if line.strip()), "")
    return " ".join(last.split())[:_LINE_CHARS]


def failed(
    output: str,
    *,
    reason: str = "",
    exit_code: int | None = None,
    killed: str = "",
    wall_s: float = 0.0,
    tests: RunnerCounts | None = None,
    isolation: str = "",
    duration_s: float = 0.0,
) -> Verdict:
    """The verdict on a check that did not pass: classified and signed by what it printed."""
    said = f"the check {_KILLED[killed].format(wall=wall_s)}" if killed else reason
    text = redact(output or said)  # as everything that is stored, so that signatures agree
    kind = _KINDS.get(killed, "") or kind_of(text, exit_code=exit_code)
    # A check that was cut short printed whatever it came to; that it was cut short is the failure.
    template = template_of(said if killed else text) or f"exit code {exit_code}"
    lines = error_lines(text, 300).splitlines()
    return Verdict(
        passed=False,
        score=_score(tests),
        reason=said
        or (lines[-1].strip() if lines else f"the check printed nothing and ended with exit code {exit_code}"),
        output=output,
        kind=kind,
        signature=sign(kind, template),
        template=template,
        exit_code=exit_code,
        tests=tests,
        killed=killed,
        isolation=isolation,
        duration_s=duration_s,
    )


def _score(tests: RunnerCounts | None) -> float:
    if tests is None or not tests.total:
        return 0.0
    return min(0.99, tests.passed / tests.total)


def counted(text: str) -> RunnerCounts | None:
    """Read how many tests a runner says that it ran; None where it says nothing of it."""
    if (parts := _PYTEST.findall(text)) or (parts := _MOCHA.findall(text)):
        said = " ".join(" ".join(part) if isinstance(part, tuple) else part for part in parts)
        said = said.replace("passing", "passed").replace("failing", "failed")
        found = {word.rstrip("s") if word == "errors" else word: int(n) for n, word in _PARTS.findall(said)}
        return RunnerCounts(
            passed=found.get("passed", 0) + found.get("xpassed", 0),
            failed=found.get("failed", 0),
            errors=found.get("error", 0),
            skipped=found.get("skipped", 0) + found.get("xfailed", 0),
        )
    if (elsewhere := counted_elsewhere(text)) is not None:
        return elsewhere
    for pattern, adds_up in _RAN:
        numbers = [int(number) for number in pattern.findall(text)]
        if numbers:
            total = sum(numbers) if adds_up else numbers[-1]
            bad = _failures(text)
            off = _skips(text)
            return RunnerCounts(passed=max(0, total - bad - off), failed=min(bad, total), skipped=min(off, total))
    return RunnerCounts() if _NOTHING.search(text) else None


def _failures(text: str) -> int:
    """Failing tests as unittest counts them."""
    return sum(map(int, re.findall(r"(?:failures|errors)=(\d{1,6})", text)))


def _skips(text: str) -> int:
    """Tests that were left out, as unittest counts them."""
    return sum(map(int, re.findall(r"\bskipped=(\d{1,6})", text)))


def ran_nothing(text: str) -> bool:
    """Tell whether a runner says that it found no test at all."""
    return _NOTHING.search(text) is not None and (counts := counted(text)) is not None and not counts.total
