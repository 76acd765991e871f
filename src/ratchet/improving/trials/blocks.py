"""Trials of settings that are global, where no coin can be tossed for a call.

Switchback: one coin for a block of 10 calls or 5 minutes; a block gives one score, its share of successes, which bets
by rank. It is scored by the first calls that started in it, and only when they have had their time to end: of those
that had ended when it closed, too many would be failures that came quickly. Advisory: the agent's calls since the
change against its history; this proves nothing, and says so: it stops a change that fails call after call, and never
keeps one.
"""

from __future__ import annotations

from math import exp
from typing import Literal

from ratchet import ids
from ratchet.gate import trial as trialgate
from ratchet.gate.arms import RankBet
from ratchet.gate.before_after import BeforeAfter
from ratchet.gate.effects import LessonCounts, measure, tally
from ratchet.gate.trial import Crossing
from ratchet.improving.targets import edit as edits
from ratchet.improving.trials.arms import CHANNEL
from ratchet.improving.trials.deadline import CALL_DEADLINE_S
from ratchet.improving.trials.evidence import Arm, Evidence
from ratchet.improving.trials.words import proof
from ratchet.ports import Store, Target, Where
from ratchet.records import Json, Row, Trial, number_in, whole_in

Looked = tuple[Literal["wait", "keep", "revert", "undecided"], str]
SHARE = 0.5
BLOCK_CALLS = 10
BLOCK_S = 300.0
_MOST_CALLS = 5_000


def turn(store: Store, trial: Trial, target: Target, *, now: float) -> None:
    """Close the open block if it is over, begin the next one by its coin, and bring the target to the block's arm.

    The block's Exposure is written before the target is touched. Raises Conflict when somebody changed the target.
    """
    blocks = store.find("exposures", {"trial": trial.id}, order=("-at",), limit=1).rows
    block = blocks[0] if blocks else None
    if block is not None and not block.get("settled"):
        block = _closed(store, trial, block, now)
    if block is None or block.get("settled"):
        block = _begun(store, trial, now)
    edit = edits.edit_of(dict(trial.edit))
    if block.get("arm") == "new":
        # By our own keys, not by the version: somebody may have changed others in the meantime.
        if not edits.same(edits.own(edit, target.read().values), dict(edit.after)):
            target.apply(edit)
    else:
        target.restore(edit)


def look(store: Store, trial: Trial, *, now: float) -> Looked:
    """Decide by the blocks, or advise."""
    if trial.mode == "switchback":
        _score_closed(store, trial, now)
    return _advice(store, trial, now) if trial.mode == "advisory" else _verdict(_Bets(store, trial), trial, now)


def _begun(store: Store, trial: Trial, now: float) -> Row:
    unit = f"block-{whole_in(store.sum_by('exposures', (), ('count:*',), {'trial': trial.id})[0], 'count:*'):06d}"
    new = ids.toss(trial.salt, trial.id, unit, share=SHARE)
    row: Row = {
        "trial": trial.id,
        "unit": unit,
        "arm": "new" if new else "control",
        "share": SHARE,
        "at": now,
        "due_at": now + BLOCK_S,
        "channel": CHANNEL,
        "settled": False,
        "revision": 1,
    }
    store.insert_new("exposures", [row])
    return store.get("exposures", (trial.id, unit)) or row


def _closed(store: Store, trial: Trial, block: Row, now: float) -> Row:
    """The block, closed if it is over."""
    began = number_in(block, "at")
    if now - began < BLOCK_S and len(_calls(store, trial, began, now)) < BLOCK_CALLS:
        return block
    due_at = now + min(trial.deadline_s, CALL_DEADLINE_S)
    told: Row = {**block, "settled": True, "settled_at": now, "due_at": due_at}
    store.swap("exposures", (trial.id, str(block["unit"])), whole_in(block, "revision"), told)
    return {**told, "revision": number_in(block, "revision") + 1}


def _score_closed(store: Store, trial: Trial, now: float) -> None:
    """Score the closed blocks whose calls have ended. One without calls gives no evidence."""
    where: Where = {"trial": trial.id, "settled": True, "due_at": ("<=", now)}
    for block in store.find("exposures", where, order=("at",)).rows:
        if block.get("calls") is None:
            calls = _calls(store, trial, number_in(block, "at"), number_in(block, "settled_at"))
            told: Row = {**block, "calls": len(calls)}
            if calls:
                told["score"] = sum(1 for call in calls if call.get("ok")) / len(calls)
            store.swap("exposures", (trial.id, str(block["unit"])), whole_in(block, "revision"), told)


def _calls(store: Store, trial: Trial, since: float, until: float, limit: int = BLOCK_CALLS) -> list[Row]:
    """The agent's first calls from one moment to another, in the order in which they started."""
    where: dict[str, Json | tuple[str, Json]] = {"started_at": (">=", since)}
    if trial.change.agent:
        where["agent"] = trial.change.agent
    said: Where = where
    rows = store.find("outcomes", said, order=("started_at",), limit=limit).rows
    return [row for row in rows if number_in(row, "started_at") <= until]


def standing(store: Store, trial: Trial, *, now: float) -> Evidence:
    """Read where a trial of a global setting stands. Its units are blocks; `ok` counts their calls.

    The effect's interval rests on each block's score rounded to 0 or 1 by a coin of its own, which keeps its mean.
    """
    bets = _Bets(store, trial)
    new = [row for row in bets.blocks if row.get("arm") == "new"]
    old = [row for row in bets.blocks if row.get("arm") != "new"]
    tallies: dict[float, LessonCounts] = tally(
        (SHARE, row.get("arm") == "new", ids.toss(trial.salt, trial.id, str(row["unit"]), "score", share=_score(row)))
        for row in bets.blocks
    )
    exposures = whole_in(store.sum_by("exposures", (), ("count:*",), {"trial": trial.id})[0], "count:*")
    return Evidence(
        trial=trial.id,
        new=_arm(new),
        old=_arm(old),
        counts={share: (c.shown_failed, c.withheld_failed, c.shown_ok, c.withheld_ok) for share, c in tallies.items()},
        exposures=exposures,
        waiting=exposures - len(bets.blocks),
        against=bets.harm.e_value,
        toward=bets.gain.e_value,
        threshold=1 / trial.alpha,
        metrics={"success": bets.harm.e_value},
        verdict=_verdict(bets, trial, now)[0],
        crossing=bets.worse or bets.better,
        effect=measure(tallies),
    )


class _Bets:
    """The scored blocks, and what they say for and against the change."""

    def __init__(self, store: Store, trial: Trial) -> None:
        self.harm = RankBet(share=SHARE, alpha=trial.alpha)
        self.gain = RankBet(share=SHARE, alpha=trial.alpha)
        rows = store.find("exposures", {"trial": trial.id, "settled": True}, order=("at",)).rows
        self.blocks = [row for row in rows if row.get("score") is not None]
        self.worse: Crossing | None = None
        self.better: Crossing | None = None
        for counted, row in enumerate(self.blocks, 1):
            value, new = exp(-_score(row)), row.get("arm") == "new"
            self.harm.update(new_arm=new, value=value)
            self.gain.update(new_arm=not new, value=value)
            if self.worse is None and self.harm.decision == "revert":
                self.worse = Crossing(units=counted, e_value=self.harm.e_value)
            if self.better is None and self.gain.decision == "revert":
                self.better = Crossing(units=counted, e_value=self.gain.e_value)


def _score(row: Row) -> float:
    return number_in(row, "score")


def _arm(rows: list[Row]) -> Arm:
    calls = sum(whole_in(row, "calls") for row in rows)
    return Arm(units=calls, ok=round(sum(_score(row) * number_in(row, "calls") for row in rows)))


def _verdict(bets: _Bets, trial: Trial, now: float) -> Looked:
    blocks = len(bets.blocks)
    if bets.worse:
        return "revert", f"proven worse: {proof(bets.worse, 1 / trial.alpha, 'blocks')}"
    if bets.better:
        return "keep", f"proven better: {proof(bets.better, 1 / trial.alpha, 'blocks')}"
    if blocks * BLOCK_CALLS >= trialgate.MOST_UNITS or now - trial.opened_at >= trialgate.MOST_AGE_S:
        return "undecided", f"{blocks} blocks in {(now - trial.opened_at) / 86_400:.1f} days told nothing"
    return "wait", ""


def _advice(store: Store, trial: Trial, now: float) -> Looked:
    test = BeforeAfter(before=trial.before, alpha=trial.alpha)
    calls = _calls(store, trial, trial.opened_at, now, _MOST_CALLS)
    for call in calls:
        test.update(ok=bool(call.get("ok")))
    advice = test.advice
    if advice.verdict == "stop":
        return "revert", f"advisory: {advice.why}"
    if len(calls) >= _MOST_CALLS or now - trial.opened_at >= trialgate.MOST_AGE_S:
        return "undecided", "advisory: without a control arm nothing was proven; a person may keep it"
    return "wait", f"advisory: {advice.verdict}; {advice.why}"
