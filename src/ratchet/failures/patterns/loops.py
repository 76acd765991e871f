"""Finds an agent that goes round in circles: the same call again and again, with nothing new in between. Pure.

A loop is found also where each call succeeded. What tells it from honest work:
- something was changed in between (an edit, any step not known to only look): a success may now answer otherwise, and
  one that itself changes something is no repetition of the one before; a failure that stays the same counts on;
- its result differs from the last time (polling), or a wait stood in between: the world moved by itself;
- a person said something in between;
- the call waits on purpose, or keeps the agent's own notes;
- nobody knows what was asked or brought (no input, a redacted or cut one, a picture, a click that says only that it
  was made): two unknowns are not the same.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from ratchet.failures import steps
from ratchet.failures.circles import stays
from ratchet.failures.health import EXCUSED
from ratchet.failures.kinds.kind import is_transient
from ratchet.failures.kinds.table import KINDS
from ratchet.failures.patterns.ingest import DERIVED
from ratchet.failures.programs import SHELL_TOOLS
from ratchet.failures.tool_call import ECHO, PICTURE, result_mark
from ratchet.ids import outcome_id
from ratchet.records import Json, Row, number_in, text_in

SAME_RESULT = 3
"""Calls that make a loop when each is known to have brought the same as the one before."""

UNSURE = 4
"""... when the source does not tell what the calls brought, when they are only nearly the same, or when something was
changed in between that did not touch the failure."""

TRANSIENT = 6
"""... when each failed in a way that may pass by itself: some retries are right, hammering is not."""

NEARLY = 0.8
"""Share of equal words (Jaccard, of multisets) from which two long texts are nearly the same; this takes the same
result too, since reading the next part of a file is nearly the same call, and a call that only looks or that failed,
since the same edit at ten places is ten edits."""

LONG_CHARS = 100
"""From here a field is a text that may be worded anew. Another value of a shorter one (a name, a pattern, a number) is
another question, however alike the rest."""

PAUSE_S = 1800.0
"""After so long a pause a call is asked anew (by a person, or since something ran meanwhile)."""


_REMARKS = ("description", "timeout", "explanation", "justification")
_WORDS = re.compile(r"[A-Za-z0-9_.\-/]+|[^\sA-Za-z0-9_.\-/]")
_UNKNOWN = re.compile(r"\[redacted[:\]]|\[\.\.\. \d+ characters left out")
_NUMBER = re.compile(r"\d")
SILENT = result_mark("")
_OPEN_RUNS = 64  # different calls back to which a repetition is recognised: more is no circle but a long day
_SHOWN_CHARS = 300


@dataclass(frozen=True, slots=True)
class _Call:
    """Key that makes two calls the same, and what one brought ("": unknown)."""

    tool: str
    intent: tuple[str, str]
    input: str
    result: str
    said: str  # by the failure; "" where there was none
    transient: bool
    varies: bool  # only looked, or failed: asking nearly the same once more is the same question


@dataclass(slots=True)
class _Repeat:
    """The same call, met again and again."""

    call: _Call
    rows: list[Row] = field(default_factory=list)
    inputs: set[str] = field(default_factory=set)
    changed: bool = False  # something was, in between: what fails the same counts on, with more patience
    moved: bool = False  # ... since the last call

    def add(self, row: Row, call: _Call) -> None:
        """Count a call, but for one that began before the last one had an answer: it could not know of it."""
        last = self.rows[-1] if self.rows else None
        if last is None or _when(row)[0] >= _when(last)[0] + number_in(last, "duration_s"):
            self.rows.append(row)
            self.inputs.add(call.input)
            self.changed, self.moved = self.changed or self.moved, False

    @property
    def is_loop(self) -> bool:
        sure = self.call.result and len(self.inputs) == 1 and not self.changed
        return len(self.rows) >= (TRANSIENT if self.call.transient else SAME_RESULT if sure else UNSURE)


def loops(rows: Iterable[Row]) -> list[Row]:
    """Derived outcomes of kind `loop_detected`, one per loop, from the outcomes of one session (in any order).

    A derived row has a stable id (from the session and the loop's first call), source "ratchet-loop", no step, the
    time of the call that made it a loop. `context` names the calls, and holds duration, tokens and cost of those that
    succeeded, but for the first: a failed one has a failure of its own. Subagents are searched apart. A loop that goes
    on after it was stored keeps its first count.
    """
    threads: dict[str, list[Row]] = {}
    for row in sorted(rows, key=_when):
        if isinstance(row.get("step"), dict):
            threads.setdefault(text_in(row, "thread"), []).append(row)
    return [_derived(run) for thread in threads.values() for run in _whole(r for r in _runs(thread) if r.is_loop)]


def _whole(found: Iterable[_Repeat]) -> list[_Repeat]:
    """The loops, those that ask one question in turns (`ls` and `ls -la` of one folder) put together."""
    whole: list[_Repeat] = []
    for run in sorted(found, key=lambda run: _when(run.rows[0])):
        same = next((other for other in whole if _overlap(other, run) and _asks_same(other.call, run.call)), None)
        if same is None:
            whole.append(run)
        else:
            same.rows = sorted([*same.rows, *run.rows], key=_when)
    return whole


def _overlap(one: _Repeat, later: _Repeat) -> bool:
    return _when(later.rows[0]) < _when(one.rows[-1])


def _runs(rows: Sequence[Row]) -> Iterator[_Repeat]:
    """All runs of one thread, ended by a change, a wait, a person's word, another result, a long pause, or the end."""
    open_runs: list[_Repeat] = []
    seen: set[_Call] = set()  # since the last edit: what brought the same before is no news, but part of a round
    turn: Json = None
    for row in rows:
        context = row.get("context")
        said = context.get("turn") if isinstance(context, dict) else None
        if said != turn:
            turn = said
            yield from open_runs
            open_runs = []
            seen.clear()
        if _kind(row) in EXCUSED:
            continue  # was not carried out
        tool = steps.plain(text_in(row["step"], "tool"))
        if steps.keeps_notes(tool):
            continue
        if steps.asks_to_wait(tool) or steps.waits(tool, *_asked(row)):
            yield from open_runs
            open_runs = []
            continue
        call = _call(row, tool)
        ends = bool(row.get("ok")) and _has_changed(row, tool, call)
        if not ends and _is_known(call):
            run = next((run for run in open_runs if _is_same(run.call, call)), None)
            again = run is not None and _goes_on(run, call, row)
            if run is not None and not again:
                open_runs.remove(run)
                yield run
            if run is None or not again:
                run = _Repeat(call)
                open_runs.append(run)
                if len(open_runs) > _OPEN_RUNS:
                    yield open_runs.pop(0)
            run.add(row, call)
        else:
            run, again = None, False
        if ends or (row.get("ok") and _may_change(row, tool, again=again or call in seen)):
            ended, open_runs = _after_change(open_runs, run)
            yield from ended
            if ends:
                seen.clear()
        seen.add(call)
    yield from open_runs


def _after_change(open_runs: Sequence[_Repeat], last: _Repeat | None) -> tuple[list[_Repeat], list[_Repeat]]:
    """The runs that end where something was changed, and those that go on: the one that did it, and failures."""
    kept = [run for run in open_runs if run is last or run.call.said]
    for run in kept:
        run.moved = run.moved or run is not last
    return [run for run in open_runs if run is not last and not run.call.said], kept


def _goes_on(run: _Repeat, call: _Call, row: Row) -> bool:
    if _when(row)[0] - _when(run.rows[-1])[0] > PAUSE_S or bool(run.call.said) != bool(call.said):
        return False
    same = run.call.input == call.input and bool(call.said)
    changed = run.changed or run.moved
    return run.call.result == call.result or (same and stays(run.call.said, call.said, changed=changed))


def _is_known(call: _Call) -> bool:
    """Tell whether it is known what was asked, and that it did not bring a picture."""
    return call.input not in ("", "{}", "[]") and call.result not in (PICTURE, ECHO) and not _UNKNOWN.search(call.input)


def _is_same(one: _Call, other: _Call) -> bool:
    if one.tool != other.tool:
        return False
    if one.input == other.input:
        return True
    return bool(one.result) and one.result == other.result and _asks_same(one, other)


def _asks_same(one: _Call, other: _Call) -> bool:
    """Tell whether two calls put nearly the same question."""
    if one.tool != other.tool or one.intent != other.intent or not (one.varies and other.varies):
        return False
    if one.tool in SHELL_TOOLS:
        return _operands(one.input) == _operands(other.input) or _alike(one.input, other.input)
    mine, theirs = _fields(one.input), _fields(other.input)
    if not mine or mine.keys() != theirs.keys():
        return False
    return all(value == theirs[name] or _alike(value, theirs[name]) for name, value in mine.items())


def _operands(command: str) -> list[str]:
    """The words of a command that are no options: what it is asked about."""
    return [word.rstrip("/") for word in command.split() if not word.startswith("-")]


@lru_cache(maxsize=64)
def _fields(asked: str) -> dict[str, str]:
    try:
        held = json.loads(asked)
    except ValueError:
        return {}
    return {name: json.dumps(value) for name, value in held.items()} if isinstance(held, dict) else {}


def _alike(one: str, other: str) -> bool:
    """Tell whether two long texts differ in few words, none of them a number."""
    if min(len(one), len(other)) < LONG_CHARS:
        return False
    mine, theirs = _words(one), _words(other)
    differ = (mine - theirs) + (theirs - mine)
    return (mine & theirs).total() >= NEARLY * (mine | theirs).total() and not any(map(_NUMBER.search, differ))


@lru_cache(maxsize=64)
def _words(text: str) -> Counter[str]:
    return Counter(_WORDS.findall(text))


def _has_changed(row: Row, tool: str, call: _Call) -> bool:
    """Tell whether a successful step has changed something for sure: an edit, a command that writes a file, one that is
    no look and says nothing (`mkdir`, `git add`)."""
    head, command = _asked(row)
    if text_in(row["step"], "change") or steps.edits(tool, head):
        return True
    return tool in SHELL_TOOLS and (steps.writes(head, command) or (call.result == SILENT and not call.varies))


def _may_change(row: Row, tool: str, *, again: bool) -> bool:
    """Tell whether a successful step may have made later calls answer otherwise. What is done again and brought nothing
    new changes nothing."""
    return not again and not steps.looks(tool, *_asked(row))


def _call(row: Row, tool: str) -> _Call:
    asked = text_in(row["step"], "input")
    asked = steps.trimmed(asked) if tool in SHELL_TOOLS else _without_remarks(asked)
    failed = not row.get("ok")
    result, said = text_in(row.get("context"), "result"), ""
    if failed:
        said = text_in(row.get("failure"), "message")
        result = result or result_mark(said)
    return _Call(
        tool=tool,
        intent=(text_in(row["step"], "head"), text_in(row["step"], "target")),
        input=" ".join(asked.split()),
        result=result,
        said=said,
        transient=_kind(row) in KINDS and is_transient(_kind(row), said),
        varies=failed or steps.looks(tool, *_asked(row)),
    )


def _without_remarks(asked: str) -> str:
    if not asked.startswith("{") or not any(remark in asked for remark in _REMARKS):
        return asked
    try:
        fields = json.loads(asked)
    except ValueError:  # capped in the middle
        return asked
    return json.dumps({name: value for name, value in fields.items() if name not in _REMARKS})


def _derived(run: _Repeat) -> Row:
    first, last = run.rows[0], run.rows[-1]
    session, tool = text_in(first, "session"), text_in(first["step"], "tool")
    shown = " ".join(text_in(first["step"], "input").split())[:_SHOWN_CHARS]
    how = f"failed the same {len(run.rows)} times, whatever was changed in between"
    if not run.changed:
        how = f"was called {len(run.rows)} times without new state in between"
    context: Row = {"calls": [row["id"] for row in run.rows]}
    for name in ("duration_s", "tokens", "cost_usd"):
        wasted = sum(number_in(row, name) for row in run.rows[1:] if row.get("ok"))
        if wasted:
            context[name] = wasted
    row: Row = {
        "id": outcome_id(DERIVED, session, text_in(first, "id")),
        "agent": first["agent"],
        "task": tool,
        "ok": False,
        "started_at": last["started_at"],
        "source": DERIVED,
        "failure": {
            "message": f"{tool} {how}: {shown}",
            "kind": "loop_detected",
            "flagged": False,
        },
        "context": context,
    }
    for name in ("session", "thread", "project", "model", "unit"):
        if first.get(name):
            row[name] = first[name]
    return row


def _asked(row: Row) -> tuple[str, str]:
    """The head and the command of a step."""
    return text_in(row["step"], "head"), text_in(row["step"], "input")


def _kind(row: Row) -> str:
    return text_in(row.get("failure"), "kind")


def _when(row: Row) -> tuple[float, str]:
    at = row.get("started_at")
    return (float(at) if isinstance(at, (int, float)) else 0.0, text_in(row, "id"))
