"""Ranks lessons, and decides which are told before their failure: one rule for every list, page and file of notes.

Lean: hook processes import this.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ratchet.records import Json, Lesson

PROVEN_SESSIONS = 2
"""Sessions that prove a remedy: one that worked once may have worked by chance."""
WAITING = (
    "Told to no agent until it has worked in two sessions (in one, where the error itself names what was wrong) and "
    "nothing speaks against it that its line names, or until you approve it."
)
"""What a candidate waits for, in the words of every surface."""
_EXPLAINED = frozenset(("flag", "fields"))  # rules of steps whose error names what is wrong: an option, a field's value
NEEDS_ERROR = "only its error says when it is right; it is told where that comes"
"""Why a lesson is not told ahead of its failure that a file of notes tells with its error beside it."""
LOOKED_UP = "what it has to say is known once a step fails; it is told there"
"""Why a table of names or files is not told ahead, nor a lesson whose words are worked out at the failure."""
_PROVEN, _HABIT, _ONCE, _AT_FAILURE, _KNOWN = range(5)


class LessonStanding:
    """Traits on which the place of a lesson depends, of its row. `is_habit`: it says that the project silences a check;
    `silences`: it says so of one of its remedies; `is_explained`: the failing tool names what is wrong; `is_one_off`:
    it is about a name that only one session met; `is_table`: it holds a line for each of many names, or what it says is
    looked up at the failure."""

    __slots__ = (
        "_asked",
        "_row",
        "is_habit",
        "is_one_off",
        "is_table",
        "known",
        "saved",
        "says_itself",
        "silences",
        "tried",
        "worked",
        "worth",
    )

    def __init__(self, row: Mapping[str, Json]) -> None:
        self.tried, self.worked = _whole(row, "tried"), _whole(row, "worked")
        wasted_s = row.get("wasted_s")
        minutes = 1 + (wasted_s if isinstance(wasted_s, int | float) else 0) / 60
        # A failure costs a minute by itself, as a pattern's impact has it.
        self.worth = (self.worked or self.tried) * minutes + _whole(row, "saved_turns")
        self._asked = bool(row.get("approved"))  # a person wants it told, whatever a tool says
        self.says_itself, self.known = (bool(row.get(name)) and not self._asked for name in ("says_itself", "known"))
        told = row.get("told")
        remedies = [[*map(str, each)] for each in told if isinstance(each, list)] if isinstance(told, list) else []
        habits = [bool(each) and all(form.startswith("suppress ") for form in each) for each in remedies]
        self.is_habit, self.silences = habits[:1] == [True], any(habits)
        forms = remedies[0] if remedies else []
        renames = any(form.startswith("instead ") for form in forms) or _is_named(row)
        self.is_one_off = renames and self.tried < PROVEN_SESSIONS and not self._asked
        self.is_table = "lines" in row
        self.saved = _whole(row, "saved_turns")
        self._row = row

    @property
    def is_active(self) -> bool:
        return self._row.get("state") == "active"

    @property
    def is_told_once(self) -> bool:
        """Tell whether one session met it, and whoever meets it again reads of the tool what is wrong."""
        met_once = bool(self.tried) and (self.worked or self.tried) < PROVEN_SESSIONS
        return met_once and self.is_explained and not self.saved and not self._asked

    @property
    def needs_error(self) -> bool:
        """Tell whether neither its advice nor a command and a rule say before which step it is of use."""
        from ratchet.lessons.fence import occasion, says_when, shown

        row = shown(dict(self._row))
        return not (says_when(row) or occasion(row))

    @property
    def is_explained(self) -> bool:
        rule = self._row.get("rule")
        return rule in _EXPLAINED or (rule == "edit" and _is_ruled(self._row))


def _is_ruled(row: Mapping[str, Json]) -> bool:
    """Tell whether a finding is known by the name of its rule: its tool says what is wrong."""
    from ratchet.failures.missing_names import names_rule

    key = _key(row)
    return bool(key) and names_rule(key)


def _is_named(row: Mapping[str, Json]) -> bool:
    """Tell whether a lesson is about one name that a tool does not know."""
    from ratchet.failures.missing_names import name_in

    return row.get("rule") == "edit" and bool(name_in(_key(row)))


def _key(row: Mapping[str, Json]) -> str:
    keys = row.get("keys")
    return str(keys[0]) if isinstance(keys, list) and keys else ""


def _whole(row: Mapping[str, Json], name: str) -> int:
    value = row.get(name)
    return value if isinstance(value, int) else 0


def place(each: LessonStanding) -> tuple[int, int, int, float, int]:
    """The sort key of a lesson among those of its state.

    By tier: what several sessions proved, or a person; habits of silencing a check, which several sessions showed; what
    one session showed; what is told at its failure alone (`unsaid`).
    Within a tier by the calls that it would have prevented in later sessions (`lessons.backtest`), most first; then
    those that worked in most sessions and whose failing tool does not say what is wrong; then by what the failure cost,
    most first.
    """
    proven = not each.tried or each.saved > 0 or (each.worked or each.tried) >= PROVEN_SESSIONS
    tier = _PROVEN if proven else _ONCE
    if each.is_habit:
        tier = _HABIT if each.is_active else _KNOWN  # no approval makes a habit of what the project did twice
    if each.is_one_off or each.is_table or each.is_told_once:
        tier = _AT_FAILURE
    if each.says_itself or each.known:
        tier = _KNOWN
    usual = not each.worked or 2 * each.worked >= each.tried
    lacks = (not usual) + (each.is_explained and not each.saved)
    return tier, -each.saved, lacks, -each.worth, each.tried


def unsaid(each: LessonStanding) -> str:
    """Why a lesson is told only when its step fails: not at a session's start, in a file of notes or among the first
    lines of `learn`. "" where it is told there, too."""
    if each.says_itself:
        return "the failing tool says as much; nobody is told while it does"
    if each.known:
        return "whoever knows the tool knows it"
    if each.is_table:
        return LOOKED_UP
    if each.is_one_off:
        return "one session alone met the name that it is about; it is told where that very name fails"
    if each.is_told_once:
        return "one session met it, and the failing tool says what is wrong; it is told where it fails"
    return NEEDS_ERROR if each.needs_error else ""


def without_repeats(found: Iterable[Lesson]) -> list[tuple[Lesson, int]]:
    """(lesson, how many others of its state say the same remedy), each remedy once: it may mend several findings."""
    alike: dict[tuple[str, str], list[Lesson]] = {}
    for each in found:
        alike.setdefault((each.state, each.text), []).append(each)
    return [(some[0], len(some) - 1) for some in alike.values()]
