"""Reads the Test Anything Protocol, 12 to 14 (testanything.org). Pure.

A test with the directive SKIP did not run, one with TODO may fail: neither counts. What the plan promises and does not
come has failed, and so has everything after `Bail out!`. Subtests are indented; their parent speaks for them.
"""

from __future__ import annotations

import re

from ratchet.evolving.scorers.said import Said, of_counts
from ratchet.healing.episode import RunnerCounts

_PLAN = re.compile(r"^1\.\.(\d{1,7})(?: *#.*)?$", re.MULTILINE)
_VERSION = re.compile(r"^TAP version \d", re.MULTILINE)
_TEST = re.compile(r"^(not )?ok\b(?: +\d{1,7})?(?: *-)?((?:[^#\\\n]|\\.)*)(?:# *(\w*).*)?$", re.MULTILINE)
_BAIL = re.compile(r"^Bail out!.{0,200}", re.MULTILINE | re.IGNORECASE)


def read_tap(text: str) -> Said | None:
    """The share of the planned tests that passed; None where the text is no TAP."""
    plan, tests = (
        _PLAN.search(text),
        [match for match in _TEST.finditer(text) if match[0].strip() not in ("ok", "not ok")],
    )
    if plan is None and not _VERSION.search(text):
        return None
    if (bail := _BAIL.search(text)) is not None:
        return Said(score=0.0, reason=bail[0], judged=True)
    if plan is None:
        return Said(score=None, reason="its TAP has no plan (1..N), so that it may have ended early")
    passed = failed = skipped = 0
    for bad, _, directive in (match.groups() for match in tests):
        if (directive or "").lower().startswith(("skip", "todo")):
            skipped += 1
        elif bad:
            failed += 1
        else:
            passed += 1
    planned = int(plan[1])
    missing = max(0, planned - len(tests))
    extra = max(0, len(tests) - planned)  # a plan that is not kept is a failure of the whole
    return of_counts(RunnerCounts(passed=passed, failed=failed + missing + extra, skipped=skipped))
