"""Tells how much of a call's time was its own: a tool that asks for leave, or puts a question, waits for a person, and
of calls that ran at once each second is one of them's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

CALL_S = 600.0
"""A longer call was stopped, slept, or waited for somebody."""
_ASKING_S = 1.0  # a tool that waits for a person's leave takes none of its own
_HEADS = ("read", "edit", "write")
_ASKING = frozenset(
    """
    read edit write multiedit notebookedit applypatch strreplaceeditor writefile readfile editfile todowrite
    exitplanmode enterplanmode askuserquestion askuser askhuman askfollowupquestion requestuserinput
    planmoderespond userinput
    """.split()  # noqa: SIM905
)


def asks(tool: str, head: str) -> bool:
    """Tell whether a tool takes no time worth counting but that of the person whom it asks."""
    return head in _HEADS or tool.lower().replace("_", "").replace("-", "") in _ASKING


def own_s(tool: str, head: str, duration_s: float) -> float:
    """Seconds of a call that were its own."""
    return min(duration_s, _ASKING_S if asks(tool, head) else CALL_S)


class CallSpan(NamedTuple):
    """Call `id` as it was recorded: when it began (Unix seconds) and how many seconds passed until its result."""

    id: str
    tool: str
    head: str
    began: float
    duration_s: float


def own_times(spans: Iterable[CallSpan]) -> dict[str, float]:
    """Seconds of each call of a session that were its own. A second in which several ran belongs to the one that began
    last, so that they add up to the time in which anything ran, and a subagent's steps come before the call that
    started it."""
    found: dict[str, float] = {}
    running: list[tuple[str, float]] = []
    now = float("-inf")
    for each in sorted(spans, key=lambda span: (span.began, span.id)):
        now = _passed(found, running, now, each.began)
        found[each.id] = 0.0
        running.append((each.id, each.began + own_s(each.tool, each.head, each.duration_s)))
    _passed(found, running, now, float("inf"))
    return found


def _passed(found: dict[str, float], running: list[tuple[str, float]], now: float, until: float) -> float:
    """Give the time from `now` to `until` to the calls that run in it, the last of them first."""
    while running and now < until:
        name, end = running[-1]
        reached = min(end, until)
        found[name] += max(0.0, reached - now)
        now = max(now, reached)
        if end <= now:
            running.pop()
    return until
