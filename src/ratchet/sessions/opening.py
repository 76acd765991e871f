"""Opens a session: a part of its steps with all that belongs to them, read by index however long it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ratchet.errors import NotFound
from ratchet.failures.health import EXCUSED
from ratchet.failures.patterns.ingest import DERIVED
from ratchet.recording.sources.otlp_ids import PARENT
from ratchet.recording.texts import RESULT_CHARS, results_of
from ratchet.records import Json, Outcome, Row, Saying, number_in, outcome_of, record_of, text_in, whole_in
from ratchet.sessions.listing import summaries, tokens_of
from ratchet.sessions.mending import Mended, mended
from ratchet.sessions.prices import Prices
from ratchet.sessions.session import LessonMet, OutcomeDetail, SessionDetail, SessionStep, SessionThread

if TYPE_CHECKING:
    from ratchet.ports import Store, Where

SUBAGENTS = ("Task", "Agent")
_ASKED_AT_ONCE = 500
_BESIDE = 3  # steps before and after one that is looked at


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedSteps:
    """A part of a session's steps."""

    thread: str | None = None
    at: str = ""
    limit: int = 100
    cursor: str | None = None
    failed: bool = False


def opened(store: Store, row: Row, asked: AskedSteps, prices: Prices, *, now: float) -> SessionDetail:
    """The session that a row counts, with the steps that are asked for."""
    session = text_in(row, "session")
    where: dict[str, Json | tuple[str, Json]] = {"session": session}
    if asked.thread is not None:
        where["thread"] = asked.thread or None
    every = dict(where)
    if asked.failed:
        where["ok"] = False
    first = 1
    if asked.at:
        began = _began(store, session, asked.at)
        first += _count(store, {**where, "started_at": ("<", began)})
        where["started_at"] = (">=", began)
    page = store.find("outcomes", where, order=("started_at",), limit=asked.limit, cursor=asked.cursor)
    if asked.cursor and page.rows:
        first += _count(store, {**where, "started_at": ("<", page.rows[0]["started_at"])})
    outcomes = [outcome_of(each) for each in page.rows]
    lessons = lessons_met(store, session)
    fixes = mended(store, session)
    steps = steps_of(store, outcomes, prices, lessons, fixes)
    around = _depths(store, outcomes)
    places = [*range(first, first + len(steps))]
    if asked.failed:  # others stand between them
        places = [1 + _count(store, {**every, "started_at": ("<", each.started_at)}) for each in outcomes]
    return SessionDetail(
        summary=next(iter(summaries(store, [row], prices, now=now))),
        threads=_threads(store, row),
        lessons=tuple(met for each in lessons.values() for met in each),
        steps=tuple(
            replace(step, number=place, depth=around.get(step.outcome.id, 0))
            for place, step in zip(places, steps, strict=True)
        ),
        said=()
        if asked.failed
        else _said(store, session, outcomes, whole=not asked.cursor and not asked.at, ends=page.cursor is None),
        next=page.cursor,
        unfixed=fixes.unfixed,
    )


def step(store: Store, outcome: Outcome, prices: Prices) -> OutcomeDetail:
    """One outcome, with the steps beside it in its session."""
    lessons = lessons_met(store, outcome.session) if outcome.session else {}
    fixes = mended(store, outcome.session)
    found = next(iter(steps_of(store, [outcome], prices, lessons, fixes, limit=RESULT_CHARS)))
    text = results_of(store, [outcome], limit=1).get(outcome.id)
    before: list[Outcome] = []
    after: list[Outcome] = []
    number = 1
    if outcome.session:
        beside: dict[str, Json | tuple[str, Json]] = {"session": outcome.session, "thread": outcome.thread or None}
        earlier = {**beside, "started_at": ("<", outcome.started_at)}
        number += _count(store, earlier)
        before = _outcomes(store, earlier, "-started_at")[::-1]
        after = _outcomes(store, {**beside, "started_at": (">", outcome.started_at)}, "started_at")
    return OutcomeDetail(
        step=replace(found, number=number),
        path=text.path if text else "",
        before=tuple(before),
        after=tuple(after),
    )


def steps_of(
    store: Store,
    outcomes: Sequence[Outcome],
    prices: Prices,
    lessons: dict[str, list[LessonMet]],
    fixes: Mended,
    *,
    limit: int | None = None,
) -> list[SessionStep]:
    """These outcomes of one session, whose `fixes` are known, with what belongs to each; one query a table, whatever
    their number."""
    keys: Json = [each.id for each in outcomes]
    used = {text_in(row, "step"): row for row in store.find("message_tokens", {"step": ("in", keys)}).rows}
    signatures: Json = [*{each.failure.signature for each in outcomes if each.failure}]
    patterns = {
        text_in(row, "signature"): text_in(row, "pattern")
        for row in store.find("signatures", {"signature": ("in", signatures)}).rows
    }
    texts = results_of(store, outcomes) if limit is None else results_of(store, outcomes, limit=limit)
    lost: Json = [key for key, text in texts.items() if text.found != "read"]
    kept = {text_in(row, "id"): text_in(row, "result") for row in store.find("steps", {"id": ("in", lost)}).rows}
    found = []
    for each in outcomes:
        row, text, own = used.get(each.id, {}), texts.get(each.id), kept.get(each.id, "")
        tokens = tokens_of(row)
        found.append(
            SessionStep(
                number=0,
                outcome=each,
                pattern=patterns.get(each.failure.signature, "") if each.failure else "",
                result=own or (text.text if text else ""),
                place="kept" if own else text.found if text else "none",
                tokens=tokens,
                cost_usd=prices.of(text_in(row, "model"), tokens) if row else each.cost_usd,
                fixed_by=fixes.worked.get(each.id, ""),
                fixes=tuple(fixes.failed.get(each.id, ())),
                lessons=tuple(lessons.get(each.id, ())),
                taught=tuple(fixes.taught.get(each.id, ())),
                began=str(each.context.get("began") or ""),
            )
        )
    return found


def _depths(store: Store, outcomes: Sequence[Outcome]) -> dict[str, int]:
    """Outcome -> how many others of its trace are around it; those that nothing is around are left out."""
    parents = {each.id: parent for each in outcomes if (parent := text_in(each.context, PARENT))}
    known = {each.id for each in outcomes} | parents.keys()
    while missing := list(set(parents.values()) - known)[:_ASKED_AT_ONCE]:
        known.update(missing)
        for row in store.find("outcomes", {"id": ("in", [*missing])}).rows:
            if parent := text_in(row.get("context"), PARENT):
                parents[text_in(row, "id")] = parent
    found: dict[str, int] = {}
    for each in outcomes:
        name, passed = each.id, {each.id}
        while (name := parents.get(name, "")) and name not in passed:
            passed.add(name)
        if len(passed) > 1:
            found[each.id] = len(passed) - 1
    return found


def lessons_met(store: Store, session: str) -> dict[str, list[LessonMet]]:
    """The lessons that a session was shown, or that were withheld from it, by the step that asked for them ("": none
    did), oldest first."""
    rows = store.find("exposures", {"session": session}, order=("at",)).rows
    known = {
        text_in(row, "id"): text_in(row, "text")
        for row in store.find("lessons", {"id": ("in", [*{text_in(row, "trial") for row in rows}])}).rows
    }
    found: dict[str, list[LessonMet]] = {}
    for row in rows:
        lesson = text_in(row, "trial")
        if lesson in known:
            met = LessonMet(
                lesson=lesson,
                text=known[lesson],
                shown=row.get("arm") == "new",
                at=number_in(row, "at"),
                channel=text_in(row, "channel"),
            )
            found.setdefault(text_in(row, "trigger"), []).append(met)
    return found


def _threads(store: Store, tally: Row) -> tuple[SessionThread, ...]:
    """The threads of the session that a row counts: each step is looked at only where there are several."""
    session = text_in(tally, "session")
    if not text_in(store.sum_by("outcomes", (), ("max:thread",), {"session": session})[0], "max:thread"):
        calls, failures, began = whole_in(tally, "calls"), whole_in(tally, "failures"), number_in(tally, "min_at")
        return (SessionThread(name="", calls=calls, failures=failures, started_at=began, started_by=""),)
    return _several(store, session)


def _several(store: Store, session: str) -> tuple[SessionThread, ...]:
    calls: dict[str, int] = {}
    failures: dict[str, int] = {}
    began: dict[str, float] = {}
    sums = ("count:*", "min:started_at")
    for row in store.sum_by("outcomes", ("thread", "ok"), sums, {"session": session}):
        name, count = text_in(row, "thread"), whole_in(row, "count:*")
        calls[name] = calls.get(name, 0) + count
        failures[name] = failures.get(name, 0) + (0 if row.get("ok") else count)
        began[name] = min(began.get(name, float("inf")), number_in(row, "min:started_at"))
    failed: Where = {"session": session, "ok": False}
    for row in store.sum_by("outcomes", ("thread", "source", "kind"), ("count:*",), failed):
        name, count, derived = text_in(row, "thread"), whole_in(row, "count:*"), text_in(row, "source") == DERIVED
        calls[name] -= count if derived else 0
        failures[name] -= count if derived or text_in(row, "kind") in EXCUSED else 0
    by = _beginnings(store, session) if len(calls) > 1 else {}
    found = [
        SessionThread(
            name=name,
            calls=calls[name],
            failures=failures[name],
            started_at=began[name],
            started_by=by.get(name, ""),
        )
        for name in calls
    ]
    return tuple(sorted(found, key=lambda each: (each.name != "", each.started_at, each.name)))


def _beginnings(store: Store, session: str) -> dict[str, str]:
    """Thread of a subagent -> the step that started it."""
    rows = store.find("outcomes", {"session": session, "task": ("in", [*SUBAGENTS])}).rows
    return {text_in(row.get("context"), "began"): text_in(row, "id") for row in rows}


def _began(store: Store, session: str, outcome_id: str) -> float:
    row = store.get("outcomes", outcome_id)
    if row is None or row.get("session") != session:
        raise NotFound(f"session {session} has no step {outcome_id}")
    return number_in(row, "started_at")


def _count(store: Store, where: dict[str, Json | tuple[str, Json]]) -> int:
    return whole_in(store.sum_by("outcomes", (), ("count:*",), where)[0], "count:*")


def _outcomes(store: Store, where: dict[str, Json | tuple[str, Json]], order: str) -> list[Outcome]:
    return [outcome_of(row) for row in store.find("outcomes", where, order=(order,), limit=_BESIDE).rows]


def _said(store: Store, session: str, outcomes: Sequence[Outcome], *, whole: bool, ends: bool) -> tuple[Saying, ...]:
    """Words said in the time of these steps: from the session's beginning where they are its first, to its end
    where they are its last."""
    rows = store.find("sayings", {"session": session}, order=("at",)).rows
    start = float("-inf") if whole or not outcomes else outcomes[0].started_at
    end = float("inf") if ends or not outcomes else outcomes[-1].started_at
    return tuple(
        record_of(Saying, row, project=text_in(row, "folder")) for row in rows if start <= number_in(row, "at") <= end
    )
