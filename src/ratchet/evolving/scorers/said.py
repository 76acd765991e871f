"""Reads one line of a grader: a number, a share, a word. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ratchet.arguments import finite
from ratchet.healing.episode import RunnerCounts

_SHOWN = 80
_RATIO = r"(\d{1,9}(?:\.\d{1,9})?) ?(?:/| of | out of ) ?(\d{1,9}(?:\.\d{1,9})?)"
_SHARE = re.compile(rf"(?:([a-z][a-z ]{{0,30}}?) ?[:=]? ?)?{_RATIO}(?: ([a-z ]{{1,24}}))?", re.IGNORECASE)
_BESIDE = frozenset(
    (
        "test",
        "tests",
        "check",
        "checks",
        "case",
        "cases",
        "assertion",
        "assertions",
        "point",
        "points",
        "are",
        "is",
        "have",
        "were",
    )
)
_ALL_PASSED = re.compile(
    r"all (?:of the |the )?(?:\d{1,7} )?(?:tests?|checks?|cases?|assertions?) (?:have |are )?(?:passed|ok|succeeded)"
)
_TIMED_OUT = re.compile(r"time[- _]?out|timed[- _]?out", re.IGNORECASE)
_ABOUT = re.compile(r"(?i)(?:\b|_)(?:scores?|rewards?|fitness|accuracy)\b|^[\W_]*\d[\W\d_]*$")
_BEGINS_BADLY = re.compile(r"not ok\b|fail(?:ed|ure)?\b|(?:wrong|incorrect)\b|false(?=$|[:!])")

GOOD = frozenset(
    (
        "pass",
        "passed",
        "ok",
        "okay",
        "success",
        "successful",
        "succeeded",
        "correct",
        "true",
        "yes",
        "resolved",
        "solved",
    )
)
BAD = frozenset(
    (
        "fail",
        "failed",
        "fails",
        "failure",
        "failures",
        "failing",
        "error",
        "errored",
        "incorrect",
        "wrong",
        "false",
        "no",
        "nok",
        "unresolved",
        "unsolved",
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Score in [0, 1]; None where there is none in what was printed, and `reason` says so."""

    score: float | None
    reason: str = ""
    kind: str = ""
    judged: bool = False
    """Told by words or counts, not by a score: a full success is none where the exit code denies it."""
    about: bool = False
    """About a score, or a run of tests, also where it holds no score."""

    @property
    def speaks(self) -> bool:
        """Tell whether it is more than noise."""
        return self.score is not None or self.about

    def denies(self, other: Said) -> bool:
        """Tell whether it is a run of tests, or a bare verdict, that ended worse than another verdict says."""
        return self.judged and self.about and other.judged and (self.score or 0.0) < (other.score or 0.0)


def unread(shown: str) -> Said:
    """The answer to what holds no score."""
    told = " ".join(shown.split())
    reason = f"it printed {told[:_SHOWN]}{'…' if len(told) > _SHOWN else ''}, which is no score"
    return Said(score=None, reason=reason, about=_ABOUT.search(told) is not None)


def numbered(value: float, shown: object, reason: str = "") -> Said:
    """A number said to be the score. One that is none scores nothing: NaN is what a bad answer makes of a mean."""
    score = finite(value)
    if score is not None and 0 <= score <= 1:
        return Said(score=score, reason=reason)
    return Said(score=0.0, reason=f"it printed {str(shown)[:40]}, which is no score between 0 and 1")


def judged(passed: bool, reason: str = "") -> Said:
    """A verdict without a score."""
    return Said(score=float(passed), reason="" if passed else reason, judged=True)


def of_counts(counts: RunnerCounts, reason: str = "") -> Said:
    """The share of the tests that passed, of those that ran."""
    ran = counts.total - counts.skipped
    if ran <= 0:
        return Said(score=None, reason=reason or "no test was run", judged=True, about=True)
    lost = f"{ran - counts.passed} of {ran} tests failed" if counts.passed < ran else ""
    return Said(score=counts.passed / ran, reason=reason or lost, judged=True, about=True)


def timed_out(text: str) -> bool:
    """Tell whether a text is a word for a time limit that was met."""
    return _TIMED_OUT.fullmatch(text) is not None


def amount(text: str) -> float | None:
    """A number as `bc` (.5), Python (nan) and people (50%, 7/10) write it; None for anything else (1_0)."""
    found = re.fullmatch(_RATIO, text)
    if found is not None:
        part, whole = float(found[1]), float(found[2])
        return part / whole if whole else None
    try:
        return None if "_" in text else float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        return None


def of_line(line: str) -> Said | None:
    """A line that is nothing but a number, a share (`7/10 passed`) or a word (`FAIL`); None for any other."""
    line = line.strip().rstrip(".")
    if (found := _share(line)) is not None:
        return found
    if (number := amount(line)) is not None and not re.search(r"/|of", line):
        return numbered(number, line)
    return judged(True) if _ALL_PASSED.fullmatch(line.strip(" !*").lower()) else of_word(line)


def _share(line: str) -> Said | None:
    """None where the words beside it are about something else: "Step 3/3" is no success, nor is "3/3 failed"."""
    found = _SHARE.fullmatch(line.strip(" !*[]()"))
    if found is None:
        return None
    part, whole = float(found[2]), float(found[3])
    beside = f"{found[1] or ''} {found[4] or ''}".lower().split()
    telling = [word for word in beside if word not in _BESIDE]
    known = all(word in GOOD or word in BAD or word in ("score", "reward", "final", "total") for word in telling)
    if not known or (beside and not telling) or not whole or part > whole:
        return None
    value = 1 - part / whole if any(word in BAD for word in telling) else part / whole
    return Said(score=value, reason=line if value < 1 else "", judged=True)


def of_word(line: str) -> Said | None:
    """A line that is a verdict, whatever ornament is round it; one that begins with a bad one may go on."""
    word = re.sub(r"^[\W_]+|[\W_]+$", "", line).lower()
    if timed_out(word):
        return Said(score=0.0, reason=line, kind="timeout")
    if word in BAD:  # nothing but a verdict: on the other stream it denies a better one
        return Said(score=0.0, reason=line, judged=True, about=True)
    if _BEGINS_BADLY.match(word) or line.startswith(("✗", "✘", "❌")):
        return judged(False, line)
    return judged(True) if word in GOOD else None
