"""Tells when the steps of a session ran, and how they ended: what a chart over its time is drawn from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ratchet.failures.health import EXCUSED
from ratchet.failures.patterns.ingest import DERIVED
from ratchet.records import number_in, text_in, whole_in

if TYPE_CHECKING:
    from ratchet.ports import Store

_EACH = 2_000  # steps: of a longer session the hours are told, whose sums are kept, not each step
_HOUR_S = 3_600.0


@dataclass(frozen=True, slots=True)
class StepMoment:
    """`count` steps that ended alike, from `at` on (Unix seconds): a "warn" is no fault of the agent's. `step` is the
    id of the one that began then, "" where an hour is told."""

    at: float
    ended: Literal["bad", "warn", "ok"]
    count: int
    step: str = ""


def moments(store: Store, session: str, calls: int) -> Iterator[StepMoment]:
    """The steps of a session of so many calls, in no order: each, or where they are many, those of each hour."""
    if calls > _EACH:
        for row in store.sum_by("spending", ("hour", "waste"), ("calls",), {"session": session}):
            at = _HOUR_S * whole_in(row, "hour")
            yield StepMoment(at, "bad" if text_in(row, "waste") else "ok", whole_in(row, "calls"))
        return
    columns = ("id", "started_at", "ok", "kind", "source")
    for row in store.sum_by("outcomes", columns, ("count:*",), {"session": session}):
        if text_in(row, "source") != DERIVED:
            ended = _ended(bool(row.get("ok")), text_in(row, "kind"))
            yield StepMoment(number_in(row, "started_at"), ended, 1, text_in(row, "id"))


def _ended(ok: bool, kind: str) -> Literal["bad", "warn", "ok"]:
    return "ok" if ok else "warn" if kind in EXCUSED else "bad"
