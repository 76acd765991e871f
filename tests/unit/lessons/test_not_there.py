"""Mines what a project did about a target, a browser or a file that an error says is not there."""

from __future__ import annotations

import pytest

from ratchet.lessons.mining.drafts import group_of
from ratchet.lessons.mining.mining import resolutions
from ratchet.records import Row
from support.sessions import session, shell


@pytest.mark.parametrize(
    ("calls", "advice"),
    [
        (
            [
                shell("make lint", "make: *** No rule to make target 'lint'.  Stop."),
                shell("cd backend && make lint"),
            ],
            "Run `cd backend && make lint` instead of `make lint` alone.",
        ),
        (
            [
                shell(
                    "npx playwright test", "Executable doesn't exist at /c/chrome\nPlease run: npx playwright install"
                ),
                shell("npx playwright install"),
                shell("npx playwright test"),
            ],
            "Run `npx playwright install` first, then `npx playwright test` again.",
        ),
        (
            [
                shell("pytest tests/test_a.py", "ERROR: file or directory not found: tests/test_a.py"),
                shell("pytest tests/api/test_a.py"),
            ],
            "Run `pytest tests/api/test_a.py` instead of `pytest <test>`.",
        ),
        (
            [
                shell(
                    "python3 bin/gen.py", "can't open file '/w/shop/bin/gen.py': [Errno 2] No such file or directory"
                ),
                shell("python3 tools/gen.py"),
            ],
            "Run `python3 tools/gen.py` instead of `python3 <file>`.",
        ),
    ],
)
def test_what_the_error_says_is_not_there_is_told_with_what_was_done(calls: list[Row], advice: str) -> None:
    (found,) = resolutions(session(calls))
    assert (found.text, found.worked) == (advice, True)
    assert group_of(found), "it is told"
