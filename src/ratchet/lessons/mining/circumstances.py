"""Circumstances of a step before it runs: on each of them it is counted how steps end.

A circumstance is a word `name:level`. It is a function of the step and of the calls before it in its session; nothing
of how the step itself ended enters, so that the same words can be asked of a step that nobody ran yet.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from ratchet.lessons.mining.calls import ToolCall
from ratchet.lessons.mining.findings import check_of

UNKNOWN = "read:unknown"
"""A file that neither this session nor an earlier one opened: `read:new` where all sessions are known."""
NEW = "read:new"
_LINES = (1, 8, 64, 128)
_FAILURES = (1, 2, 4)
_LATELY, _RECENT = 5, 20  # calls

_End = Literal["none", "ok", "failed"]


class Trail:
    """The calls of one session so far, in the order in which they were made."""

    def __init__(self, calls: Iterable[ToolCall] = ()) -> None:
        self._ends: dict[tuple[str, str], _End] = {}
        self._files: dict[str, _End] = {}
        self._lines = 0
        self._lines_at: dict[str, int] = {}
        self._failed: deque[bool] = deque(maxlen=_RECENT)
        for call in calls:
            self.add(call)

    def add(self, call: ToolCall) -> None:
        """Go on by a call that ended. One that failed by no fault of its own tells nothing."""
        if call.excused:
            return
        end: _End = "failed" if call.failed else "ok"
        self._ends[call.tool, call.head] = end
        self._failed.append(call.failed)
        if call.shell:
            self._lines_at[_check(call.head)] = self._lines
        elif call.target:
            self._files[call.target] = end
        if call.ok and (call.writes or call.patches):
            self._lines += 1 + call.new_text.count("\n")

    def added_since(self, head: str) -> int:
        """Count the lines that were added since a check last ran, by its command or another one for the same."""
        return self._lines - self._lines_at.get(_check(head), 0)

    def around(self, call: ToolCall, more_lines: int = 0) -> tuple[str, ...]:
        """The circumstances of a call that comes next, `more_lines` added before it."""
        return tuple(self._around(call, more_lines))

    def _around(self, call: ToolCall, more_lines: int) -> Iterator[str]:
        yield f"last:{self._ends.get((call.tool, call.head), 'none')}"
        if call.shell:
            if _check(call.head):
                yield f"added:{_level(self.added_since(call.head) + more_lines, _LINES)}"
        elif call.writes or call.patches:
            yield f"change:{self._files.get(call.target, 'new')}"
        elif call.head == "read" or "/" in call.target:
            yield f"read:{self._files.get(call.target, 'new')}"
        failed = list(self._failed)
        before = "failed" if failed[-1:] == [True] else "lately" if any(failed[-_LATELY:]) else "ok"
        yield f"previous:{before}"
        yield f"recent:{_level(sum(failed), _FAILURES)}"


def circumstances(calls: Sequence[ToolCall]) -> Iterator[tuple[ToolCall, tuple[str, ...]]]:
    """Each call of a session with its circumstances."""
    trail = Trail()
    for call in calls:
        yield call, trail.around(call)
        trail.add(call)


def _check(head: str) -> str:
    """Name what a command checks: all linters of a project look at the same lines."""
    return check_of(head.split())


def _level(count: int, levels: Sequence[int]) -> int:
    """The greatest of the levels that is reached; 0 below all of them."""
    return max((level for level in levels if count >= level), default=0)
