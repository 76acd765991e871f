"""Tells which failed steps a later one mended: the one verdict that a session's list, its page, its steps and its
handoff give."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
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
    that were learnt from it."""

    worked: dict[str, str]
    failed: dict[str, list[str]]
    taught: dict[str, list[str]]


def mended(store: Store, session: str) -> Mended:
    """Read what fixed the failed steps of a session: the step that was mined as the one that achieved it, else the next
    one that did the same, or reached for the file that the failure named, and worked. What failed itself fixes nothing:
    what fixed that one did. A step that reached for something else is no fix, though it may teach where that is, and
    neither is a run of a check that would not have shown the failure."""
    return _mended(store, session, _last_steps(store, session)) if session else Mended({}, {}, {})


def fixes_of(store: Store, failed: Iterable[tuple[str, float, str]]) -> dict[str, Outcome]:
    """Read what fixed these failed steps, each (session, time, step), as far as that came within `WINDOW_CALLS` steps
    of the first of them in its session."""
    first: dict[str, float] = {}
    asked = [each for each in failed if each[0]]
    for session, at, _ in asked:
        first[session] = min(at, first.get(session, at))
    fixed: dict[str, str] = {}
    for session, at in first.items():
        where: Where = {"session": session, "started_at": (">=", at)}
        rows = store.find("outcomes", where, order=("started_at",), limit=WINDOW_CALLS).rows
        fixed |= _mended(store, session, [*reversed(rows)]).worked
    ids = {step: fixed[step] for _, _, step in asked if step in fixed}
    shown = store.find("outcomes", {"id": ("in", [*ids.values()])}).rows if ids else ()
    known = {text_in(row, "id"): outcome_of(row) for row in shown}
    return {step: known[worked] for step, worked in ids.items() if worked in known}


def named(outcome: Outcome) -> str:
    """The tool with the command that it ran; the head of any other is its name again."""
    step = outcome.step
    if step is None:
        return outcome.task
    return step.tool if step.head.casefold() == step.tool.casefold() else f"{step.tool} {step.head}".strip()


def unmended(store: Store, session: str) -> tuple[Outcome, ...]:
    """The failed steps that nothing fixed (see `mended`), of the last thousand steps: oldest first."""
    rows = _last_steps(store, session)
    fixed = _mended(store, session, rows).worked
    return tuple(outcome_of(row) for row in reversed(rows) if _counts(row) and text_in(row, "id") not in fixed)


def _last_steps(store: Store, session: str) -> Sequence[Row]:
    return store.find("outcomes", {"session": session}, order=("-started_at",), limit=_LAST).rows


def _counts(row: Row) -> bool:
    """Tell whether a step is a failure that counts."""
    return not row.get("ok") and row.get("source") != DERIVED and text_in(row.get("failure"), "kind") not in EXCUSED


def _mended(store: Store, session: str, rows: Sequence[Row]) -> Mended:
    found = Mended({}, {}, {})
    mined = [row for row in store.find("resolutions", {"session": session}).rows if row.get("worked")]
    asked = {text_in(row, name) for row in mined for name in ("failed_id", "worked_id")}
    known = {text_in(row, "id"): row for row in rows}
    known |= {text_in(row, "id"): row for row in store.find("outcomes", {"id": ("in", [*asked - known.keys()])}).rows}
    achieved: dict[str, str] = {}
    for row in mined:
        failed, worked = text_in(row, "failed_id"), text_in(row, "worked_id")
        for step in (failed, worked):
            lesson = text_in(row, "lesson_id")
            if lesson and lesson not in found.taught.setdefault(step, []):
                found.taught[step].append(lesson)
        one, other = known.get(failed), known.get(worked)
        if failed not in achieved and (_shows_all if row.get("way") == "edit" else _is_same)(one, other):
            achieved[failed] = worked
    again = dict(_again(rows))
    for failed in achieved.keys() | again.keys():
        worked = _in_the_end(failed, achieved, known) or again.get(failed, "")
        if worked:
            found.worked[failed] = worked
            found.failed.setdefault(worked, []).append(failed)
    return found


def _in_the_end(failed: str, achieved: dict[str, str], known: dict[str, Row]) -> str:
    """The step that worked at the end of a chain of steps, each mined as what achieved the one before; "" for none."""
    step, passed = failed, {failed}
    while (step := achieved.get(step, "")) and step not in passed:
        if known.get(step, {}).get("ok", True):
            return step
        passed.add(step)
    return ""


def _again(rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """Each failed step with the next one that did the same and worked, or that found the file which the failure named;
    `rows` are the newest first."""
    worked: dict[tuple[str, ...], str] = {}
    reached: dict[tuple[str, ...], dict[str, str]] = {}
    tests: dict[tuple[str, ...], list[ToolCall]] = {}
    for row in rows:
        step = row.get("step")
        if not step:
            continue
        thread, tool, head, target = (
            text_in(row, "thread"),
            *(text_in(step, name) for name in ("tool", "head", "target")),
        )
        is_test = head in TEST_RUNNERS
        call = (thread, tool, head, _said(step, tool) if is_test else target or _said(step, tool))
        files = reached.setdefault((thread, tool, head), {})
        if row.get("ok"):
            worked[call] = text_in(row, "id")
            files[_last_part(target)] = text_in(row, "id")
            if is_test:
                tests.setdefault(call[:3], []).extend(calls_of([row]))
        elif _counts(row):
            failure = row.get("failure")
            said = text_in(failure, "message") if text_in(failure, "kind") == "resource_missing" else ""
            named = (fix for file, fix in files.items() if file and file != _last_part(target) and file in said)
            if fix := worked.get(call) or next(named, "") or _wider(row, tests.get(call[:3], ())):
                yield text_in(row, "id"), fix


def _wider(failed: Row, ran: Sequence[ToolCall]) -> str:
    """The next run of tests that would have shown what failed; `ran` are those that worked, the newest first."""
    for one in calls_of([failed]) if ran else ():
        return next((call.id for call in ran[: -_TESTS - 1 : -1] if retries(one, call)), "")
    return ""


def _said(step: Json, tool: str) -> str:
    """The purpose of a call without a target: a shell's main command, any other's whole input."""
    said = text_in(step, "input")
    return " ".join(chosen_command(said)) if is_shell(tool) else said


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
