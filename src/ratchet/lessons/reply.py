"""Answers a tool call: with the fenced lessons for it that the coin shows, or with nothing.

The one way for everybody who stands beside an agent: the hooks of its client, and a program's own call
(`Ratchet.failed`). `append` writes a row to the journal and says whether it is on its way to disk; what could not be
journalled is not shown, since it could not be measured. Lean: hook processes import this.
"""

from __future__ import annotations

from ratchet.ids import hex_of
from ratchet.lessons import exposure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ratchet.lessons.ahead.trigger import Surroundings, Trigger
    from ratchet.records import Json, Row

    Append = Callable[[Row], bool]

POINTER_BYTES = 300
"""Of a pointer to a session that met the same finding, at most."""
NO_NAMES: Mapping[str, str] = {}
"""The tools of who has none of another name (`tool_names.in_words_of`)."""
EXCUSED = frozenset(("cascade", "user_denied", "cancelled"))
"""Kinds that are nobody's mistake: nothing is said about them."""


def to_failures(
    home: str, rows: Sequence[tuple[Row, Json]], append: Append, tools: Mapping[str, str] = NO_NAMES
) -> str:
    """`to_failure` for calls that ended together, each with its input: a lesson that answers several is said once."""
    met: set[str] = set()
    said = [to_failure(home, row, append, met, tools, given) for row, given in rows]
    return "\n".join(each for each in said if each)


def to_failure(
    home: str,
    row: Row,
    append: Append,
    met: set[str] | None = None,
    tools: Mapping[str, str] = NO_NAMES,
    given: Json = None,
) -> str:
    """The lessons for a call that failed: `row` is its Outcome as it was journalled, `tools` the names that tools have
    for who asks, `given` the whole input of the call. Nothing is said that the session was told in vain before, nor
    what is in `met`, to which it is added. Raises sqlite3.Error, OSError."""
    failure = row.get("failure")
    if not isinstance(failure, dict) or failure.get("kind") in EXCUSED or exposure.published(home).active == 0:
        return ""
    from ratchet.lessons import lookup, told
    from ratchet.lessons.tool_names import in_words_of

    session, thread, call = _text(row, "session"), _text(row, "thread"), str(row["id"])
    project = _text(row, "project")
    tool, asked = (_text(row.get("step"), name) for name in ("tool", "input"))
    edit = given if _text(row.get("step"), "head") == "edit" else None
    found = lookup.matching(home, failure, project=project, asked=asked, tool=tool, edit=edit)
    if not found:
        return _pointer(home, session, _text(failure, "message"), project)
    known = told.in_vain(home, session, thread, call) | (met or set())
    lessons = in_words_of(tools, [each for each in found if _told_as(each) not in known])
    said, shown = _fenced(home, session, lessons, "failure", append, trigger=call)
    told.note(home, session, thread, call, shown)
    if met is not None:
        met.update(shown)
    return said


def before_step(
    home: str,
    session: str,
    thread: str,
    call: str,
    triggers: Sequence[Trigger],
    around: Surroundings,
    append: Append,
) -> str:
    """One line about a step that is about to run, from the triggers that it meets: of the lessons that the coin shows,
    and that the session was not told in vain. Raises OSError."""
    from ratchet.lessons import told
    from ratchet.lessons.ahead import trigger

    often = 1 if triggers[0].kind in trigger.ONCE else told.IN_VAIN
    known = told.in_vain(home, session, thread, call, often=often)
    fresh: dict[str, Trigger] = {each.lesson: each for each in triggers if each.lesson not in known}
    offered: list[Row] = [{"id": each.lesson, "pattern": each.pattern, "text": each.text} for each in fresh.values()]
    shown = [fresh[str(row["id"])] for row in _obeyed(home, session, offered, "prevent", append)]
    told.note(home, session, thread, call, [each.lesson for each in shown])
    return trigger.line(shown, around) if shown else ""


def at_start(home: str, session: str, *, project: str, append: Append, tools: Mapping[str, str] = NO_NAMES) -> str:
    """The facts of a project and a digest of its top lessons, for a session that begins; `tools` as in `to_failure`.
    Raises sqlite3.Error, OSError."""
    facts = exposure.facts_told(home, project)
    if exposure.published(home).active == 0 or not exposure.has_store(home):
        return facts
    from ratchet.lessons import lookup
    from ratchet.lessons.fence import START_LIMIT, digest
    from ratchet.lessons.tool_names import in_words_of

    room = START_LIMIT - len(facts)
    _, offered = digest(in_words_of(tools, lookup.top(home, project)), room)
    lessons = digest(_obeyed(home, session, offered, "session_start", append), room)[0]
    return "\n".join(filter(None, (facts, lessons)))


def after_compaction(
    home: str, session: str, *, project: str, append: Append, tools: Mapping[str, str] = NO_NAMES
) -> str:
    """Say again what a session knew before its past was summed up: the lessons that it was shown (else the top ones),
    and the commands that worked in it after others had failed. Raises sqlite3.Error, OSError."""
    if not exposure.has_store(home):
        return at_start(home, session, project=project, append=append, tools=tools)
    from ratchet.lessons import lookup, told
    from ratchet.lessons.fence import FAILURE_LIMIT, enclosed, fitted
    from ratchet.lessons.tool_names import in_words_of

    own = in_words_of(tools, lookup.named(home, told.lessons(home, session), project))
    if not own:
        said = at_start(home, session, project=project, append=append, tools=tools)
    else:
        _, offered = fitted(own, FAILURE_LIMIT)
        said = fitted(_obeyed(home, session, offered, "session_start", append), FAILURE_LIMIT)[0]
        said = "\n".join(filter(None, (exposure.facts_told(home, project), said)))
    worked = lookup.worked_in(home, session)
    if worked:
        told_of = "\n".join(f"- worked: {did}   (failed before: {failed})" for failed, did in worked)
        said = f"{said}\n{enclosed('What worked in this session:' + chr(10) + told_of)}".strip()
    return said


def _pointer(home: str, session: str, message: str, project: str) -> str:
    """Name, where no lesson holds, the session that met the same finding, and what its agent said of it, in units that
    are shown lessons at all."""
    from ratchet.lessons import lookup

    noted = lookup.noted(home, message, project)
    if noted is None or noted[1] == session or (session and not exposure.toss(home, session, noted[0])[0]):
        return ""
    from ratchet.lessons.fence import pointer

    return pointer(*noted, POINTER_BYTES)


def _fenced(
    home: str, session: str, lessons: list[Row], channel: str, append: Append, *, trigger: str = ""
) -> tuple[str, list[str]]:
    """The lessons of the best one's pattern and of the output's other findings, where the coin shows them, and their
    ids; an Exposure is journalled either way."""
    if not lessons:
        return "", []
    from ratchet.lessons.fence import FAILURE_LIMIT, fitted

    pattern = exposure.pattern_of(lessons[0])
    # Each finding of an output has a lesson of its own, with a coin of its own.
    same = [each for each in lessons if exposure.pattern_of(each) == pattern or each.get("rule") == "edit"]
    _, offered = fitted(same, FAILURE_LIMIT)
    said, shown = fitted(_obeyed(home, session, offered, channel, append, trigger=trigger), FAILURE_LIMIT)
    return said, [_told_as(each) for each in shown]


def _told_as(lesson: Row) -> str:
    """The name by which a told lesson is remembered: of one that says something else at each failure with that."""
    said = f".{hex_of(_text(lesson, 'text'))[:8]}" if "lines" in lesson else ""
    return f"{lesson['id']}{said}"


def _obeyed(
    home: str, session: str, lessons: list[Row], channel: str, append: Append, *, trigger: str = ""
) -> list[Row]:
    """The lessons whose unit is shown them."""
    import time

    if not session:
        return lessons  # nobody to toss for
    shown = []
    for lesson in lessons:
        show, share = exposure.toss(home, session, exposure.pattern_of(lesson))
        row = exposure.row_of(
            lesson,
            session,
            shown=show,
            share=share,
            expected=exposure.expected(home, lesson),
            channel=channel,
            at=time.time(),
            trigger=trigger,
        )
        if append({"r": "exposure", **row}) and show:
            shown.append(lesson)
    return shown


def _text(row: Json, name: str) -> str:
    value = row.get(name) if isinstance(row, dict) else None
    return value if isinstance(value, str) else ""
