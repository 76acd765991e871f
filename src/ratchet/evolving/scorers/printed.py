"""Reads the score in what a grader printed last. Pure.

Three answers are told apart: a score, silence (None), and words in which there is no score. The last is never taken
for success: a grader that says something has an opinion, and it is not ours to guess.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ratchet.evolving.scorers.said import Said, judged, of_counts, of_line, of_word, unread
from ratchet.evolving.scorers.said_json import loaded, of_json, of_table, of_text
from ratchet.evolving.scorers.said_tap import read_tap
from ratchet.healing.episode import RunnerCounts
from ratchet.healing.judges.verdicts import counted

_MOST_CHARS = 400_000
_RUNNERS_END = 12  # lines: jest and cargo print some more behind their summary
_MOST_PAIRS = 50
_ANSI = re.compile(r"\x1b\[[0-9;?]{0,16}[A-Za-z]")
_OTHER_DIGITS = re.compile(r"[^\D0-9]")  # Python takes them for numbers, what reads a grader otherwise does not
_PAIR = re.compile(r"([A-Za-z][\w .@-]{0,40}?) ?(?:[:=] ?|\bis | (?=[\d.]))(\S.{0,2000})")
_AMOUNT = re.compile(r"(\d{1,7}) (?:(?:tests?|checks?|cases?) )?([a-z]{4,8})")
_SUITE = re.compile(r"<testsuite(s?)\b([^<>]{0,2000})>")
_COUNT = re.compile(r"\b(tests|failures|errors|skipped)=[\"'](\d{1,7})[\"']")
_CARGO = re.compile(r"^test result: ", re.MULTILINE)  # the number of tests comes before them


def read(text: str) -> Said | None:
    """Read the last thing that a grader printed; None where it printed nothing."""
    text = _OTHER_DIGITS.sub("\ufffd", _ANSI.sub("", text[-_MOST_CHARS:])).rstrip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return None
    whole = of_text(text) or read_tap(text) or _of_junit(text)
    last = lines[-1]
    return whole or _of_scalar(last) or _of_runner(text, lines) or _of_pairs(lines) or of_word(last) or unread(last)


def _of_scalar(line: str) -> Said | None:
    """A line that is one number, share or value of JSON."""
    try:
        return of_json(loaded(line))
    except (ValueError, RecursionError):
        found = of_line(line)
        return None if found is None or of_word(line) is not None else found


def _of_runner(text: str, lines: Sequence[str]) -> Said | None:
    """The summary of a test runner at the end of a text; a last line that says FAIL outweighs it."""
    end = "\n".join([line for line in text.splitlines() if line.strip()][-_RUNNERS_END:])
    if counted(end) is None and not _CARGO.search(end):
        return None
    said, last = of_counts(counted(text) or RunnerCounts()), of_word(lines[-1])
    denied = last is not None and last.score == 0.0 and said.score == 1.0
    return judged(False, lines[-1]) if denied else said


def _of_junit(text: str) -> Said | None:
    """A report of JUnit's: the counts of the whole, else of its suites. A failure that stands there counts, counted or
    not."""
    suites = _SUITE.findall(text) if text.endswith(">") else []
    held = [(outer, {name: int(count) for name, count in _COUNT.findall(said)}) for outer, said in suites]
    whole = [counts for outer, counts in held if outer and "tests" in counts][:1]
    told = whole or [counts for outer, counts in held if not outer and "tests" in counts]
    if not told:
        return None
    tests, failed, errors, skipped = (
        sum(counts.get(name, 0) for counts in told) for name in ("tests", "failures", "errors", "skipped")
    )
    failed, errors = max(failed, text.count("<failure")), max(errors, text.count("<error"))
    passed = max(0, tests - failed - errors - skipped)
    return of_counts(RunnerCounts(passed=passed, failed=failed, errors=errors, skipped=skipped))


def _of_pairs(lines: Sequence[str]) -> Said | None:
    """`name: value` on the last lines, or several on the last one, read as the object that they spell."""
    table: dict[str, object] = {}
    for line in reversed(lines[-_MOST_PAIRS:]):
        pairs = _pairs(line)
        if not pairs:
            break
        table = {**pairs, **table}
    said = of_table(table) if table else None
    return said if said is not None and said.score is not None else None


def _pairs(line: str) -> dict[str, object]:
    line = line.strip(" *=-").rstrip(".")
    if re.fullmatch(r"(?:[\w.-]+=\S+ ?)+", line):
        return {name: _value(value.rstrip(",;")) for name, value in (part.split("=", 1) for part in line.split())}
    table: dict[str, object] = {}
    for part in re.split(r"[,;|] ?(?=[\w])", line) if not re.search(r"[{\[]", line) else [line]:
        if amount := _AMOUNT.fullmatch(part.strip().lower()):
            table[amount[2]] = int(amount[1])
        elif pair := _PAIR.fullmatch(part.strip()):
            table[pair[1]] = _value(pair[2])
        else:
            return {}
    return table


def _value(text: str) -> object:
    try:
        return loaded(text)
    except (ValueError, RecursionError):
        return text.strip("\"'")
