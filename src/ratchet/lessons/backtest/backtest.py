"""Count what lessons would have saved, had they been known from the first session on: the proof on one's own data."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ratchet.failures.programs import called
from ratchet.lessons.backtest.counted import KeptCounts, Saving
from ratchet.lessons.backtest.counted import counted as count
from ratchet.lessons.backtest.pasts import pasts
from ratchet.lessons.backtest.replay import ReplayedOffer, ReplayedSession, replayed
from ratchet.records import Row, as_row, record_of, text_in, whole_in

if TYPE_CHECKING:
    from ratchet.ports import Progress, Store

SHOWN = 5  # best and worst offers that are named
_EVIDENCE_ASKED = (2, 3, 4, 5)  # sessions from which on a lesson could be asked to be trusted
ASSUMED = (
    "an agent that is told a right lesson follows it; one that is told a wrong one loses nothing but the words",
    "a failing call is spared if right lessons answer every finding in it; work between it and the fix is not counted",
    "a tool that waits for a person takes 1 s, a pause at most 120 s, a call at most 600 s; side by side counts once",
    "tokens cost what cached input costs, so the money is the least that it was",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BacktestOffer:
    """One offer of a lesson, in the session and at the failing step that would have been handed it. `turns` counts the
    failing calls whose finding it ends; `right` and `wrong` how the lesson did in all sessions of the replay."""

    lesson: str
    session: str
    outcome: str
    at: float
    step: str
    key: str
    text: str
    verdict: str
    turns: int
    right: int = 0
    wrong: int = 0

    @property
    def is_bad(self) -> bool:
        """Tell whether the lesson was wrong more often than right: then it is better retired."""
        return self.wrong > self.right


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedAfter:
    """The offers, had a lesson been trusted only after it worked in `sessions` sessions."""

    sessions: int
    right: int
    wrong: int
    unknown: int
    turns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Backtest:
    """Counts of a replay. `failures` are the agents' own; `recurring` of them an earlier session had met; at `offered`
    at least one lesson is told, at the other `silent` ones none. `right`, `wrong` and `unknown` count lessons, once a
    session. `saved` is what right ones would have spared told at the failure, `saved_before` told before it, which
    spares the first failing call, too. `repeats` of a known failing step: `repeats_right` failed again,
    `repeats_wrong` worked after all."""

    since: float
    until: float
    sessions: int
    failures: int
    recurring: int
    offered: int
    silent: int
    right: int
    wrong: int
    unknown: int
    repeats_right: int
    repeats_wrong: int
    saved: Saving
    saved_before: Saving
    best: tuple[BacktestOffer, ...]
    worst: tuple[BacktestOffer, ...]
    trusted_after: tuple[TrustedAfter, ...]
    assumed: tuple[str, ...] = ASSUMED
    kept_at: float = field(default=0.0, compare=False)
    """When a replay of the whole store was kept (Unix seconds)."""


def backtest(
    store: Store, progress: Progress | None = None, *, since: float = 0.0
) -> tuple[Backtest, Mapping[str, Row]]:
    """Replay the sessions of a store; count those that began at `since` (Unix seconds) or later. One that was killed
    goes on where it was. Also returns what to note with each lesson that was offered. Raises StoreError."""
    kept_counts = KeptCounts(store)
    before = {name: each.session for name, each in kept_counts.known.items()}
    counted: list[ReplayedSession] = []
    saved = saved_before = Saving()
    for session in replayed(pasts(store, progress), before):
        if session.begun < since or not (session.failures or session.repeats):
            continue
        found = kept_counts.known.get(session.session)
        if found is None:
            found = count(store, session)
            kept_counts.add(found)
        counted.append(session)
        saved, saved_before = saved.plus(found.saved), saved_before.plus(found.saved_before)
    kept_counts.forget()
    return _summed(store, counted, saved, saved_before, since)


def _summed(
    store: Store, counted: Sequence[ReplayedSession], saved: Saving, saved_before: Saving, since: float
) -> tuple[Backtest, Mapping[str, Row]]:
    offers = [offer for session in counted for offer in session.offers]
    verdicts = Counter(offer.verdict for offer in offers)
    repeats = Counter(verdict for session in counted for verdict in session.repeats)
    found = Backtest(
        since=counted[0].begun if counted else since,
        until=max((session.begun for session in counted), default=since),
        sessions=len(counted),
        failures=sum(session.failures for session in counted),
        recurring=sum(session.recurring for session in counted),
        offered=sum(session.answered for session in counted),
        silent=sum(session.failures - session.answered for session in counted),
        right=verdicts["right"],
        wrong=verdicts["wrong"],
        unknown=verdicts["unknown"],
        repeats_right=repeats["right"],
        repeats_wrong=repeats["wrong"],
        saved=saved,
        saved_before=saved_before,
        best=_shown(store, offers, "right"),
        worst=_shown(store, offers, "wrong"),
        trusted_after=tuple(_trusted(offers, sessions) for sessions in _EVIDENCE_ASKED),
    )
    return found, _by_lesson(offers)


def keep(store: Store, found: Backtest, by_lesson: Mapping[str, Row]) -> None:
    """Note a replay of the whole store: the report itself, and with each lesson what it would have saved. A lesson that
    another process changes meanwhile is left for the next replay. Raises StoreError."""
    with store.transaction():
        held = store.get("meta", _KEPT) or {}
        store.swap("meta", _KEPT, whole_in(held, "revision"), {"report": as_row(replace(found, kept_at=time.time()))})
        noted = store.find("lessons", {"scope": "project"}).rows
        for row in noted:
            told = by_lesson.get(str(row["id"]), {"saved_turns": 0})
            if row.get("group") and any(row.get(name, 0) != value for name, value in told.items()):
                store.swap("lessons", str(row["id"]), whole_in(row, "revision"), {**row, **told})


def kept(store: Store) -> Backtest | None:
    """The newest replay of the whole store, None where there was none. Raises StoreError."""
    held = (store.get("meta", _KEPT) or {}).get("report")
    return record_of(Backtest, held) if isinstance(held, dict) else None


_KEPT = "backtest"


def _trusted(offers: Iterable[ReplayedOffer], sessions: int) -> TrustedAfter:
    left = [offer for offer in offers if offer.sessions >= sessions]
    verdicts = Counter(offer.verdict for offer in left)
    return TrustedAfter(
        sessions=sessions,
        right=verdicts["right"],
        wrong=verdicts["wrong"],
        unknown=verdicts["unknown"],
        turns=sum(_turns(offer) for offer in left),
    )


def _by_lesson(offers: Iterable[ReplayedOffer]) -> dict[str, Row]:
    found: dict[str, Row] = {}
    for offer in offers:
        row = found.setdefault(offer.lesson_id, {"saved_turns": 0})
        row["saved_turns"] = whole_in(row, "saved_turns") + _turns(offer)
    return found


def _turns(offer: ReplayedOffer) -> int:
    """Failing calls whose finding a lesson ends."""
    return 1 + len(offer.again) if offer.verdict == "right" else 0


def _ran(store: Store, outcome: str) -> str:
    """The step of an outcome, by its tool and its input."""
    step = (store.get("outcomes", outcome) or {}).get("step")
    return called(text_in(step, "tool"), text_in(step, "input"))


def _shown(store: Store, every: Sequence[ReplayedOffer], verdict: str) -> tuple[BacktestOffer, ...]:
    """The offers of a verdict that weigh most, one a lesson: by what they save, by how often it was offered, then the
    newest."""
    ended = Counter((offer.lesson_id, offer.verdict) for offer in every)
    offers = [offer for offer in every if offer.verdict == verdict]
    often = Counter(offer.lesson_id for offer in offers)
    weighed = sorted(
        offers, key=lambda each: (-_turns(each), -often[each.lesson_id], -each.at, each.session, each.lesson_id)
    )
    first: dict[str, ReplayedOffer] = {}
    for offer in weighed:
        first.setdefault(offer.lesson_id, offer)
    return tuple(
        BacktestOffer(
            lesson=offer.lesson_id,
            session=offer.session,
            outcome=offer.failure,
            at=offer.at,
            step=_ran(store, offer.failure),
            key=offer.key,
            text=offer.text,
            verdict=offer.verdict,
            turns=_turns(offer),
            right=ended[offer.lesson_id, "right"],
            wrong=ended[offer.lesson_id, "wrong"],
        )
        for offer in list(first.values())[:SHOWN]
    )
