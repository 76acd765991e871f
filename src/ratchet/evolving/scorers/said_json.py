"""Reads JSON of a grader: scores, verdicts, counts of tests, under the names that the usual tools give them. Pure.

    score       score, combined_score, reward, ...; OpenEvolve's `metrics`; with max_score a share of it
    verdict     {"passed": true}, {"status": "failed"}; ShinkaEvolve's metrics.json and correct.json one after the other
    counts      {"passed": 3, "failed": 7}; pytest-json-report, jest, mocha, RSpec; `go test -json`

A name that is not known says nothing: an object of such names holds no score.
Formats: github.com/algorithmicsuperintelligence/openevolve, github.com/SakanaAI/ShinkaEvolve,
pypi.org/project/pytest-json-report, jestjs.io (--json), `go doc test2json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ratchet.evolving.scorers.said import (
    BAD,
    GOOD,
    Said,
    amount,
    judged,
    numbered,
    of_counts,
    of_line,
    timed_out,
    unread,
)
from ratchet.failures.kinds.kind import kind_of
from ratchet.healing.episode import RunnerCounts

_MOST_DEPTH = 4
_MOST_STARTS = 100  # places tried as the beginning of a JSON text of many lines
_START = re.compile(r"^[\[{]", re.MULTILINE)

# Names without case and punctuation, in the order in which they are believed.
_SCORES = (
    *("score", "combinedscore", "finalscore", "overallscore", "totalscore", "meanscore", "averagescore"),
    *("reward", "fitness"),
)
_RATES = ("accuracy", "passrate", "successrate")
_MAXIMA = ("maxscore", "max", "maximum", "outof", "possible", "maxpoints", "maxreward")
_VALIDITY = ("correct", "iscorrect", "valid", "isvalid")
_FLAGS = ("success", "succeeded", "successful", "ok", "correct", "iscorrect", "allpassed", "resolved", "solved")
_PASSED = ("passed", "pass", "passes", "passing", "numpassedtests", "testspassed", "correct", "solved", "resolved")
_FAILED = (
    "failed",
    "fail",
    "failures",
    "failing",
    "numfailedtests",
    "testsfailed",
    "failurecount",
    "incorrect",
    "wrong",
)
_ERRORS = ("errors", "error", "errored", "numruntimeerrortestsuites", "errorsoutsideofexamplescount")
_SKIPPED = (
    *("skipped", "excluded", "ignored", "disabled", "pending", "todo", "xfailed"),
    *("numpendingtests", "numtodotests", "pendingcount"),
)
_TOTALS = ("total", "tests", "numtotaltests", "numtests", "totaltests", "examplecount", "count")
_WORDED = ("result", "verdict", "outcome", "conclusion")
_TIMEOUTS = ("timeout", "timedout", "istimeout")
_REASONS = ("reason", "textfeedback", "feedback", "message", "error", "explanation", "detail")
_ENDS = ("exitcode", "returncode", "exitstatus")
_INSIDE = ("metrics", "summary", "report", "stats", "result", "results", "tests", "data", "evaluation", "totals")


def of_text(text: str) -> Said | None:
    """Read the objects and lists that a text ends with, each on as many lines as it likes; None without one."""
    values = _trailing(text)
    return _of_values(values) if values else None


def _trailing(text: str) -> list[object]:
    found: list[object] = []
    end = len(text)
    for tried, start in enumerate(reversed([each.start() for each in _START.finditer(text)])):
        if values := _decoded(text[start:end].strip()):
            found, end = values + found, start
        elif found or tried >= _MOST_STARTS:
            break
    return found


def _decoded(text: str) -> list[object]:
    """All values of a text of JSON values; none where anything else is in it."""
    decoder, values, at = json.JSONDecoder(object_pairs_hook=_once), [], 0
    try:
        while at < len(text):
            value, at = decoder.raw_decode(text, at)
            values.append(value)
            while at < len(text) and text[at].isspace():
                at += 1
    except (ValueError, RecursionError):
        return []
    return values


def loaded(text: str) -> object:
    """One value of JSON. Raises ValueError also for one that says two things under one name."""
    return json.loads(text, object_pairs_hook=_once)


def _once(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    table = dict(pairs)
    if any(table[name] is not value and table[name] != value for name, value in pairs):
        raise ValueError("one name has two values")
    return table


def _of_values(values: Sequence[object]) -> Said:
    """Several objects one after the other are the events of go's runner, parts of one answer (ShinkaEvolve's two
    files), results of tests, or a log whose last line counts."""
    tables = [each for each in values if isinstance(each, dict)]
    if len(values) == 1 or len(tables) < len(values):
        return of_json(values[-1])
    if all("Action" in each for each in tables):
        return _of_go(tables)
    if sum(map(len, tables)) == len(set().union(*tables)):
        return of_table({name: value for each in tables for name, value in each.items()})
    said = [of_table(each) for each in tables]
    return _of_list(tables) if all(each.judged for each in said) else said[-1]


def _of_go(events: Sequence[Mapping[str, object]]) -> Said:
    """The last action of each test; a package that failed without a failed test did not build."""
    ended = {(each.get("Package"), each.get("Test")): each["Action"] for each in events}
    tests = [action for (_, test), action in ended.items() if test]
    packages = [action for (_, test), action in ended.items() if not test]
    said = of_counts(
        RunnerCounts(passed=tests.count("pass"), failed=tests.count("fail"), skipped=tests.count("skip")),
    )
    broken = "fail" in packages and said.score in (None, 1.0)
    return judged(False, "a package failed without a test that did") if broken else said


def of_json(value: object, depth: int = 0) -> Said:
    """Read the score in one value of JSON."""
    if isinstance(value, bool):
        return judged(value, json.dumps(value))
    if isinstance(value, int | float):
        return numbered(value, value)
    if isinstance(value, str):
        return of_line(value) or unread(json.dumps(value, ensure_ascii=False))
    if isinstance(value, list):
        return _of_list(value, depth)
    return of_table(value, depth) if isinstance(value, dict) else unread(json.dumps(value))


def _of_list(values: Sequence[object], depth: int = 0) -> Said:
    """Results, each passed or not: the share that passed."""
    said = [of_json(each, depth + 1) for each in values] if depth < _MOST_DEPTH else []
    if not said or not all(each.judged and each.score is not None for each in said):
        return unread(json.dumps(values, ensure_ascii=False)) if values else Said(score=None, reason="no test was run")
    passed = sum(each.score == 1.0 for each in said)
    return of_counts(RunnerCounts(passed=passed, failed=len(said) - passed))


def of_table(table: Mapping[str, object], depth: int = 0) -> Said:
    """Read the score in an object. A time limit met, or a denial beside a full score, is no success."""
    names = [_bare(str(name)) for name in table]
    if any(names.count(each) > 1 for each in _SCORES):
        return unread(json.dumps(table, ensure_ascii=False))
    named = dict(zip(names, table.values(), strict=True))
    reason = next((str(named[each]) for each in _REASONS if isinstance(named.get(each), str) and named[each]), "")
    if _met_a_limit(named) or any(_met_a_limit(_table(named.get(each))) for each in ("artifacts", "metrics")):
        return Said(score=0.0, reason=reason or "the grader says that it timed out", kind="timeout")
    said = _stated(named, reason, depth) or _counted(named, reason) or _verdict(named, reason) or _within(named, depth)
    if said is None or said.score is None:
        plain = said.reason if said is not None else unread(json.dumps(table, ensure_ascii=False)).reason
        return Said(score=None, reason=f"{plain} ({reason})" if reason and reason not in plain else plain)
    if any(named.get(each) is False for each in _VALIDITY):
        return judged(False, reason or "the grader says that it is not correct")
    if said.score >= 1.0 and (denial := _denial(named)):
        return judged(False, f"it says a full score beside {denial}")
    return replace(said, reason=reason) if reason and said.score < 1.0 and not said.reason else said


def _bare(name: str) -> str:
    """A name without case and punctuation; `n_passed` and `num_passed` count what `passed` does."""
    return re.sub(r"[^a-z0-9]", "", re.sub(r"^(?:n|num|number_of|count_of)[_ -]", "", name.lower()))


def _table(value: object) -> dict[str, object]:
    return {str(name).lower().replace("_", ""): held for name, held in value.items()} if isinstance(value, dict) else {}


def _met_a_limit(named: Mapping[str, object]) -> bool:
    if any(str(named.get(each)).lower() == "true" for each in _TIMEOUTS):
        return True
    if any(timed_out(str(named.get(each, ""))) for each in ("status", "errortype", *_WORDED)):
        return True
    error = named.get("error")
    return isinstance(error, str) and amount(error) is None and kind_of(error) == "timeout"


def _stated(named: Mapping[str, object], reason: str, depth: int) -> Said | None:
    """A score under one of its names; else a rate that is the only number. A name that says of what else it is a score
    (`error_score`, `baseline_score`) is none of them."""
    name = next((each for each in _SCORES if each in named), "")
    if not name and "points" in named and "maxpoints" in named:
        name = "points"
    if not name:
        name = next((each for each in _RATES if each in named and _is_alone(named, each)), "")
    if not name:
        return None
    value = named[name]
    if isinstance(value, dict) and "value" in value:
        value = {**value, "score": value["value"]}
    if isinstance(value, dict | list):
        return of_json(value, depth + 1) if depth < _MOST_DEPTH else None
    number = amount(value.strip()) if isinstance(value, str) else value
    if isinstance(value, bool):
        return judged(value, reason or f"{name}: {value}")
    if not isinstance(number, int | float):
        return unread(f"{name}: {value}")
    most = next((named[each] for each in _MAXIMA if each in named), None)
    if most is None and isinstance(number, int) and number >= 1 and _number_of(named, _PASSED) is None:
        most = _number_of(named, _TOTALS)
        if number == 1 and most is not None and most > 1:
            return unread(f"{name} 1 beside a total of {most}")
    if isinstance(most, int | float) and not isinstance(most, bool) and most > 0:
        return numbered(number / most, f"{value} of {most}", reason)
    return numbered(number, value, reason)


def _is_alone(named: Mapping[str, object], name: str) -> bool:
    """Tell whether no other number stands beside a number, that might be what it is a part of."""
    return not any(
        isinstance(named[each], int | float) and not isinstance(named[each], bool) for each in {*named} - {name}
    )


def _number_of(named: Mapping[str, object], names: Sequence[str]) -> int | None:
    """The sum of the counts under these names; None where there is none."""
    held = [value for each in names if isinstance(value := named.get(each), int) and not isinstance(value, bool)]
    return sum(held) if held and min(held) >= 0 else None


def _counted(named: Mapping[str, object], reason: str) -> Said | None:
    """Count the tests that passed, and all: of those that were told, or of all that there are."""
    passed = _number_of(named, _PASSED)
    failed, errors = _number_of(named, _FAILED), _number_of(named, _ERRORS)
    skipped, total = _number_of(named, _SKIPPED) or 0, _number_of(named, _TOTALS)
    if total is None and (passed is None or failed is None):
        return judged(False, reason or "0 passed") if passed == 0 else None
    if passed is None and failed is None and not errors:
        return None
    lost = (failed or 0) + (errors or 0)
    if passed is None:
        passed = max(0, (total or 0) - lost - skipped)
    lost = max(lost, (total or 0) - skipped - passed)
    return of_counts(RunnerCounts(passed=passed, failed=lost, skipped=skipped))


def _verdict(named: Mapping[str, object], reason: str) -> Said | None:
    """Flags and words; one that denies it outweighs the others. `status: ok` says only that a grader ended."""
    told: list[bool] = []
    for name in (*_FLAGS, "passed", "pass", *_WORDED, "status"):
        value = named.get(name)
        word = value.strip().lower() if isinstance(value, str) else ""
        if isinstance(value, bool) and not (name == "status" and value):
            told.append(value)
        elif word in BAD:
            told.append(False)
        elif word in (GOOD if name != "status" else ("passed", "pass")):
            told.append(True)
        elif name in _FLAGS and isinstance(value, int) and (value == 0 or (value == 1 and _is_alone(named, name))):
            told.append(bool(value))
    if named.get("failed") is True or named.get("fail") is True:
        told.append(False)
    return judged(all(told), reason or "the grader says that it failed") if told else None


def _within(named: Mapping[str, object], depth: int) -> Said | None:
    """Read the part of an object that usually holds the figures."""
    for name in (*_INSIDE, *(each for each in named if len(named) == 1 and isinstance(named[each], dict))):
        value = named.get(name)
        if isinstance(value, dict | list) and value and depth < _MOST_DEPTH:
            said = of_json(value, depth + 1)
            if said.score is not None:
                return said
    return None


def _denial(named: Mapping[str, object]) -> str:
    """Name what in an object speaks against success; "" for nothing."""
    verdict = _verdict(named, "")
    if verdict is not None and not verdict.score:
        return "a verdict that denies it"
    if lost := (_number_of(named, _FAILED) or 0) + (_number_of(named, ("errors", "numruntimeerrortestsuites")) or 0):
        return f"{lost} failures"
    ended = next((named[each] for each in _ENDS if isinstance(named.get(each), int)), 0)
    if ended:
        return f"exit code {ended}"
    error = named.get("error")
    return f"the error {error[:60]}" if isinstance(error, str) and error.strip() and amount(error) is None else ""
