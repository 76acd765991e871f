"""Count what a session's calls ended in: by tool, command, file, model and hour, and which findings nobody touched.

Pure: the counts depend on the set of calls alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from math import inf
from typing import TypeAlias

from ratchet.failures.waiting import CallSpan, own_s, own_times
from ratchet.lessons.mining.blame import blamed
from ratchet.lessons.mining.calls import EXCUSED, ToolCall
from ratchet.lessons.mining.circumstances import circumstances
from ratchet.lessons.mining.spending import is_loop
from ratchet.records import Row, number_in, text_in

HOUR_S = 3600
_ON_FILES = frozenset(("read", "edit", "write", "delete"))  # heads whose target is a file (`failures.intent`)
_UNNAMED = "unknown"  # as readers write a call of which its history names no tool
_NAME_CHARS = 200  # of a head, a file or a finding's key; a longer one is no name


@dataclass(slots=True)
class Fact:
    """Counts of one tool or command in one hour of a session, with one file and one model ("" where none is known).

    `around` are the circumstances (words, `mining.circumstances`) of the calls that were for this command; "" of what
    only ran beside it in a chain.

    With `finding` (the key of a diagnostic) it counts the failing runs that showed it; `edited` is 1 where an edit of
    that file followed. `calls` counts every command of a chain, `steps` the chain once, by what it was for; a step that
    called no tool that is known (a turn of the model that failed) has neither tool nor head. `excused` are calls that
    failed by no fault of theirs, `refused` among them by a person; `duration_s` is their own time (`failures.waiting`).
    """

    tool: str
    head: str
    file: str
    finding: str
    model: str
    hour: int
    around: str = ""
    calls: int = 0
    steps: int = 0
    failures: int = 0
    excused: int = 0
    refused: int = 0
    edited: int = 0
    tokens: int = 0
    duration_s: float = 0.0
    min_at: float = inf
    max_at: float = 0.0


def row_of(fact: Fact) -> Row:
    """The fact as columns, without its project and session."""
    return {name: getattr(fact, name) for name in _NAMES}


_NAMES = tuple(each.name for each in fields(Fact))


def turns_of(rows: Iterable[Row]) -> list[Row]:
    """The outcomes that called no tool: a turn of the model that failed, or a run of an agent as a whole."""
    return [row for row in rows if not isinstance(row.get("step"), dict) and not is_loop(row)]


def facts(calls: Sequence[ToolCall], root: str, *, turns: Iterable[Row] = (), apart: bool = False) -> list[Fact]:
    """The facts of steps, in the order of their keys: of a session that began in the folder `root`, or of some that
    stand for themselves (`apart`), whose times are not compared. `turns` are the outcomes that called no tool.

    Of a chain that worked each command counts; of one that did not only what it was for, since nobody knows how far it
    came. What a call cost is charged to what it was for, its failure to the command that its output blames (none where
    the shell failed itself).
    """
    spans = [CallSpan(call.id, call.tool, call.head, call.at, call.duration_s) for call in calls]
    took = {span.id: own_s(*span[1:3], span.duration_s) for span in spans} if apart else own_times(spans)
    held: dict[_Key, Fact] = {}
    models = Counter(call.model for call in calls if call.model)
    # A hook that sees a call fail is not told the model; its session's history is.
    usual = min(models, key=lambda name: (-models[name], name), default="")
    for call, around in circumstances(calls):
        if call.tool == _UNNAMED:
            _count_turn(held, call.model or usual, call.at, failed=call.failed, excused=call.excused)
            continue
        to_blame = blamed(call)
        for head, file, charged in _did(call, root):
            named = " ".join(around) if charged else ""
            fact = _at(held, call, call.model or usual, head, file, around=named)
            _count(fact, call, charged=charged, took=took[call.id], failed=call.failed and call.head == to_blame)
        if to_blame != call.head:
            _count(_at(held, call, call.model or usual, to_blame, ""), call, charged=False, failed=True)
    for call, head, file, key, edited in _findings(calls, root):
        fact = _at(held, call, call.model or usual, head, file, key)
        _count(fact, call, charged=False, failed=call.failed)
        fact.edited = max(fact.edited, int(edited))
    for row in turns:
        excused = not row.get("ok") and text_in(row.get("failure"), "kind") in EXCUSED
        failed = not row.get("ok") and not excused
        model, at = text_in(row, "model") or usual, number_in(row, "started_at")
        _count_turn(held, model, at, failed=failed, excused=excused)
    return [held[key] for key in sorted(held)]


_Key: TypeAlias = tuple[str, str, str, str, str, int, str]


def _at(
    held: dict[_Key, Fact], call: ToolCall, model: str, head: str, file: str, key: str = "", around: str = ""
) -> Fact:
    names = (call.tool, head[:_NAME_CHARS], file, key[:_NAME_CHARS], model, int(call.at // HOUR_S), around)
    fact = held.get(names)
    if fact is None:
        fact = held[names] = Fact(*names)
    return fact


def _did(call: ToolCall, root: str) -> Iterable[tuple[str, str, bool]]:
    """(head, file, whether the call's cost is this one's) of each thing that a call did."""
    if not call.shell:
        yield call.head or call.tool, file_of(call.target, root) if call.head in _ON_FILES else "", True
        return
    main = call.piece
    if main is None or not call.ok:
        yield call.head, _operand(call.target, root), True
        return
    for piece in call.pieces:
        if piece is main or piece.noise != 2:
            yield piece.head, _operand(piece.target, root), piece is main


def file_of(path: str, root: str) -> str:
    """A file as the project names it: worktrees and clones share it."""
    name = path.replace("\\", "/")
    folder = root.rstrip("/")
    if folder and name.startswith(folder + "/"):
        name = name[len(folder) + 1 :]
    return name[:_NAME_CHARS]


def _operand(target: str, root: str) -> str:
    """The file that a command works on: a script, a test file; "" where its operand is none."""
    name = target.partition("::")[0]
    return file_of(name, root) if "." in name.rpartition("/")[2].strip(".") and " " not in name else ""


def _count_turn(held: dict[_Key, Fact], model: str, at: float, *, failed: bool, excused: bool) -> None:
    key: _Key = ("", "", "", "", model, int(at // HOUR_S), "")
    fact = held.setdefault(key, Fact(*key))
    fact.calls += 1
    fact.steps += 1
    fact.failures += failed
    fact.excused += excused
    fact.min_at, fact.max_at = min(fact.min_at, at), max(fact.max_at, at)


def _count(fact: Fact, call: ToolCall, *, charged: bool, failed: bool, took: float = 0.0) -> None:
    fact.calls += 1
    fact.steps += charged
    fact.failures += failed
    fact.excused += call.excused
    fact.refused += call.kind == "user_denied"
    if charged:
        fact.tokens += call.tokens
        fact.duration_s += took
    fact.min_at = min(fact.min_at, call.at)
    fact.max_at = max(fact.max_at, call.at)


def _findings(calls: Sequence[ToolCall], root: str) -> Iterable[tuple[ToolCall, str, str, str, bool]]:
    """Findings of failing commands, each once a run and file, with whether that file was edited afterwards."""
    last_edit: dict[str, float] = {}
    for call in calls:
        if call.ok and (call.writes or call.patches):
            name = call.target.replace("\\", "/").rpartition("/")[2]
            last_edit[name] = max(last_edit.get(name, 0.0), call.at)
    for call in calls:
        if not call.failed or not call.shell:
            continue
        to_blame = blamed(call) if call.findings else ""
        for key, path in sorted({(each.key, each.path) for each in call.findings}):
            file = file_of(path, root)
            yield call, to_blame, file, key, last_edit.get(file.rpartition("/")[2], 0.0) > call.at
