"""Lists the runs that met a trial, newest first, each with the outcome that told of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ratchet.records import Row, Trial, number_in, text_in

if TYPE_CHECKING:
    from ratchet.ports import Store, Where

SHOWN = 20
_LOOKED_AT = 50  # outcomes among which that of a run is looked for
_CLOCK_S = 0.1  # how far a call may be dated before it met the trial


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRun:
    """One run that met a trial: its arm, and whether it worked (None: not known yet). `outcome` is one that told
    of it, "" where none is found."""

    at: float
    new: bool
    ok: bool | None
    session: str
    outcome: str


def runs_of(store: Store, held: Trial) -> tuple[TrialRun, ...]:
    """The newest runs of a trial."""
    rows = store.find("exposures", {"trial": held.id}, order=("-at", "-unit"), limit=SHOWN).rows
    return tuple(
        TrialRun(
            at=number_in(row, "at"),
            new=row.get("arm") == "new",
            ok=bool(row.get("ok")) if row.get("settled") else None,
            session=text_in(row, "session"),
            outcome=_told_by(store, held.id, row),
        )
        for row in rows
    )


def _told_by(store: Store, trial: str, exposure: Row) -> str:
    """The outcome of a unit, among the first that began after it met the trial; "" where it is none of them."""
    since: Where = {"started_at": (">=", number_in(exposure, "at") - _CLOCK_S)}
    for row in store.find("outcomes", since, order=("started_at",), limit=_LOOKED_AT).rows:
        met = row.get("trials")
        if isinstance(met, dict) and met.get(trial) == exposure["unit"]:
            return text_in(row, "id")
    return ""
