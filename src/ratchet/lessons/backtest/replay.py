"""Replay sessions in time order: at each failure, what was known before that session, and how the failure then ended.

Known are the sessions of the same project that had ended when this one began. Pure, and the same in any order of
reading. Costs what the asked lessons cost: one is computed when a failure first asks for it after its evidence grew.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Literal

from ratchet.failures.missing_names import name_in
from ratchet.lessons import paths
from ratchet.lessons.grounding import answers, says
from ratchet.lessons.mining.drafts import Draft, draft, group_of
from ratchet.lessons.mining.evidence import SESSIONS_LOOKED_AT, FixVerdict
from ratchet.lessons.mining.habits import HeadRun, ProjectRuns
from ratchet.lessons.mining.imported import ImportSource, import_sources
from ratchet.lessons.mining.mining import Resolution
from ratchet.lessons.mining.triggers import lesson_id_of
from ratchet.lessons.origins import GROUP

OFFERED = 3  # lessons that a failing turn is handed at most: more do not fit into its text
_RIVALS = 400  # newest failures of one finding that are looked at for what else ended them
_SHOWN_BY_FAILURE = frozenset(("flag", "form", "never"))  # remedies that the failure alone proves right

OfferVerdict = Literal["right", "wrong", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PastFailure:
    """One failing call of a session. `keys` are its findings, `away` says that the shell stood elsewhere than where the
    session began."""

    id: str
    at: float
    thread: str
    tool: str
    asked: str
    message: str
    keys: tuple[str, ...]
    away: bool = False
    imports: tuple[str, ...] = ()  # keys of the names that they miss (`missing_names.import_key`)
    missing: str = ""  # the path of which its message says that it is not there, and no more
    then: tuple[str, ...] = ()  # files that were opened next where a path was missing, as the project names them


@dataclass(frozen=True, slots=True, kw_only=True)
class PastSession:
    """One session as it was stored: its failing calls, what ended them, and what it ran."""

    session: str
    project: str
    begun: float
    ended: float
    failed: tuple[PastFailure, ...]
    resolved: tuple[Resolution, ...]
    ran: tuple[HeadRun, ...]
    opened: Mapping[str, int] = field(default_factory=dict)  # how often each file was opened


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedOffer:
    """One lesson that a session would have been handed, at the first failure that asks for it. `sessions` is how many
    sessions it had worked in by then; `again` are the later failing calls that show the same finding, up to the fix
    that it names (none of a wrong one)."""

    lesson_id: str
    session: str
    failure: str
    at: float
    key: str
    text: str
    sessions: int
    verdict: OfferVerdict
    again: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedSession:
    """One session with all that it would have been told. `recurring` counts failures that an earlier session had met,
    `answered` those at which a lesson is offered; `repeats` are the known failing steps that it ran literally, each
    with what telling the lesson before it would have been. `spared` are the failing calls of which right lessons had
    answered every finding by then, `spared_before` those of which they answer every finding, told before the step."""

    session: str
    project: str
    begun: float
    failures: int
    recurring: int
    answered: int
    offers: tuple[ReplayedOffer, ...]
    repeats: tuple[OfferVerdict, ...]
    spared: tuple[str, ...]
    spared_before: tuple[str, ...]


def replayed(
    sessions: Iterable[PastSession], before: Mapping[str, ReplayedSession] | None = None
) -> Iterator[ReplayedSession]:
    """Replay the sessions, which come in order of their begin. Those of `before` are taken as they were replayed
    before, and only learnt."""
    done = before or {}
    known: dict[str, _LearntSoFar] = {}
    waiting: list[tuple[float, str, PastSession]] = []
    for now in sessions:
        while waiting and waiting[0][0] < now.begun:
            over = heapq.heappop(waiting)[2]
            known.setdefault(over.project, _LearntSoFar(over.project)).learn(over)
        learnt = known.setdefault(now.project, _LearntSoFar(now.project))
        yield done.get(now.session) or _asked(learnt, now)
        heapq.heappush(waiting, (now.ended, now.session, now))


@dataclass(slots=True)
class _Group:
    """Evidence of one lesson, and what it made of how much of it (`at`)."""

    own: list[Resolution] = field(default_factory=list)
    sessions: dict[str, None] = field(default_factory=dict)  # in order; a lesson looks at the newest ones alone
    made: Draft | None = None
    at: tuple[str, str] = ("", "")


class _LearntSoFar:
    """All that the sessions of one project taught so far."""

    def __init__(self, project: str) -> None:
        self._project = project
        self._groups: dict[str, _Group] = {}
        self._by_key: dict[str, list[str]] = {}
        self._by_form: dict[str, list[str]] = {}
        self._rivals: dict[str, list[Resolution]] = {}
        self._runs = ProjectRuns()
        self._sources: dict[str, ImportSource] | None = None
        self._sessions = 0
        self._opened: Counter[str] = Counter()
        self._missed = False
        self._met: set[str] = set()

    def learn(self, session: PastSession) -> None:
        self._sessions += 1
        self._sources = None
        self._runs.add(session.session, session.ran)
        self._opened.update(session.opened)
        self._missed = self._missed or any(call.missing for call in session.failed)
        for call in session.failed:
            self._met.update(call.keys)
        for each in session.resolved:
            for key in each.keys:
                held = self._rivals.setdefault(key, [])
                held.append(each)
                if len(held) > 2 * _RIVALS:
                    del held[:-_RIVALS]
            group = group_of(each)
            if not group:
                continue
            found = self._groups.setdefault(group, _Group())
            found.own.append(each)
            found.sessions.setdefault(each.session)
            if len(found.sessions) > 2 * SESSIONS_LOOKED_AT:
                newest = list(found.sessions)[-SESSIONS_LOOKED_AT:]
                found.sessions = dict.fromkeys(newest)
                found.own = [one for one in found.own if one.session in found.sessions]
            for key in each.keys:
                _note(self._by_key, key, group)
            if each.way == "step" and each.plain:
                _note(self._by_form, each.plain, group)

    def met(self, call: PastFailure) -> bool:
        """Tell whether a finding of the call was met before."""
        return not self._met.isdisjoint(call.keys)

    def for_failure(self, call: PastFailure) -> list[tuple[str, Draft]]:
        """The lessons for a failure as a hook finds them by its findings: in their order, the surest first."""
        found: dict[str, Draft] = {}
        for key in call.keys:
            made = [(group, each) for group in self._by_key.get(key, ()) if (each := self._active(group)) is not None]
            made.sort(key=lambda each: (-each[1].verdict.worked, -each[1].verdict.tried, each[0]))
            for group, each in made:
                if key in each.keys and _fits(group, each, call):
                    found.setdefault(group, each)
        imported = self._imported(call, {name_in(key) for each in found.values() for key in each.keys})
        if imported is not None:
            found[GROUP] = imported
        if self._missed and (placed := self._placed(call)) is not None:
            found[f"{paths.GROUP} {call.missing}"] = placed
        return list(found.items())[:OFFERED]

    def _placed(self, call: PastFailure) -> Draft | None:
        """Say where a missing path may be, by what was opened."""
        text, files = paths.told(paths.folders_of(self._opened), call.missing, "") if call.missing else ("", [])
        if not text:
            return None
        verdict = FixVerdict(state="active", forms=(frozenset(files),), text=text)
        return Draft(group=paths.GROUP, keys=(call.missing,), when="", verdict=verdict, seen=())

    def _imported(self, call: PastFailure, told: AbstractSet[str]) -> Draft | None:
        """Say whence the names are imported that a failure misses, but for those of which another lesson tells."""
        if self._sources is None:
            self._sources = import_sources(self._runs.imported) if call.imports else None
        known = self._sources or {}
        found = [known[key] for key in call.imports if key in known and known[key].name not in told]
        if not found:
            return None
        names = {each.name for each in found}
        forms = tuple(frozenset((f"import {each.module}",)) for each in found)
        text, sessions = " ".join(each.text for each in found), max(each.sessions for each in found)
        verdict = FixVerdict(state="active", forms=forms, text=text, tried=sessions, worked=sessions)
        keys = tuple(key for key in call.keys if name_in(key) in names)
        return Draft(group=GROUP, keys=keys, when="", verdict=verdict, seen=())

    def for_step(self, form: str) -> list[str]:
        """The groups of the lessons whose failed step this was, literally."""
        return [group for group in self._by_form.get(form, ()) if self._active(group) is not None]

    def _active(self, group: str) -> Draft | None:
        held = self._groups[group]
        stamp = held.own[-1].id, str(self._sessions)
        if held.at != stamp:
            others = () if group.startswith("edit ") else self._others(held.own)
            held.made, held.at = draft(group, held.own, others, self._runs), stamp
        made = held.made
        return made if made is not None and made.verdict.state == "active" else None

    def _others(self, own: Sequence[Resolution]) -> list[Resolution]:
        keys = sorted({key for each in own for key in each.keys})
        found = {each.id: each for key in keys for each in self._rivals.get(key, ())}
        newest = sorted(found.values(), key=lambda each: (-each.at, each.id))
        return newest[:_RIVALS]


def _note(table: dict[str, list[str]], name: str, group: str) -> None:
    held = table.setdefault(name, [])
    if group not in held:
        held.append(group)


def _fits(group: str, lesson: Draft, call: PastFailure) -> bool:
    """Tell whether a hook would say it here: it is about this step, and not what the message says itself."""
    if group.startswith("edit "):
        return not lesson.verdict.says_itself
    held = {**lesson.asks, "rule": lesson.seen[-1].rule, "group": group}
    if not answers(held, message=call.message, tool=call.tool, asked=call.asked, away=call.away):
        return False
    return not says(lesson.verdict.text, call.message)


def _asked(known: _LearntSoFar, now: PastSession) -> ReplayedSession:
    offers: dict[str, ReplayedOffer] = {}
    told = _Answered(now.failed)
    recurring = answered = 0
    for call in sorted(now.failed, key=lambda each: (each.at, each.id)):
        recurring += known.met(call)
        found = known.for_failure(call)
        answered += bool(found)
        for group, lesson in found:
            if group not in offers:
                offers[group] = offer = _offer(group, lesson, call, now)
                if offer.verdict == "right":
                    told.add(offer, lesson.keys)
    repeats: list[OfferVerdict] = []
    for run in sorted(now.ran, key=lambda each: (each.head, each.form)):
        for group in known.for_step(run.form):
            right = group in offers and offers[group].verdict == "right"
            repeats.append("right" if run.failed and right else "unknown" if run.failed else "wrong")
    return ReplayedSession(
        session=now.session,
        project=now.project,
        begun=now.begun,
        failures=len(now.failed),
        recurring=recurring,
        answered=answered,
        offers=tuple(offers.values()),
        repeats=tuple(repeats),
        spared=told.wholly(before=False),
        spared_before=told.wholly(before=True),
    )


class _Answered:
    """Of each failing call the findings that right lessons answer."""

    def __init__(self, failed: Sequence[PastFailure]) -> None:
        self._keys = {call.id: frozenset(call.keys) for call in failed}
        self._first: dict[str, set[str]] = {}  # told at this very call
        self._later: dict[str, set[str]] = {}  # told at an earlier one

    def add(self, offer: ReplayedOffer, keys: Sequence[str]) -> None:
        self._first.setdefault(offer.failure, set()).update(keys)
        for name in offer.again:
            self._later.setdefault(name, set()).update(keys)

    def wholly(self, *, before: bool) -> tuple[str, ...]:
        """The calls all of whose findings are answered: by lessons told earlier, and with `before` by all."""
        none: set[str] = set()
        names = self._first.keys() | self._later.keys() if before else self._later.keys()
        return tuple(
            name
            for name in sorted(names)
            if self._keys[name] <= self._later.get(name, none) | (self._first.get(name, none) if before else none)
        )


def _offer(group: str, lesson: Draft, call: PastFailure, now: PastSession) -> ReplayedOffer:
    about, right = _ended(group, lesson, call, now)
    known, fits = bool(about), bool(right)
    if lesson.group == paths.GROUP:
        known, fits = bool(call.then), any(paths.is_told(file, lesson.verdict.forms[0]) for file in call.then)
    return ReplayedOffer(
        lesson_id=lesson_id_of("mined", now.project, lesson.group),
        session=now.session,
        failure=call.id,
        at=call.at,
        key=next((key for key in call.keys if key in lesson.keys), call.missing),
        text=lesson.verdict.text,
        sessions=lesson.verdict.worked or lesson.verdict.tried,
        verdict="right" if fits else "wrong" if known else "unknown",
        again=_again(right, call, now),
    )


def _ended(
    group: str, lesson: Draft, call: PastFailure, now: PastSession
) -> tuple[Sequence[Resolution], Sequence[Resolution]]:
    """List what ended a lesson's findings in this session, and those of it that are what it says."""
    since = [each for each in now.resolved if each.at >= call.at]
    about = [each for each in since if each.worked and not set(lesson.keys).isdisjoint(each.keys)]
    if group == GROUP or group.startswith("edit "):
        about = [each for each in about if each.way == "edit" and (each.added or each.forms)]
        return about, [each for each in about if any(forms & set(each.forms) for forms in lesson.verdict.forms)]
    right = [each for each in since if group_of(each) == group and (each.worked or each.rule in _SHOWN_BY_FAILURE)]
    return about, right


def _again(right: Sequence[Resolution], first: PastFailure, now: PastSession) -> tuple[str, ...]:
    """The failing calls behind the first one that show the same finding, up to where the right fix ended it."""
    found = {
        each.id
        for end in right
        for each in now.failed
        if each.id != first.id
        and each.thread == first.thread
        and first.at <= each.at <= end.at
        and not set(each.keys).isdisjoint(end.keys)
    }
    return tuple(sorted(found))
