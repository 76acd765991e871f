"""Sum up the sightings of one remedy by a step. Pure: a verdict depends on the set of sightings alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ratchet.lessons.grounding import says
from ratchet.lessons.mining.evidence import PROVEN_SESSIONS, SESSIONS_LOOKED_AT, FixVerdict
from ratchet.lessons.mining.shell_remedies import BY_CHANCE
from ratchet.lessons.mining.tool_remedies import TAKES_NO
from ratchet.records import LessonState

_SHARE = 0.5  # of the known ends of its failures that a remedy must be, where the error does not name it
_HOLDS, _FAILS, _JUDGED_OFFERS, _FAILED_OFFERS = 0.6, 0.4, 3, 4
_CHANCE_SESSIONS, _CHANCE_SHARE = 3, 0.8  # ... of what stood between a failure and its end, named by nothing
_STALE_SESSIONS = 4  # sessions in which the plain step works again before they can speak against a lesson
_NAMED = frozenset(("place", "flag", "form", "made", "through", "never", "wait"))
# The error says what was wrong, and without that the very step worked, or nothing but one option more let it work: a
# second sighting would say nothing more.
_PROVEN_AT_ONCE = (
    "place",
    "form ",
    "flag ",
    "make ",
    "through ",
    "without ",
    "absent ",
    "value ",
    "with ",
    "by ",
    "adds ",
    "Leave out the ",
)  # beginnings of a form
_ONE_SLOT = frozenset(("fields", "through", "program"))  # of several values the newest one is the right one
_WORKS_PLAINLY = frozenset(("first", "instead", "made", "program", "through", "flag", "stand_in"))


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSeen:
    """One failure that a remedy answers. `form` is the remedy that it had ("" for none that is known, "again" where the
    step as it stood worked at once, "edit" where a change of code ended it), `worked` whether that helped."""

    session: str
    at: float
    form: str
    worked: bool
    rule: str = ""
    text: str = ""
    do: str = ""
    message: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainStep:
    """The failed step as it stood, in other sessions: `worked` are (time, session) of those in which it did, `refused`
    of those in which a person refused the remedy and said why, `took` of those in which what the remedy says is not
    taken (an option, a way to write a command) was."""

    worked: Sequence[tuple[float, str]] = ()
    refused: Sequence[tuple[float, str]] = ()
    took: Sequence[tuple[float, str]] = ()


def judged_step(form: str, seen: Iterable[StepSeen], plain: PlainStep, *, held_back: str) -> FixVerdict | None:
    """The verdict on one remedy. `seen` are the failures that it could have answered, however they ended; `held_back`
    says why it may not become active by itself ("" if it may)."""
    # What else ended a missing path says nothing of where the shell stood: the lesson is told only where it does not.
    sessions = _by_session(each for each in seen if form != "place" or each.form == form)
    own = [each for session in sessions for each in session if each.form == form]
    worked = [each for each in own if each.worked] or [each for each in own if _shown(each)]
    if not worked:
        return None
    told = _newest_or_usual(worked)
    reason = next((each.reason for each in own if each.reason), "")
    right, wrong, unknown = _walked(form, sessions)
    verdict = _state(sessions, own, plain, held_back=held_back, right=right, wrong=wrong)
    state, why = verdict if not reason else ("quarantined", reason)
    return FixVerdict(
        state=state,
        forms=(),
        text=told.text,
        reason=why,
        tried=len({each.session for each in own}),
        worked=len({each.session for each in own if each.worked}),
        right=right,
        wrong=wrong,
        unknown=unknown,
        says_itself=_says_itself(worked),
    )


def _by_session(seen: Iterable[StepSeen]) -> list[list[StepSeen]]:
    held: dict[str, list[StepSeen]] = {}
    for each in seen:
        held.setdefault(each.session, []).append(each)
    sessions = [sorted(each, key=lambda one: (one.at, one.form, one.text, one.do)) for each in held.values()]
    sessions.sort(key=lambda each: (each[0].at, each[0].session))
    return sessions[-SESSIONS_LOOKED_AT:]


def _newest_or_usual(worked: Sequence[StepSeen]) -> StepSeen:
    """The wording that most sessions gave, of equals the shortest; of values of one slot the newest at once."""
    newest = worked[-1]
    if newest.rule in _ONE_SLOT:
        return newest
    counts = Counter(text for text, _ in {(each.text, each.session) for each in worked})
    return min(worked, key=lambda each: (-counts[each.text], len(each.text), each.text))


def _walked(form: str, sessions: Sequence[Sequence[StepSeen]]) -> tuple[int, int, int]:
    """Work out what telling the remedy would have been in each session after it was proven."""
    right = wrong = unknown = 0
    before: list[StepSeen] = []
    for session in sessions:
        own = [each for each in session if each.form == form and (each.worked or _shown(each))]
        fits = bool(own)
        if _proven(before):
            known = any(each.worked for each in session)
            right, wrong, unknown = right + fits, wrong + (known and not fits), unknown + (not known and not fits)
        before += own
    return right, wrong, unknown


def _state(
    sessions: Sequence[Sequence[StepSeen]],
    own: Sequence[StepSeen],
    plain: PlainStep,
    *,
    held_back: str,
    right: int,
    wrong: int,
) -> tuple[LessonState, str]:
    rule = own[-1].rule
    fits = {each.session for each in own if each.worked or _shown(each)}
    vain = {each.session for each in own if not each.worked and not _shown(each)} - fits
    if len(vain) > len(fits):
        return "retired", f"it was tried in vain in {len(vain)} of {len(vain | fits)} sessions"
    last = max(each.at for each in own)
    refused = {session for at, session in plain.refused if at >= last}
    if refused:
        return "retired", "a person refused it since, and said why"
    since = {session for at, session in plain.worked if at > last} - fits
    if rule in _WORKS_PLAINLY and len(since) >= max(_STALE_SESSIONS, 2 * len(fits)):
        return "retired", f"the step works as it stands in {len(since)} sessions since"
    offers = right + wrong
    if offers >= _FAILED_OFFERS and right < _FAILS * offers:
        return "retired", f"it would have been right in {right} of {offers} sessions"
    took = {session for _, session in plain.took}
    if len(took) >= len(fits):
        return "retired", f"it worked as it was written in {len(took)} sessions"
    if not _proven([each for each in own if each.worked or _shown(each)]):
        return "candidate", ""
    if rule == "never" and plain.worked:  # it does work
        return "retired", f"it works in {len({session for _, session in plain.worked})} sessions"
    if took or len(vain) == len(fits):
        count = len(took) or len(vain)
        return "candidate", f"it was otherwise in {count} of {len(fits | took | vain)} sessions"
    known = {each.session for session in sessions for each in session if each.worked} | fits
    share = _CHANCE_SHARE if own[-1].form.startswith(BY_CHANCE) else _SHARE
    if rule not in _NAMED and len(fits) < share * len(known):
        return "candidate", f"other steps ended it in {len(known - fits)} of {len(known)} sessions"
    if offers + 1 >= _JUDGED_OFFERS and right + 1 < _HOLDS * (offers + 1):
        return "candidate", f"it would have been right in {right} of {offers} sessions"
    if held_back:
        return "candidate", held_back
    return "active", ""


def _proven(fits: Sequence[StepSeen]) -> bool:
    """Tell whether what fitted so far is enough to trust a remedy."""
    by_chance = any(each.form.startswith(BY_CHANCE) for each in fits)
    return len({each.session for each in fits}) >= (_CHANCE_SESSIONS if by_chance else PROVEN_SESSIONS) or any(
        (each.worked or _shown(each)) and each.form.startswith(_PROVEN_AT_ONCE) for each in fits
    )


def _shown(each: StepSeen) -> bool:
    """Tell whether the failure alone shows the lesson: a flag that is not known, a command written so that the shell
    does not take it, a tool that never works."""
    return not each.worked and (each.rule in ("never", "flag", "form") or TAKES_NO in each.text)


def _says_itself(worked: Sequence[StepSeen]) -> bool:
    """Tell whether the tools' own messages say the remedy, most times that it was met."""
    said = (says(each.text, each.message, each.do if each.rule == "fields" else "") for each in worked)
    return 2 * sum(said) > len(worked)
