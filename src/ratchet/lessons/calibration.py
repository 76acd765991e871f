"""Chooses recall's thresholds on the memories that a home really has, without labels.

Each memory is asked about with everything taken out that would be right for it: itself, its signature, its pattern, its
advice. Whatever is found then is a false answer, so the scores found are those of unknown failures. The threshold is
the floor(alpha (m + 1))-th largest of m such scores: an unknown failure exceeds it with a probability of at most alpha
(split conformal prediction; Angelopoulos and Bates 2021, 1.1), as far as it is like those that are remembered. Clamped,
for a memory of one kind of text says little about others.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ratchet.lessons.finding import CALIBRATED, Bars, Sought, judged, quoted_names
from ratchet.lessons.recall import bars_of, candidates
from ratchet.records import Json, Row, text_in, whole_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ratchet.ports import Store, Where

LEAST, MOST = 50, 250  # memories of a form from which, and up to which, thresholds are chosen
LEAST_TRACES = 20
"""Of tracebacks fewer will do, and are needed sooner: how alike two causes look depends on the project's tests."""
ALPHA_LINES, ALPHA_TRACES = 0.02, 0.05
"""How many of unknown failures may be answered: one of 50 lines and outputs, one of 20 tracebacks."""
_CLAMPED = {"line": (0.90, 0.99), "trace": (0.30, 0.90), "whole": (0.85, 0.97)}
_STATES: Where = {"state": ("in", ["active", "candidate"])}
_GROWN = 1.1  # of memories: thresholds are chosen anew


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallPromise:
    """The share of unknown failures that recall answers at most, and the number of memories of each form on which that
    was chosen; below `LEAST` (`LEAST_TRACES`) the thresholds are those that come with Ratchet, measured on public
    sets."""

    lines: float
    traces: float
    lines_from: int
    traces_from: int


def promise_of(store: Store) -> RecallPromise:
    """The promise that holds in this store."""
    held = store.get("meta", CALIBRATED) or {}
    return RecallPromise(
        lines=ALPHA_LINES,
        traces=ALPHA_TRACES,
        lines_from=whole_in(held, "lines"),
        traces_from=whole_in(held, "traces"),
    )


def calibrate(store: Store) -> Bars:
    """Choose the thresholds anew if the memories have grown by a tenth since; return those in force. Raises
    StoreError."""
    held = store.get("meta", CALIBRATED) or {}
    counted = store.sum_by("lessons", (), ("count:*",), _STATES)
    known = whole_in(counted[0], "count:*") if counted else 0
    if known < LEAST_TRACES or known < _GROWN * whole_in(held, "memories"):
        return bars_of(store)
    scores = unknown_scores(store)
    kept: dict[str, Json] = {}
    for name, alpha in (("line", ALPHA_LINES), ("trace", ALPHA_TRACES), ("whole", ALPHA_LINES)):
        if len(scores[name]) >= (LEAST_TRACES if name == "trace" else LEAST):
            low, high = _CLAMPED[name]
            kept[name] = min(max(quantile(scores[name], alpha), low), high)
    row: Row = {"bars": kept, "memories": known, "lines": len(scores["line"]), "traces": len(scores["trace"])}
    store.swap("meta", CALIBRATED, whole_in(held, "revision"), row)
    return bars_of(store)


def quantile(scores: Sequence[float], alpha: float) -> float:
    """The least threshold that at most a share alpha of new scores reaches."""
    place = int(alpha * (len(scores) + 1))
    return (sorted(scores, reverse=True)[place - 1] if place else 1.0) + 1e-4


def unknown_scores(store: Store) -> dict[str, list[float]]:
    """By threshold: the scores of what each memory finds once all that is right for it is taken out. A memory where two
    causes fit as well scores 0, since nothing would be answered."""
    found: dict[str, list[float]] = {"line": [], "trace": [], "whole": []}
    open_bars = Bars(line=0.0, output=0.0, trace=0.0, whole=0.0)
    for row in _sample(store):
        asked = Sought(text_in(row, "said"))
        if asked.form in found and len(found[asked.form]) >= MOST:
            continue
        rows, _ = candidates(store, asked, _STATES, None, "")
        others = [each for each in rows if not _same(each, row, asked.form)]
        told = judged(
            asked, others, (), lambda terms: store.spread("lessons", terms), open_bars, quoted_names(asked.said)
        )
        best = told.sure[0] if told.sure else None
        found["whole"].append(best.near if best else 0.0)
        if asked.form == "line":
            found["line"].append(best.alike if best else 0.0)
        elif asked.form == "trace":
            found["trace"].append(best.near if best else 0.0)
    return found


def _sample(store: Store) -> list[Row]:
    """Memories of which a whole text is kept, in an order that is by chance but always the same."""
    rows = [row for row in store.find("lessons", _STATES).rows if text_in(row, "said") and row.get("rule") != "edit"]
    rows.sort(key=lambda row: hashlib.sha256(str(row["id"]).encode()).digest())
    return rows[: 2 * MOST]


def _same(one: Row, other: Row, form: str) -> bool:
    """Tell whether an answer by one memory would be right for the other. The signature of a traceback is no cause."""
    if one["id"] == other["id"]:
        return True
    names = ("text",) if form == "trace" else ("signature", "pattern", "text")
    return any(one.get(name) == other.get(name) and one.get(name) for name in names)
