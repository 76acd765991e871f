"""Sum up the sightings of a failure: the fix that most share, what it says, and whether it may be told.

Pure: a verdict depends on the set of sightings alone, never on the order in which they were read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from math import inf
from typing import TypeAlias

from ratchet.failures.missing_names import name_in, names_rule
from ratchet.lessons.mining.fix_texts import is_known, named, says_itself, silences, suppresses, text_of
from ratchet.lessons.mining.hunks import shapes, strong
from ratchet.records import LessonState

PROVEN_SESSIONS = 2  # a fix that was seen once may be chance; asking for three loses a tenth of what is right
_SHARE, _WEAK_SHARE, _LOOSE_SHARE, _LOOSE_SESSIONS = 0.25, 0.5, 0.6, 3
_WANTED = "c:cannot use "  # a key that holds the types that matter
_SECOND_SHARE = 0.25
# A rule's name says that two findings have one cause, and how code was reshaped is no name of one place: so one fix
# will do that was nothing else. Told after one, such fixes were right in 3 of 4 sessions, those that name something in
# half.
_ONCE_SHARE = 0.8
_ONCE_HABITS = 2  # fixes of one session by which a rule that it switched off counts for what the project did elsewhere
# Sessions in which a project switched a rule off at a place, with a reason, before that is its way, whether a finding
# made it do so or it was written along; for this very finding in `PROVEN_SESSIONS` of them, or `_ONCE_HABITS` times.
_WAY_SESSIONS = 3
_TOGETHER = 0.8  # features that come together this often are one fix
_HOLDS, _FAILS, _JUDGED_OFFERS, _FAILED_OFFERS = 0.6, 0.4, 3, 4
SESSIONS_LOOKED_AT = 60  # the newest ones: a project's way of last year is no news


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One sighting as far as it counts. `forms` is what the fix had of what may be shared, empty where nobody can say
    which edit it was; `fixed` is False of a fix in vain."""

    session: str
    at: float
    fixed: bool
    forms: frozenset[str]
    message: str = ""
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FixVerdict:
    """Verdict of a set of sightings: `forms` are the fixes that are told, the first one first (each a set of features
    that come together); right, wrong and unknown count what telling it would have been in each session since."""

    state: LessonState
    forms: tuple[frozenset[str], ...]
    text: str
    reason: str = ""
    tried: int = 0
    worked: int = 0
    wrote: int = 0  # of a habit the sessions that made it one, for this finding or along with something else
    right: int = 0
    wrong: int = 0
    unknown: int = 0
    says_itself: bool = False
    known: bool = False  # who knows the tool knows this fix: no news before it fails


Ways: TypeAlias = Mapping[str, Sequence[tuple[float, str]]]
"""(time, session) of each session in which a project's edits switched a rule off with a reason: `suppress TOOL:RULE`,
and `suppress TOOL` for any of its rules."""


def judged(key: str, seen: Iterable[Seen], ways: Ways | None = None) -> FixVerdict | None:
    """The verdict on the edits that ended findings of one key, None where they share nothing that could be told."""
    sessions = _by_session(_own(key, each) for each in seen)
    usual = {form: met for form, met in (ways or {}).items() if _is_exact(key, form)}
    history: list[Sequence[Seen]] = []
    right = wrong = unknown = 0
    for now in sessions:
        told = _chosen(key, [each for before in history for each in before], _until(usual, now[0].at))
        if told:
            outcome = _outcome(told, now)
            right, wrong, unknown = right + (outcome == 1), wrong + (outcome == -1), unknown + (outcome == 0)
        history.append(now)
    fixes = [each for session in sessions for each in session]
    wrote = _until(usual, inf)
    told = _chosen(key, fixes, wrote)
    proven = bool(told)
    told = told or _chosen(key, fixes, None)
    if not told or not (proven or _may_be_known(key, told, fixes)):
        return None
    ended = [each for each in fixes if each.fixed and _is_known(each)]  # what nobody can say speaks for no other fix
    worked = {each.session for each in ended if _fits(told[:1], each)}
    met = worked | {each.session for each in fixes if not each.fixed or _is_known(each)}
    state, reason = _state(key, proven=proven, right=right, wrong=wrong, told=told, fixes=fixes)
    return FixVerdict(
        state=state,
        forms=told,
        text=text_of(told, ended, wrote),
        reason=reason,
        tried=len(met),
        worked=len(worked),
        wrote=len(worked.union(*(wrote.get(form, ()) for form in told[0]))) if proven and suppresses(told[0]) else 0,
        right=right,
        wrong=wrong,
        unknown=unknown,
        says_itself=all(says_itself(each, ended) for each in told),
        known=all(map(is_known, told)),
    )


def _may_be_known(key: str, told: Sequence[frozenset[str]], fixes: Sequence[Seen]) -> bool:
    """Tell whether a fix that is not proven is worth a look. Of one session a test's own lines are not: what it logs
    looks like what it complains of, and one rewrite of it ends them all. Nor is how code was reshaped after a sentence,
    without a name: it says nothing."""
    if names_rule(key):
        return True
    ended = {each.session for each in fixes if each.fixed and _fits(told, each)}
    own = key.startswith("t:") and len(ended) < PROVEN_SESSIONS
    return not own and not all(map(is_known, told))


def _own(key: str, each: Seen) -> Seen:
    """A sighting without what its hunk did along with switching off the very rule that found it: that was for others'
    sake."""
    off = frozenset(form for form in each.forms if form.startswith("suppress ") and _is_own(key, form))
    return replace(each, forms=off) if off else each


def _by_session(seen: Iterable[Seen]) -> list[list[Seen]]:
    """Sightings by session, sessions in order of their first one."""
    held: dict[str, list[Seen]] = {}
    for each in seen:
        held.setdefault(each.session, []).append(each)
    sessions = [sorted(each, key=_order) for each in held.values()]
    sessions.sort(key=lambda each: (each[0].at, each[0].session))
    return sessions[-SESSIONS_LOOKED_AT:]


def _order(each: Seen) -> tuple[float, str, tuple[str, ...], tuple[str, ...]]:
    return each.at, each.message, each.added, each.removed


def _until(ways: Ways, at: float) -> Mapping[str, AbstractSet[str]]:
    """The sessions of each way until then."""
    return {form: {session for when, session in met if when < at} for form, met in ways.items()}


def _outcome(told: Sequence[frozenset[str]], now: Sequence[Seen]) -> int:
    """1: what was told ended it in this session; -1: something else did; 0: nobody can say."""
    known = [each for each in now if each.fixed and (each.forms or each.added)]  # what was deleted tells nothing
    if any(_fits(told, each) for each in known):
        return 1
    return -1 if known else 0


def _is_known(each: Seen) -> bool:
    """Tell whether anybody can say which edit a fix was."""
    return bool(each.forms or each.added or each.removed)


def _fits(told: Sequence[frozenset[str]], each: Seen) -> bool:
    return any(forms & each.forms for forms in told)


def _state(
    key: str, *, proven: bool, right: int, wrong: int, told: Sequence[frozenset[str]], fixes: Sequence[Seen]
) -> tuple[LessonState, str]:
    offers = right + wrong
    if all(silences(forms) for forms in told):
        return "quarantined", f"switches a check off without a reason: {named(told[0])}"
    vain = len({each.session for each in fixes if not each.fixed and _fits(told, each)})
    if vain > len({each.session for each in fixes if each.fixed and _fits(told, each)}):
        return "retired", f"it was tried in vain in {vain} sessions"
    if offers >= _FAILED_OFFERS and right < _FAILS * offers:
        return "retired", f"it would have been right in {right} of {offers} sessions"
    if not proven:
        ways = {each.session for each in fixes if each.fixed and _fits(told, each)}
        off = all(map(suppresses, told)) and len(ways) >= PROVEN_SESSIONS
        return "candidate", f"it switches a check off: told once {_WAY_SESSIONS} sessions did so" if off else ""
    if offers + 1 >= _JUDGED_OFFERS and right + 1 < _HOLDS * (offers + 1):
        return "candidate", f"it would have been right in {right} of {offers} sessions"
    known = {each.session for each in fixes if _is_known(each)}
    others = known - {each.session for each in fixes if _fits(told, each)}
    if others and len(known - others) < PROVEN_SESSIONS:
        return "candidate", f"it was otherwise in {len(others)} of {len(known)} sessions"
    if not _is_judged(key) and not all(_is_asked(key, forms, fixes) for forms in told):
        return "candidate", "it ended what happened as the code ran: no checker judged it, and the error asks for none"
    return "active", ""


def _is_judged(key: str) -> bool:
    """Tell whether a checker made a finding, and so says of the code itself that it is right now. A program or a test
    that stops failing does not: what it asked for may be what the edit took away."""
    return key[:2] not in ("t:", "e:", "w:") and key[:3] != "py:"


def _is_asked(key: str, forms: AbstractSet[str], fixes: Sequence[Seen]) -> bool:
    """Tell whether an edit did nothing but what an error asks for that names a name which is not known: it imports
    that, or puts another one in its place."""
    missing = re.split(r"[.:]", name_in(key))[-1]
    others = {re.split(r"[.:]", form)[-1] for form in forms if form.startswith("instead ")}
    others = {name.removeprefix("instead ") for name in others}
    if not missing or len(others) + sum(form.startswith("import ") for form in forms) < len(forms):
        return False
    fitting = [each for each in fixes if each.fixed and forms & each.forms]
    return not others or any(_without(each.removed, {missing}) == _without(each.added, others) for each in fitting)


def _without(lines: Sequence[str], names: AbstractSet[str]) -> list[str]:
    """The lines with a mark where one of the names stands, with its owners."""
    of = re.compile(rf"(?:\w+(?:\.|::|->))*\b(?:{'|'.join(map(re.escape, sorted(names)))})(?!\w)")
    return [of.sub("\0", line.strip()) for line in lines]


# -- what most fixes share ------------------------------------------------------------------------------------------


def _chosen(key: str, seen: Sequence[Seen], ways: Mapping[str, AbstractSet[str]] | None) -> tuple[frozenset[str], ...]:
    """The fix that most share, and another one that covers enough of the rest; () for none. `ways` are the sessions in
    which the project switched a rule off; None where a fix need not be proven."""
    fixes = [each for each in seen if each.fixed]
    first = _best(key, fixes, ways)
    if not first:
        return ()
    rest = [each for each in fixes if not first & each.forms]
    second = _best(key, rest, None) if len(rest) >= _SECOND_SHARE * len(fixes) else frozenset()
    others = {each.session for each in rest if second & each.forms}
    if len(others) < PROVEN_SESSIONS or not all(_is_way(form, others, ways or {}, often=False) for form in second):
        second = frozenset()
    if second and len(rest) and sum(bool(second & each.forms) for each in rest) < _SECOND_SHARE * len(rest):
        second = frozenset()
    told = [first, second] if second else [first]
    covers = sum(bool(second & each.forms) for each in fixes) >= _SECOND_SHARE * len(fixes)
    if second and covers and suppresses(first) and not suppresses(second) and not silences(second):
        told.reverse()
    return tuple(each for each in told if not silences(each) or each is told[0])


def _best(key: str, fixes: Sequence[Seen], ways: Mapping[str, AbstractSet[str]] | None) -> frozenset[str]:
    """The features of the fix that most of these share, as far as it is shared enough to be told."""
    counts: Counter[str] = Counter()
    sessions: dict[str, set[str]] = {}
    for each in fixes:
        for form in each.forms:
            counts[form] += 1
            sessions.setdefault(form, set()).add(each.session)
    known = sum(map(_is_known, fixes))  # what nobody can say speaks against no fix
    usual = {form for form in counts if counts[form] >= _ONCE_SHARE * known and names_rule(key)}
    once = {form for form in usual if shapes(form) and any(_is_all(form, each.forms) for each in fixes)}
    able = [
        form
        for form in counts
        if (form in once or _enough(key, form, counts[form] / len(fixes), len(sessions[form]), proven=ways is not None))
        and _is_own(key, form)
        and (ways is None or _is_way(form, sessions[form], ways, often=form in usual and counts[form] >= _ONCE_HABITS))
    ]
    if not able:
        return frozenset()
    # Most sessions first: a session with a dozen findings of one kind is one opinion.
    best = min(
        able, key=lambda form: (-len(sessions[form]) if strong(form) else 0, -len(sessions[form]), -counts[form], form)
    )
    having = [each for each in fixes if best in each.forms]
    kind = best.partition(" ")[0]
    together = {
        form
        for form in able
        if strong(form) == strong(best)
        and (kind in ("suppress", "silence")) == (form.partition(" ")[0] in ("suppress", "silence"))
        and sum(form in each.forms for each in having) >= _TOGETHER * len(having)
    }
    return frozenset(together | {best})


def _is_all(form: str, forms: AbstractSet[str]) -> bool:
    """Tell whether a feature is what a fix was: nothing in its hunk has a name."""
    return form in forms and not any(strong(other) and not shapes(other) for other in forms)


def _enough(key: str, form: str, share: float, sessions: int, *, proven: bool) -> bool:
    missing = name_in(key)
    if missing and form.startswith(("import ", "instead ")):
        kind, _, value = form.partition(" ")
        # Where a name comes from is news at once; that `strings` is imported as "strings" is none.
        told = value != missing if kind == "import" else _is_another_name(missing, value)
        return told or (share >= _SHARE and (sessions >= PROVEN_SESSIONS or not proven))
    loose = (key[:2] in ("c:", "t:", "e:", "w:") or key.startswith("py:")) and not (missing or key.startswith(_WANTED))
    least = _LOOSE_SHARE if loose else _SHARE if strong(form) and key[:2] != "c:" else _WEAK_SHARE
    if not proven:
        return share >= least
    if form.startswith(("suppress ", "silence ")):
        return share >= least  # and it is the project's way
    return share >= least and sessions >= (_LOOSE_SESSIONS if loose and share < _ONCE_SHARE else PROVEN_SESSIONS)


def _is_own(key: str, form: str) -> bool:
    """Tell whether a fix, where it switches a rule off, does so with the one that found it: another one's was silenced
    along with a fix of this."""
    return not form.startswith("suppress ") or f":{form.rpartition(':')[2]}:" in f":{key}:"


def _is_exact(key: str, form: str) -> bool:
    """Tell whether a mark switches off what a finding is known by, and no more: of `//nolint:gosec` nobody can say
    which of gosec's rules it was for, so elsewhere it speaks for none of them."""
    return key.rstrip(":").rpartition(":")[2] == form.rpartition(":")[2]


def _is_way(form: str, sessions: AbstractSet[str], ways: Mapping[str, AbstractSet[str]], *, often: bool) -> bool:
    """Tell whether a project switches a rule off often enough that this is its way; of any other fix, that it may be
    told."""
    if not form.startswith(("suppress ", "silence ")):
        return True
    return (often or len(sessions) >= PROVEN_SESSIONS) and len(sessions | ways.get(form, frozenset())) >= _WAY_SESSIONS


def _is_another_name(missing: str, value: str) -> bool:
    """Tell whether a missing name is called otherwise wherever it is used (`cart.Total`, `Cart`): no variable of one
    place, and not the same name from elsewhere, to which it may just have been moved."""
    shared = re.search(r"[.:]", missing) is not None or missing[:1].isupper()
    return shared and re.split(r"[.:]", missing)[-1] != re.split(r"[.:]", value)[-1]
