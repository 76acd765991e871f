"""Tells which failed steps a later one mended: the one verdict that a session's list, its page, its steps and its
handoff give."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from ratchet.failures.health import EXCUSED
from ratchet.failures.intent import chosen_command, is_shell
from ratchet.failures.patterns.ingest import DERIVED
from ratchet.failures.programs import TEST_RUNNERS
from ratchet.lessons.mining.calls import ToolCall, calls_of
from ratchet.lessons.mining.findings import WINDOW_CALLS, shows_all
from ratchet.lessons.mining.similar import retries
from ratchet.records import Json, Outcome, Row, outcome_of, text_in

if TYPE_CHECKING:
    from ratchet.ports import Store, Where

_LAST = 1_000  # steps of a session that are looked through
_TESTS = 100  # later runs of tests that are compared with one that failed
_PARTS = re.compile(r"[/\\:?#]+")


@dataclass(frozen=True, slots=True)
class Mended:
    """`worked`: failed step -> the one that achieved it; `failed`: the other way round; `taught`: step -> the lessons
    that were learnt from it; `unfixed`: the failed steps that nothing fixed, of the last thousand, oldest first."""

    worked: dict[str, str]
    failed: dict[str, list[str]]
    taught: dict[str, list[str]]
    unfixed: tuple[Outcome, ...] = ()


def mended(store: Store, session: str) -> Mended:
    """Read what fixed the failed steps of a session: the step that was mined as the one that achieved it, else the next
    one that did the same, or reached for the file that the failure named, and worked. What failed itself fixes nothing:
    what fixed that one did. A step that reached for something else is no fix, though it may teach where that is, and
    neither is a run of a check that would not have shown the failure."""
    if not session:
        return Mended({}, {}, {})
    rows = store.find("outcomes", {"session": session}, order=("-started_at",), limit=_LAST).rows
    found = _mended(store, [session], rows, [text_in(row, "id") for row in rows if _counts(row)])
    unfixed = (row for row in reversed(rows) if _counts(row) and text_in(row, "id") not in found.worked)
    return replace(found, unfixed=tuple(map(outcome_of, unfixed)))


def fixes_of(store: Store, failed: Iterable[tuple[str, float, str]]) -> dict[str, Outcome]:
    """Read what fixed these failed steps, each (session, time, step), as far as that came within `WINDOW_CALLS` steps
    of the first of them in its session. A query a session for its steps; one for all that was mined of them."""
    first: dict[str, float] = {}
    asked = [each for each in failed if each[0]]
    for session, at, _ in asked:
        first[session] = min(at, first.get(session, at))
    rows: list[Row] = []
    for session, at in first.items():
        where: Where = {"session": session, "started_at": (">=", at)}
        rows += reversed(store.find("outcomes", where, order=("started_at",), limit=WINDOW_CALLS).rows)
    steps = [step for _, _, step in asked]
    fixed = _mended(store, [*first], rows, steps).worked if asked else {}
    known = {text_in(row, "id"): row for row in rows}
    ids: Json = [fixed[step] for step in steps if step in fixed and fixed[step] not in known]
    others = store.find("outcomes", {"id": ("in", ids)}).rows if ids else ()
    known |= {text_in(row, "id"): row for row in others}
    return {step: outcome_of(known[fixed[step]]) for step in steps if step in fixed and fixed[step] in known}


def named(outcome: Outcome) -> str:
    """The tool with the command that it ran; the head of any other is its name again."""
    step = outcome.step
    if step is None:
        return outcome.task
    return step.tool if step.head.casefold() == step.tool.casefold() else f"{step.tool} {step.head}".strip()


def unmended(store: Store, session: str) -> tuple[Outcome, ...]:
    """The failed steps that nothing fixed (see `mended`), of the last thousand steps: oldest first."""
    return mended(store, session).unfixed


def _counts(row: Row) -> bool:
    """Tell whether a step is a failure that counts."""
    return not row.get("ok") and row.get("source") != DERIVED and text_in(row.get("failure"), "kind") not in EXCUSED


def _mended(store: Store, sessions: Sequence[str], rows: Sequence[Row], failed: Sequence[str]) -> Mended:
    """Find what fixed these failed steps, and what else was mined of their sessions; of each, `rows` are the newest
    first."""
    found = Mended({}, {}, {})
    said: list[Json] = [*sessions]
    mined = [row for row in store.find("resolutions", {"session": ("in", said)}).rows if row.get("worked")]
    asked = {text_in(row, name) for row in mined for name in ("failed_id", "worked_id")}
    known = {text_in(row, "id"): row for row in rows}
    lacking: list[Json] = [*(asked - known.keys())]
    known |= {
        text_in(row, "id"): row for row in (store.find("outcomes", {"id": ("in", lacking)}).rows if lacking else ())
    }
    achieved: dict[str, str] = {}
    for row in mined:
        one, other = text_in(row, "failed_id"), text_in(row, "worked_id")
        for step in (one, other):
            lesson = text_in(row, "lesson_id")
            if lesson and lesson not in found.taught.setdefault(step, []):
                found.taught[step].append(lesson)
        is_same = _shows_all if row.get("way") == "edit" else _is_same
        if one not in achieved and is_same(known.get(one), known.get(other)):
            achieved[one] = other
    again = dict(_again(rows, {*failed}))
    for each in achieved.keys() | again.keys():
        worked = _in_the_end(each, achieved, known) or again.get(each, "")
        if worked:
            found.worked[each] = worked
            found.failed.setdefault(worked, []).append(each)
    return found


def _in_the_end(failed: str, achieved: dict[str, str], known: dict[str, Row]) -> str:
    """The step that worked at the end of a chain of steps, each mined as what achieved the one before; "" for none."""
    step, passed = failed, {failed}
    while (step := achieved.get(step, "")) and step not in passed:
        if known.get(step, {}).get("ok", True):
            return step
        passed.add(step)
    return ""


def _again(rows: Sequence[Row], asked: Collection[str]) -> Iterator[tuple[str, str]]:
    """Each of the failed steps that are `asked` for with the next one that did the same and worked, or that found the
    file which the failure named; `rows` are the newest first."""
    tries = [(row, _try_of(row)) for row in rows if row.get("step")]
    wanted = {name for row, name in tries if text_in(row, "id") in asked}  # to read a command takes most of the time
    worked: dict[tuple[str, ...], str] = {}
    reached: dict[tuple[str, ...], dict[str, str]] = {}
    tests: dict[tuple[str, ...], list[ToolCall]] = {}
    for row, name in tries:
        if name not in wanted:
            continue
        step, (_, _, tool, head) = row["step"], name
        target, is_test = text_in(step, "target"), head in TEST_RUNNERS
        call = (*name, _said(step, tool) if is_test else target or _said(step, tool))
        files = reached.setdefault(name, {})
        if row.get("ok"):
            worked[call] = text_in(row, "id")
            files[_last_part(target)] = text_in(row, "id")
            if is_test:
                tests.setdefault(name, []).extend(calls_of([row]))
        elif text_in(row, "id") in asked and _counts(row):
            failure = row.get("failure")
            said = text_in(failure, "message") if text_in(failure, "kind") == "resource_missing" else ""
            named = (fix for file, fix in files.items() if file and file != _last_part(target) and file in said)
            if fix := worked.get(call) or next(named, "") or _wider(row, tests.get(name, ())):
                yield text_in(row, "id"), fix


def _try_of(row: Row) -> tuple[str, str, str, str]:
    """The session, thread, tool and head of a step: what it has in common with one that tries the same."""
    step = row.get("step")
    return text_in(row, "session"), text_in(row, "thread"), text_in(step, "tool"), text_in(step, "head")


def _wider(failed: Row, ran: Sequence[ToolCall]) -> str:
    """The next run of tests that would have shown what failed; `ran` are those that worked, the newest first."""
    for one in calls_of([failed]) if ran else ():
        return next((call.id for call in ran[: -_TESTS - 1 : -1] if retries(one, call)), "")
    return ""


def _said(step: Json, tool: str) -> str:
    """The purpose of a call without a target: a shell's main command, any other's whole input."""
    said = text_in(step, "input")
    return _purpose(said) if is_shell(tool) else said


@lru_cache(maxsize=4_096)  # a session that goes on is looked at again and again, and to read a command takes 0.1 ms
def _purpose(command: str) -> str:
    return " ".join(chosen_command(command))


def _shows_all(failed: Row | None, worked: Row | None) -> bool:
    """Tell whether a step would have shown all that another one failed of; who was forgotten is taken at his word."""
    calls = [*calls_of([failed or {}]), *calls_of([worked or {}])]
    return len(calls) < 2 or shows_all(*calls)


def _is_same(failed: Row | None, worked: Row | None) -> bool:
    """Tell whether two steps do not name a file, an address or a skill each that is not the same one. A file that is
    found elsewhere is the same, and so is one that the failure named."""
    one, other = (_last_part(text_in((row or {}).get("step"), "target")) for row in (failed, worked))
    return not (one and other) or one == other or other in text_in((failed or {}).get("failure"), "message")


def _last_part(target: str) -> str:
    return next((part for part in reversed(_PARTS.split(target)) if part), "")
