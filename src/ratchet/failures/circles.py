"""Tells from an agent's last calls whether it goes round in a circle, while it does.

The last call closes a circle when it brought what it had brought before, `SAME` times in all, with nothing new in
between: the same failure (of the same command, or of one that only words it anew: a drift), or a success that says the
same. In turns (A, B, A, B) each is counted by itself. What is no circle: a person said something in between, or a call
waits; the same command worked in between; something was changed before a success. A failure that stays the same after
an edit counts on, one time more: the edit did not touch it. `patterns.loops` finds the same in whole histories, with
more patience.

Lean: hook processes import this.
"""

from __future__ import annotations

from ratchet.failures import steps, tool_call
from ratchet.failures.programs import SHELL_TOOLS
from ratchet.ids import hex_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ratchet.records import Json

SAME = 3
"""Times that make a circle where the very same call brought the very same."""
DRIFTING = 4
"""... where the calls are worded differently, or something was edited in between."""
TRANSIENT = 6
"""... where each failed in a way that may pass by itself: some retries are right, hammering is not."""
PATIENT_S = 45.0
"""Seconds between two successes from which on the second one is asked anew: it waited for something."""
_SAID_CHARS = 20_000
_TELLING_CHARS = 12  # a shorter text ("done", "0", "") says too little to be called the same


class Made:
    """A call that an agent made: `said` is its result, `at` when (Unix seconds, 0: unknown), `turn` the number of the
    model's turn that made it (calls of one turn did not know of each other)."""

    __slots__ = ("at", "change", "failed", "given", "head", "input", "mark", "said", "tool", "turn")

    def __init__(
        self, tool: str, given: Json, said: str, *, failed: bool = False, at: float = 0.0, turn: int = 0
    ) -> None:
        step = tool_call.step_row(tool, given)
        self.given, self.said, self.failed, self.at, self.turn = given, said, failed, at, turn
        self.tool = steps.plain(tool)
        self.head, self.change = str(step.get("head") or ""), bool(step.get("change"))
        asked = str(step.get("input") or "")
        self.input = " ".join((steps.trimmed(asked) if self.tool in SHELL_TOOLS else _plain(given, asked)).split())
        self.mark = _mark(said)

    @property
    def waits(self) -> bool:
        return steps.asks_to_wait(self.tool) or steps.waits(self.tool, self.head, self.input)

    @property
    def is_aside(self) -> bool:
        """Tell whether it keeps the agent's notes, or was not carried out."""
        return steps.keeps_notes(self.tool) or tool_call.certain_kind(self.said) != ""

    @property
    def changes(self) -> bool:
        """Tell whether it succeeded and may have changed something."""
        return not self.failed and (self.change or not steps.looks(self.tool, self.head, self.input))

    def is_like(self, other: Made) -> bool:
        return (self.tool, self.input, self.failed, self.mark) == (other.tool, other.input, other.failed, other.mark)


class Circle:
    """A circle: how often the last call's result was brought, by how many differently worded calls."""

    __slots__ = ("call", "times", "wordings")

    def __init__(self, call: Made, times: int, wordings: int) -> None:
        self.call, self.times, self.wordings = call, times, wordings

    @property
    def key(self) -> str:
        """Names the circle, however long it goes on."""
        return hex_of(
            f"{self.call.tool}\0{self.call.failed}\0{self.call.mark}\0{'' if self.call.failed else self.call.input}"
        )


def circle(calls: Sequence[Made | None]) -> Circle | None:
    """The circle that the last of these calls closes, in the order in which they were made; None stands for a word of a
    person. None where it closes none."""
    last = calls[-1] if calls else None
    if last is None or last.is_aside or last.waits or len("".join(last.said.split())) < _TELLING_CHARS:
        return None
    return _failing(last, calls[:-1]) if last.failed else _idle(last, calls[:-1])


def _failing(last: Made, before: Sequence[Made | None]) -> Circle | None:
    """The same failure again and again."""
    turns, wordings, edited = {last.turn}, {last.input}, False
    for each in reversed(before):
        if each is None or (not each.failed and each.tool == last.tool and each.input == last.input):
            break
        if each.failed and each.tool == last.tool and each.head == last.head and each.mark == last.mark:
            turns.add(each.turn)
            wordings.add(each.input)
        elif each.changes and each.change:
            edited = True
    times = len(turns)
    enough = DRIFTING if edited or len(wordings) > 1 else SAME
    if times < enough:
        return None
    return Circle(last, times, len(wordings)) if times >= TRANSIENT or not _may_pass(last.said) else None


def _idle(last: Made, before: Sequence[Made | None]) -> Circle | None:
    """A success that says what is known already."""
    turns, at = {last.turn}, last.at
    for place in range(len(before) - 1, -1, -1):
        each = before[place]
        if each is None or each.waits:
            break
        if each.tool == last.tool and each.input == last.input:
            if not each.is_like(last) or (at and each.at and at - each.at > PATIENT_S):
                break
            turns.add(each.turn)
            at = each.at
        elif each.changes and not _in_turn(each, before[:place]):
            break
    enough = DRIFTING if last.changes else SAME
    return Circle(last, len(turns), 1) if len(turns) >= enough else None


def _in_turn(each: Made, before: Sequence[Made | None]) -> bool:
    """Tell whether a call is itself a repetition: then it changes nothing."""
    for other in reversed(before):
        if other is None:
            return False
        if other.tool == each.tool and other.input == each.input:
            return other.is_like(each)
    return False


def _may_pass(said: str) -> bool:
    """Tell whether a failure may pass by itself."""
    from ratchet.failures.kinds.kind import is_transient, kind_of

    kind = kind_of(said)
    return is_transient(kind, said)


def _plain(given: Json, asked: str) -> str:
    """An input without what a call says to people."""
    if isinstance(given, dict) and given.keys() & _REMARKS:
        from ratchet.recording import wire

        return wire.written({name: value for name, value in given.items() if name not in _REMARKS})
    return asked


_REMARKS = frozenset(("description", "timeout", "explanation", "justification"))


def _mark(said: str) -> str:
    """The same for two results that differ only in durations, times and blanks."""
    import re

    text = tool_call.ends(said, _SAID_CHARS)
    text = re.sub(r"\d+(?::\d\d(?::\d\d)?|(?:\.\d+)?\s?(?:ms|s|secs?|seconds?)\b)", "", text)
    return hex_of("".join(text.split()))[:16]
