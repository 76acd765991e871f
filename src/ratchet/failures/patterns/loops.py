"""Finds an agent that goes round in circles: the same call again and again, with nothing new in between. Pure.

A loop is found also where each call succeeded. What tells it from honest work:
- something was changed in between (an edit, any step not known to only look): the call may now answer otherwise;
- its result differs from the last time (polling): the world moved by itself;
- the call waits on purpose, or keeps the agent's own notes.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from ratchet.failures.health import EXCUSED
from ratchet.failures.kinds.kind import is_transient
from ratchet.failures.kinds.table import KINDS
from ratchet.failures.patterns.ingest import DERIVED
from ratchet.failures.programs import NOISE, SHELL_TOOLS
from ratchet.failures.tool_call import result_mark
from ratchet.ids import outcome_id
from ratchet.records import Row, text_in

SAME_RESULT = 3
"""Calls that make a loop when each is known to have brought the same as the one before."""

UNSURE = 4
"""... when the source does not tell what the calls brought, or when they are only nearly the same."""

TRANSIENT = 6
"""... when each failed in a way that may pass by itself: some retries are right, hammering is not."""

NEARLY = 0.8
"""Share of equal words (Jaccard, of multisets) from which two inputs are nearly the same; this takes the same result
too, since reading the next part of a file is nearly the same call."""

PAUSE_S = 1800.0
"""After so long a pause a call is asked anew (by a person, or since something ran meanwhile)."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LOOKS = _names(
    """
    read grep glob ls list search find view fetch open cat notebookread webfetch websearch toolsearch readfile listdir
    listfiles searchfiles grepsearch filesearch codebasesearch readmcpresource listmcpresources
    """
)
_GIT_LOOKS = _names("status diff log show branch blame remote rev-parse ls-files")
_EDITS = _names("edit write multiedit notebookedit applypatch strreplace create undo")
_NOTES = _names("todowrite todoread updateplan enterplanmode exitplanmode think taskcreate taskupdate taskget tasklist")
_WAITS = _names("bashoutput taskoutput agentoutput agentoutputtool wait waitfor sleep writestdin")
# What only trims or merges a command's output, and what a call says to people, makes no other call.
_TRIMS = re.compile(r"\s*(?:2>&1|\|\s*(?:tail|head)\b[^|;&]{0,40}|>\s*/dev/null)")
_REMARKS = ("description", "timeout", "explanation", "justification")
_WORDS = re.compile(r"[A-Za-z0-9_.\-/]+|[^\sA-Za-z0-9_.\-/]")
_INPUT_CHARS = 2000
_OPEN_RUNS = 64  # different calls back to which a repetition is recognised: more is no circle but a long day
_SHOWN_CHARS = 300


@dataclass(frozen=True, slots=True)
class _Call:
    """Key that makes two calls the same, and what one brought ("": unknown)."""

    tool: str
    intent: tuple[str, str]
    input: str
    result: str
    transient: bool


@dataclass(slots=True)
class _Repeat:
    """The same call, met again and again."""

    call: _Call
    rows: list[Row] = field(default_factory=list)
    inputs: set[str] = field(default_factory=set)

    @property
    def is_loop(self) -> bool:
        sure = self.call.result and len(self.inputs) == 1
        return len(self.rows) >= (TRANSIENT if self.call.transient else SAME_RESULT if sure else UNSURE)


def loops(rows: Iterable[Row]) -> list[Row]:
    """Derived outcomes of kind `loop_detected`, one per loop, from the outcomes of one session (in any order).

    A derived row has a stable id (from the session and the loop's first call), source "ratchet-loop", no step, the
    time of the call that made it a loop, and as duration and tokens those of all calls but the first. Subagents are
    searched apart. `context` names the calls. A loop that goes on after it was stored keeps its first count.
    """
    threads: dict[str, list[Row]] = {}
    for row in sorted(rows, key=_when):
        if isinstance(row.get("step"), dict):
            threads.setdefault(text_in(row, "thread"), []).append(row)
    return [_derived(run) for thread in threads.values() for run in _runs(thread) if run.is_loop]


def _runs(rows: Sequence[Row]) -> Iterator[_Repeat]:
    """All runs of one thread, ended by a change, another result, a long pause, or the end."""
    open_runs: list[_Repeat] = []
    seen: set[_Call] = set()  # since the last edit: what brought the same before is no news, but part of a round
    for row in rows:
        if _kind(row) in EXCUSED:
            continue  # was not carried out
        tool = _plain(text_in(row["step"], "tool"))
        if tool in _NOTES or tool in _WAITS or text_in(row["step"], "head") in _WAITS:
            continue
        call = _call(row, tool)
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
        run.rows.append(row)
        run.inputs.add(call.input)
        if row.get("ok") and _changes(row, tool, again=again or call in seen):
            yield from (other for other in open_runs if other is not run)
            open_runs = [run]
            if _edits(row, tool):
                seen.clear()
        seen.add(call)
    yield from open_runs


def _goes_on(run: _Repeat, call: _Call, row: Row) -> bool:
    return run.call.result == call.result and _when(row)[0] - _when(run.rows[-1])[0] <= PAUSE_S


def _is_same(one: _Call, other: _Call) -> bool:
    if one.tool != other.tool:
        return False
    if one.input == other.input:
        return True
    nearly = one.intent == other.intent and one.result and one.result == other.result
    return bool(nearly) and _alike(one.input, other.input)


def _alike(one: str, other: str) -> bool:
    mine, theirs = _words(one), _words(other)
    return (mine & theirs).total() >= NEARLY * (mine | theirs).total()


@lru_cache(maxsize=64)
def _words(text: str) -> Counter[str]:
    return Counter(_WORDS.findall(text))


def _changes(row: Row, tool: str, *, again: bool) -> bool:
    """Tell whether a successful step may have made later calls answer otherwise. What is done again and brought nothing
    new changes nothing, unless it is an edit."""
    head, command = text_in(row["step"], "head"), text_in(row["step"], "input")
    if _edits(row, tool):
        return True
    if again or tool in _LOOKS or _plain(head) in _LOOKS:
        return False
    if tool not in SHELL_TOOLS:
        return True
    program, _, verb = head.partition(" ")
    looks = program in NOISE or (program == "git" and verb in _GIT_LOOKS)
    return not looks or ">" in _TRIMS.sub("", command) or (head == "sed" and " -i" in command)


def _edits(row: Row, tool: str) -> bool:
    return bool(text_in(row["step"], "change")) or tool in _EDITS or _plain(text_in(row["step"], "head")) in _EDITS


def _call(row: Row, tool: str) -> _Call:
    asked = text_in(row["step"], "input")[:_INPUT_CHARS]
    asked = _TRIMS.sub("", asked) if tool in SHELL_TOOLS else _without_remarks(asked)
    failed = not row.get("ok")
    context = row.get("context")
    result = text_in(context, "result")
    if failed and not result:
        result = result_mark(text_in(row.get("failure"), "message"))
    return _Call(
        tool=tool,
        intent=(text_in(row["step"], "head"), text_in(row["step"], "target")),
        input=" ".join(asked.split()),
        result=result,
        transient=_kind(row) in KINDS and is_transient(_kind(row), text_in(row.get("failure"), "message")),
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
    row: Row = {
        "id": outcome_id(DERIVED, session, text_in(first, "id")),
        "agent": first["agent"],
        "task": tool,
        "ok": False,
        "started_at": last["started_at"],
        "source": DERIVED,
        "failure": {
            "message": f"{tool} was called {len(run.rows)} times without new state in between: {shown}",
            "kind": "loop_detected",
            "flagged": False,
        },
        "context": {"calls": [row["id"] for row in run.rows]},
    }
    for name in ("session", "thread", "project", "model", "unit"):
        if first.get(name):
            row[name] = first[name]
    for name in ("duration_s", "tokens", "cost_usd"):
        wasted = sum(value for row in run.rows[1:] if isinstance(value := row.get(name), (int, float)))
        if wasted:
            row[name] = wasted
    return row


def _kind(row: Row) -> str:
    return text_in(row.get("failure"), "kind")


def _plain(tool: str) -> str:
    """A tool's name as the tables spell it."""
    return tool.lower().replace("_", "").replace("-", "").replace(".", "")


def _when(row: Row) -> tuple[float, str]:
    at = row.get("started_at")
    return (float(at) if isinstance(at, (int, float)) else 0.0, text_in(row, "id"))
