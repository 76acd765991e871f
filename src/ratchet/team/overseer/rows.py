"""Watches and interventions as rows of the store."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass, replace

from ratchet import ids
from ratchet.failures.redaction.text import clean
from ratchet.ports import Store
from ratchet.records import as_row, record_of
from ratchet.store.timeline import note
from ratchet.team.overseer.judging import Action, Judgement, Sight, Sighted

_REASON = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectWatch:
    """Memory of running work between two looks. `trouble` names what goes wrong, `met` how often it had been met at the
    last action, `taken` what was done about it so far."""

    id: str
    session: str = ""
    next_at: float = 0.0
    interval_s: float = 0.0
    steps: int = 0
    trouble: str = ""
    met: int = 0
    taken: tuple[Action, ...] = ()
    asked: bool = False
    """Whether a person was asked to have a look."""
    last: str = ""
    """The intervention whose effect is not known yet."""
    at: float = 0.0
    revision: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervention:
    """Something that the overseer did, or left undone since a second opinion spoke against it (`action` is None then).
    `effect` is filled in at a later look."""

    id: str
    session: str
    subject: str
    judgement: Judgement
    action: Action | None = None
    reason: str = ""
    said: str = ""
    """What the work was told."""
    opinion: str = ""
    effect: str = ""
    at: float = 0.0
    effect_at: float = 0.0
    revision: int = 0


def watch(store: Store, sight: Sight) -> SubjectWatch:
    """The watch over some work; a new one where it is seen for the first time."""
    row = store.get("watches", sight.key)
    return SubjectWatch(id=sight.key, session=sight.id) if row is None else record_of(SubjectWatch, row)


def keep(store: Store, held: SubjectWatch) -> bool:
    """Write what was seen; False where another overseer looked meanwhile."""
    return store.swap("watches", held.id, held.revision, as_row(held))


def intervened(
    store: Store, sight: Sight, judged: Sighted, action: Action | None, *, said: str = "", opinion: str = ""
) -> Intervention:
    """Write down what is done now, and note it for people."""
    now = time.time()
    done = Intervention(
        id=f"i{ids.uuid7().replace('-', '')[:20]}",
        session=sight.id,
        subject=sight.key,
        judgement=judged.judgement,
        action=action,
        reason=clean(judged.reason, _REASON),
        said=clean(said, _REASON),
        opinion=clean(opinion, _REASON),
        at=now,
    )
    with store.transaction():
        store.swap("interventions", done.id, 0, as_row(done))
        note(store, "watch", sight.id, action or "left alone", now, about=sight.kind, reason=done.reason)
    return replace(done, revision=1)


def effect(store: Store, intervention: str, said: str) -> None:
    """Write down what became of it; once."""
    row = store.get("interventions", intervention)
    if row is None or row.get("effect"):
        return
    held = record_of(Intervention, row)
    told = replace(held, effect=said, effect_at=time.time())
    store.swap("interventions", intervention, held.revision, as_row(told))


def interventions(store: Store, *, limit: int | None = None) -> list[Intervention]:
    """Interventions, newest first."""
    return [record_of(Intervention, row) for row in store.find("interventions", order=("-at",), limit=limit).rows]


def note_ended(store: Store, running: Collection[str]) -> None:
    """Write down of work that runs no more that its last intervention was followed by its end."""
    for row in store.find("watches", {"last": (">", "")}).rows:
        held = record_of(SubjectWatch, row)
        if held.id not in running:
            effect(store, held.last, "it has ended")
            keep(store, replace(held, last=""))
