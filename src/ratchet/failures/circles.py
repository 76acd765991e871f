"""Tells from an agent's last calls whether it goes round in a circle, while it does.

The last call closes a circle when it brought what it had brought before, `SAME` times in all, with nothing new in
between: the same failure (of the same command, of one that only words it anew, or of any other: a drift), or a success
that says the same, times and identifiers aside. In turns (A, B, A, B) each is counted by itself. What is no circle: a
person said something in between, or a call waits; the same command worked in between; something was changed before a
success. A failure that stays the same after an edit counts on, one time more: the edit did not touch it.
`patterns.loops` finds the same in whole histories, with more patience.

Lean: hook processes import this.
"""

from __future__ import annotations

from ratchet.failures import steps, tool_call
from ratchet.failures.expressions import compiled
from ratchet.failures.programs import SHELL_TOOLS
from ratchet.ids import hex_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ratchet.records import Json

SAME = 3
"""Times that make a circle where the very same call brought the very same."""
DRIFTING = 4
"""... where the calls are worded differently, something was edited in between, or the failure may pass by itself: some
retries are right, hammering is not."""
PATIENT_S = 45.0
"""Seconds between two successes from which on the second one is asked anew: it waited for something."""
_SAID_CHARS = 20_000
_TELLING_CHARS = 12  # a shorter text ("done", "0", "") is the same only of the very same call
# That a command ended with a code says of no two commands that they failed of one cause.
_ENDED = (
    r"(?i)\(no output\)|\b(?:(?:command|process) )?(?:exited with|failed with exit|exit) "
    r"(?:code|status):? ?-?\d{1,10}\b"
)


class RecentCall:
    """A call that an agent made: `said` is its result, `failed` whether that is known to be a failure, `at` when (Unix
    seconds, 0: unknown), `turn` the number of the model's turn that made it (calls of one turn did not know of each
    other). All else is worked out when it is asked for: of a hundred calls, few are looked at."""

    __slots__ = ("_input", "_intent", "_mark", "at", "failed", "given", "said", "tool", "turn")

    def __init__(
        self, tool: str, given: Json, said: str, *, failed: bool = False, at: float = 0.0, turn: int = 0
    ) -> None:
        self.given, self.failed, self.at, self.turn = given, failed, at, turn
        self.said = tool_call.untagged(said)  # a hook hears it in its client's tags, a transcript may have it without
        self.tool = steps.plain(tool)
        self._input = self._mark = ""
        self._intent: tuple[str, str] | None = None

    @property
    def input(self) -> str:
        """The question, without what only trims its answer or is said to people."""
        if not self._input:
            given = self.given
            if isinstance(given, dict):
                given = {name: value for name, value in given.items() if name not in _REMARKS}
            asked = tool_call.input_text(self.tool, given)
            asked = steps.trimmed(asked) if self.tool in SHELL_TOOLS else asked
            self._input = " ".join(asked.split())
        return self._input

    @property
    def head(self) -> str:
        return self._tries()[0]

    @property
    def target(self) -> str:
        return self._tries()[1]

    def _tries(self) -> tuple[str, str]:
        if self._intent is None:
            from ratchet.failures.intent import intent

            self._intent = intent(self.tool, self.given)
        return self._intent

    @property
    def mark(self) -> str:
        """The same for two results that differ only in durations, times, identifiers and blanks."""
        if not self._mark:
            text = compiled(_PASSING).sub("", tool_call.ends(self.said, _SAID_CHARS))
            self._mark = hex_of("".join(text.split()))[:16]
        return self._mark

    def fails_as(self, other: RecentCall, *, changed: bool) -> bool:
        """Tell whether it failed as another call of its tool did: with the same words; where the same was asked, if it
        `stays`; where a tool says itself why it refuses a file, in its first line (what follows quotes the call)."""
        if not self.failed or self.tool != other.tool:
            return False
        if self.brought_as(other):
            return self.tells or self.asks_as(other)
        if self.asks_as(other):
            return stays(self.said, other.said, changed=changed)
        if self.tool in SHELL_TOOLS or not self.target or self.target != other.target:
            return False
        return self.said[:_LINE_CHARS].partition("\n")[0] == other.said[:_LINE_CHARS].partition("\n")[0]

    @property
    def tells(self) -> bool:
        """Tell whether the result says enough to be called the same as another call's."""
        said = self.said[:200]
        if "xit" in said:
            said = compiled(_ENDED).sub("", said)
        return len("".join(said.split())) >= _TELLING_CHARS

    @property
    def waits(self) -> bool:
        return steps.asks_to_wait(self.tool) or steps.waits(self.tool, self.head, self.input)

    @property
    def is_aside(self) -> bool:
        """Tell whether it keeps the agent's notes, or was not carried out."""
        return steps.keeps_notes(self.tool) or tool_call.certain_kind(self.said) != ""

    @property
    def is_edit(self) -> bool:
        return bool(tool_call.change_text(self.given)) or steps.edits(self.tool, "")

    def changes(self) -> bool:
        """Tell whether it may have changed something."""
        return not self.failed and (self.is_edit or not steps.looks(self.tool, self.head, self.input))

    def asks_as(self, other: RecentCall) -> bool:
        return self.tool == other.tool and self.input == other.input

    def brought_as(self, other: RecentCall) -> bool:
        """Tell whether it brought the same as another one of the same tool."""
        alike = len(self.said) == len(other.said) or abs(len(self.said) - len(other.said)) < _TIMES_CHARS
        return self.tool == other.tool and alike and self.mark == other.mark and not self.echoes

    @property
    def echoes(self) -> bool:
        return not self.failed and steps.echoes(self.tool, self.input, self.said)


def stays(said: str, before: str, *, changed: bool) -> bool:
    """Tell whether one command failed as it had before: with the same words, those with a digit and files for the
    moment aside; if something was `changed` in between, in all but these files and the places in files, which an edit
    moves."""
    same = _without_places if changed else _without_digits
    return same(said) == same(before)


def _without_digits(said: str) -> list[str]:
    said = compiled(_MOMENTARY).sub("", tool_call.ends(said, _SAID_CHARS))
    return [word for word in said.split() if not compiled(r"\d").search(word)]


def _without_places(said: str) -> str:
    text = compiled(f"{_PLACE}|{_MOMENTARY}").sub("", tool_call.ends(said, _SAID_CHARS))
    return "".join(compiled(_PASSING).sub("", text).split())


_LINE_CHARS = 200
_PLACE = (  # of a finding, behind a file's name, and before a line of source that is shown
    r"(?m)(?:\.\w{1,6}|<\w{1,10}>)(?::\d{1,6}(?::\d{1,6})?\b|\(\d{1,6}(?:,\d{1,6})?\))|\b(?:line|column|col) \d{1,6}\b"
    r"|^[ >]{0,4}\d{1,6}(?= ?\|)"
)
_MOMENTARY = r"(?:/te?mp/|/var/folders/|\\[Tt]e?mp\\)[^\s:;,'\"`)]+"
_PASSING = (  # times and durations; identifiers, long numbers and processes
    r"\d+(?::\d\d(?::\d\d(?:[.,]\d+)?)?Z?|(?:\.\d+)?\s?(?:ms|s|secs?|seconds?)\b)"
    r"|\b(?=[A-Za-z_-]{0,40}\d)[\w-]{16,80}\b|\b\d{10,}\b|\bpid:?\s\d+"
)
_TIMES_CHARS = 200  # by which two results may differ that say the same in other times
_REMARKS = frozenset(("description", "timeout", "explanation", "justification"))


class Circle:
    """A circle: how often the last call's result was brought, by how many differently worded calls."""

    __slots__ = ("call", "times", "wordings")

    def __init__(self, call: RecentCall, times: int, wordings: int) -> None:
        self.call, self.times, self.wordings = call, times, wordings

    @property
    def key(self) -> str:
        """Names the circle, however long it goes on."""
        asked = "" if self.call.failed else self.call.input if self.wordings == 1 else self.call.target
        return hex_of(f"{self.call.tool} {self.call.mark} {asked}")


def circle(calls: Sequence[RecentCall | None]) -> Circle | None:
    """The circle that the last of these calls closes, in the order in which they were made; None stands for a word of a
    person. None where it closes none."""
    last = calls[-1] if calls else None
    if last is None or last.is_aside or last.waits:
        return None
    return _failing(last, calls[:-1]) if last.failed else _idle(last, calls[:-1])


def _failing(last: RecentCall, before: Sequence[RecentCall | None]) -> Circle | None:
    """The same failure again and again."""
    turns, wordings, edited, waited = {last.turn}, {last.input}, False, False
    for each in reversed(before):
        if each is None:
            break
        if each.fails_as(last, changed=edited):
            turns.add(each.turn)
            wordings.add(each.input)
        elif not each.failed:
            if each.asks_as(last):
                break  # it worked in between
            edited = edited or each.is_edit
            waited = waited or each.waits
    anew = edited or len(wordings) > 1
    if len(turns) < (DRIFTING if anew else SAME):
        return None
    if _may_pass(last.said) and (waited or len(turns) < DRIFTING):
        return None
    return Circle(last, len(turns), len(wordings))


def _idle(last: RecentCall, before: Sequence[RecentCall | None]) -> Circle | None:
    """A success that says what is known already."""
    if sum(each is not None and each.asks_as(last) for each in before) < SAME - 1:
        return _probing(last, before)
    turns, at = {last.turn}, last.at
    for place in range(len(before) - 1, -1, -1):
        each = before[place]
        if each is None or each.waits:
            break
        if each.asks_as(last):
            if not each.brought_as(last) or (at and each.at and at - each.at > PATIENT_S):
                break
            turns.add(each.turn)
            at = each.at
        elif each.changes() and not _in_turn(each, before[:place]):
            break
    enough = DRIFTING if last.changes() or not last.tells else SAME
    return Circle(last, len(turns), 1) if len(turns) >= enough else None


def _probing(last: RecentCall, before: Sequence[RecentCall | None]) -> Circle | None:
    """One file or address that is asked in ever other words and always says the same: the end of a file, again."""
    if last.tool in SHELL_TOOLS or last.changes() or not last.tells or not last.target:
        return None
    turns, wordings = {last.turn}, {last.input}
    for each in reversed(before):
        if each is None or each.waits or each.changes():
            break
        if each.tool == last.tool and each.target == last.target:
            if not each.brought_as(last):
                break
            turns.add(each.turn)
            wordings.add(each.input)
    return Circle(last, len(turns), len(wordings)) if len(turns) >= DRIFTING else None


def _in_turn(each: RecentCall, before: Sequence[RecentCall | None]) -> bool:
    """Tell whether a call is itself a repetition: then it changes nothing."""
    for other in reversed(before):
        if other is None:
            return False
        if other.asks_as(each):
            return other.brought_as(each)
    return False


def _may_pass(said: str) -> bool:
    """Tell whether a failure may pass by itself."""
    from ratchet.failures.kinds.kind import is_transient, kind_of

    return is_transient(kind_of(said), said)
