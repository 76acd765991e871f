"""Opens, moves and settles trials. Each step is written before it is carried out, so that a crash between any two
writes leaves what `repair` can finish: a target is never changed by a trial that nobody knows of.

    planned > open <> paused > kept | reverted | undecided

One trial at a time holds a target: its lease moves by compare-and-set.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import assert_never

from ratchet.errors import BackendError, Conflict, NotFound, RatchetError, Refused
from ratchet.failures.patterns.health import recent
from ratchet.failures.redaction.text import clean
from ratchet.gate import trial as trialgate
from ratchet.improving.targets import edit as edits
from ratchet.improving.trials import blocks, homes, words
from ratchet.improving.trials.evidence import KNOWN, Evidence, count, evidence
from ratchet.improving.trials.history import DAY_S
from ratchet.improving.trials.planning import ALPHA, TrialRequest, plan, release, take_lease
from ratchet.improving.trials.publishing import publish
from ratchet.improving.trials.trials import OPEN, row_of, trial, trials, write
from ratchet.ports import Store, Target
from ratchet.records import Change, Json, Row, Trial, TrialMode, TrialState, UnitKind, as_row
from ratchet.store.timeline import note

log = logging.getLogger(__name__)

RESUME_AFTER = 3
"""Calls that must succeed, of the last 8 and with the old values, before a paused trial goes on. In a row would be too
much to ask of an agent that succeeds in three of ten: it would stand still for days."""
_OVERTAKEN = "somebody changed the same keys during the trial, and theirs count; propose it again if it is still wanted"


class Guard:
    """Trials over one store. `target_of` gives the target of a name (NotFound for one that lives in another process);
    `home` is where the open trials are published; of a store that homes share, not before an agent there `joins`."""

    def __init__(self, store: Store, home: str, target_of: Callable[[str], Target], *, joins: bool = True) -> None:
        self._store = store
        self._home = home
        self._joins = joins
        self._target_of = target_of

    # -- open ----------------------------------------------------------------------------------------------------------

    def open(
        self,
        change: Change,
        *,
        now: float,
        mode: TrialMode | None = None,
        unit: UnitKind | None = None,
        deadline_s: float | None = None,
        alpha: float = ALPHA,
        ramp: bool = True,
    ) -> Trial:
        """Open a trial of a change, and return it.

        `mode` is a coin per unit for the agent's own settings, else switchback by blocks. `unit` is derived from what
        the agent's outcomes name unless given; `deadline_s` from the unit. Raises Refused (with the remedy) while
        another trial holds the target or its budget for neutral changes is spent; UsageError for a value that the
        target does not take; BackendError when the target cannot be changed, which leaves it as it was.
        """
        asked = TrialRequest(mode=mode, unit=unit, deadline_s=deadline_s, alpha=alpha, ramp=ramp)
        planned = plan(self._store, change, asked, self._target_of, now=now)
        with self._store.transaction():
            take_lease(self._store, planned)
            self._store.insert_new("trials", [{**row_of(planned), "revision": 1}])
            note(self._store, "trial", planned.id, "planned", now, target=change.target, reason=change.reason)
        return self._begin(trial(self._store, planned.id), now)

    def _begin(self, planned: Trial, now: float) -> Trial:
        """Carry out what was planned. Doing it again does nothing more."""
        try:
            if planned.mode != "coin":
                self._prepare(planned, now)
        except (BackendError, Refused, Conflict) as error:
            self._settle(planned, "give up", f"could not be applied: {error}", now)
            raise
        with self._store.transaction():
            opened = write(self._store, trial(self._store, planned.id), state="open", opened_at=now)
            note(self._store, "trial", opened.id, "opened", now, share=opened.share, mode=opened.mode)
        self.publish()
        return opened

    def _prepare(self, planned: Trial, now: float) -> None:
        if planned.mode == "advisory":
            self._target_of(planned.change.target).apply(edits.edit_of(dict(planned.edit)))
        else:
            blocks.turn(self._store, planned, self._target_of(planned.change.target), now=now)

    # -- move ----------------------------------------------------------------------------------------------------------

    def advance(self, trial_id: str, *, now: float) -> Trial:
        """Look at a trial once and do what the gate says. Safe to repeat, and from several processes at once (the
        slower one raises Conflict or finds it done)."""
        held = trial(self._store, trial_id)
        if held.state not in OPEN:
            return held
        if held.decision:
            return self._carry_out(held, now)
        if held.state == "planned":
            return self._begin(held, now)
        if held.mode != "coin":
            return self._advance_global(held, now)
        homes.pass_silent(self._store, held, now=now)
        said = evidence(self._store, held, now=now)
        if said.verdict in ("keep", "revert", "undecided"):
            return self._decided(held, said, now)
        if held.state == "paused":
            return self._resumed(held, now) if self._has_recovered(held) else held
        if said.verdict == "pause":
            return self._paused(held, now)
        rebased = self._rebased(held, now)
        if rebased is None:
            return self._settle(held, "give up", _OVERTAKEN, now, said)
        return self._staged(rebased, said, now)

    def _decided(self, held: Trial, said: Evidence, now: float) -> Trial:
        match said.verdict:
            case "keep":
                better = "within its margin" if held.change.neutral_ok else f"better in {held.change.metric}"
                return self._settle(held, "keep", f"proven {better}{_proof(said)}", now, said)
            case "revert":
                return self._settle(held, "revert", f"proven worse{_proof(said)}", now, said)
            case "undecided":
                units = said.new.units + said.old.units
                reason = (
                    f"{units} units in {(now - held.opened_at) / 86_400:.1f} days told nothing; the old values stay"
                )
                return self._settle(held, "give up", reason, now, said)
            case "wait" | "pause":
                return held
            case never:
                assert_never(never)

    def _advance_global(self, held: Trial, now: float) -> Trial:
        target = self._target_of(held.change.target)
        verdict, reason = blocks.look(self._store, held, now=now)
        if verdict != "wait":
            decision = "give up" if verdict == "undecided" else verdict
            return self._settle(held, decision, reason, now, self.evidence(held.id, now=now))
        if held.mode == "switchback":
            rebased = self._rebased(held, now)
            if rebased is None:
                return self._settle(held, "give up", _OVERTAKEN, now)
            blocks.turn(self._store, rebased, target, now=now)
        elif reason and reason != held.reason:
            with self._store.transaction():
                held = write(self._store, held, reason=reason)
                note(self._store, "trial", held.id, "advised", now, reason=reason)
        return trial(self._store, held.id)

    def _staged(self, held: Trial, said: Evidence, now: float) -> Trial:
        """Raise the share of the new arm with the number of units that have started; at once where a day has shown
        that they are few."""
        if not held.ramp:
            return held
        share = next((share for until, share in held.ramp if said.exposures < until), trialgate.FULL_SHARE)
        days = (now - held.opened_at) / DAY_S
        if days >= 1 and said.exposures / days < trialgate.QUIET_CALLS_PER_DAY:
            share = trialgate.FULL_SHARE
        if share <= held.share:
            return held
        with self._store.transaction():
            held = write(self._store, held, share=share)
            note(self._store, "trial", held.id, "staged", now, share=share, units=said.exposures)
        self.publish()
        return held

    def _paused(self, held: Trial, now: float) -> Trial:
        reason = "both arms fail: the last 8 units of each; the cause lies elsewhere"
        with self._store.transaction():
            held = write(self._store, held, state="paused", paused_at=now, reason=reason)
            note(self._store, "trial", held.id, "paused", now, reason=reason)
        self.publish()
        return held

    def _resumed(self, held: Trial, now: float) -> Trial:
        with self._store.transaction():
            held = write(self._store, held, state="open", resumed_at=now, reason="")
            note(self._store, "trial", held.id, "resumed", now)
        self.publish()
        return held

    def _has_recovered(self, held: Trial) -> bool:
        """Tell whether enough of the agent's last calls since the pause succeeded."""
        row = self._store.get("recents", held.change.agent) or {}
        since = [each for each in recent(row) if _at(each) > held.paused_at]
        return sum(1 for each in since[-trialgate.OUTAGE_STREAK :] if each[2]) >= RESUME_AFTER

    def _rebased(self, held: Trial, now: float) -> Trial | None:
        """The trial, planned anew where somebody changed other keys of its target meanwhile; None where they changed
        its own, which then count."""
        target = self._target_of(held.change.target)
        edit = edits.edit_of(dict(held.edit))
        found = target.read()
        if found.version == edit.version:
            return held
        own = edits.own(edit, found.values)
        if held.mode != "coin" and edits.same(own, dict(edit.after)):
            return held
        if not edits.same(own, dict(edit.before)):
            return None
        anew = as_row(target.plan(held.change.new))
        with self._store.transaction():
            held = write(self._store, held, edit=anew, base=dict(found.values))
            note(self._store, "trial", held.id, "rebased", now, target=held.change.target)
        self.publish()
        return held

    # -- settle --------------------------------------------------------------------------------------------------------

    def stop(self, trial_id: str, *, now: float, keep: bool = False, reason: str = "") -> Trial:
        """End a trial by a person's word: the old values stay, or with `keep` the new ones, unproven. Raises NotFound,
        Refused for a trial that is settled."""
        held = trial(self._store, trial_id)
        if held.state not in OPEN:
            raise Refused(f"trial {trial_id} is {held.state} already; propose the change again to test it anew")
        said = self.evidence(held.id, now=now)
        return self._settle(held, "keep" if keep else "give up", clean(reason) or "stopped by a person", now, said)

    def take_back(self, trial_id: str, *, now: float) -> bool:
        """Undo what a trial kept, by a person's word; tell whether there was anything left of it. Raises NotFound,
        Conflict when somebody changes the target at this moment."""
        held = trial(self._store, trial_id)
        restored = self._target_of(held.change.target).restore(edits.edit_of(dict(held.edit))).restored
        if restored:
            with self._store.transaction():
                note(self._store, "trial", held.id, "taken back", now, target=held.change.target)
        return bool(restored)

    def _settle(self, held: Trial, decision: str, reason: str, now: float, said: Evidence | None = None) -> Trial:
        """Write the decision, then carry it out."""
        figures: Row = figures_of(said) if said is not None else dict(held.figures)
        with self._store.transaction():
            held = write(self._store, held, decision=decision, reason=reason, figures=figures)
            note(self._store, "trial", held.id, "decided", now, decision=decision, reason=reason)
        return self._carry_out(held, now)

    def _carry_out(self, held: Trial, now: float) -> Trial:
        """Bring the target to where the decision wants it, then let go of it. Doing it again does nothing more."""
        target = self._target_of(held.change.target)
        state: TrialState = {"keep": "kept", "revert": "reverted"}.get(held.decision, "undecided")  # type: ignore[assignment]
        reason = held.reason
        if held.decision == "keep":
            rebased = None if self._is_applied(held) else self._rebased(held, now)
            if rebased is not None:
                held = rebased
                target.apply(edits.edit_of(dict(held.edit)))
            elif not self._is_applied(held):
                state, reason = "undecided", f"{reason}; but not applied: {_OVERTAKEN}"
        elif held.mode != "coin":
            kept = target.restore(edits.edit_of(dict(held.edit))).kept
            if kept:
                reason = f"{reason}; changed by somebody meanwhile and left alone: {', '.join(sorted(kept))}"
        with self._store.transaction():
            done = write(self._store, held, state=state, reason=reason, closed_at=now)
            release(self._store, done)
            note(self._store, "trial", done.id, state, now, reason=reason, target=done.change.target)
        self.publish()
        return done

    def _is_applied(self, held: Trial) -> bool:
        edit = edits.edit_of(dict(held.edit))
        found = self._target_of(held.change.target).read()
        own = edits.own(edit, found.values)
        return edits.same(own, dict(edit.after))

    # -- start ---------------------------------------------------------------------------------------------------------

    def repair(self, *, now: float) -> list[str]:
        """Finish what a crash left half done, and publish what is open; return the trials that were touched.

        A target that lives in another process is left to that process.
        """
        touched = []
        for held in trials(self._store, states=OPEN):
            if held.decision or held.state == "planned":
                try:
                    self.advance(held.id, now=now)
                    touched.append(held.id)
                except (NotFound, Conflict):
                    continue
                except RatchetError:
                    log.exception("trial.repair_failed", extra={"trial": held.id})
        self.publish()
        return touched

    def publish(self) -> None:
        """Tell this home's processes which trials are open, and forget what those that are not left. Raises OSError."""
        publish(self._store, self._home, joins=self._joins)

    def evidence(self, trial_id: str, *, now: float) -> Evidence:
        """Read where a trial stands. Raises NotFound."""
        held = trial(self._store, trial_id)
        return (evidence if held.mode == "coin" else blocks.standing)(self._store, held, now=now)

    def exposures(self, trial_id: str) -> int:
        return count(self._store, trial_id)


def figures_of(said: Evidence) -> Row:
    """The figures of a decision, kept with the trial."""
    effect = said.effect
    return {
        "new": {"units": said.new.units, "ok": said.new.ok},
        "old": {"units": said.old.units, "ok": said.old.ok},
        "exposures": said.exposures,
        "against": _finite(said.against),
        "toward": _finite(said.toward),
        "threshold": said.threshold,
        "decided_units": said.crossing.units if said.crossing else None,
        "decided_evidence": _finite(said.crossing.e_value) if said.crossing else None,
        "estimate": effect.estimate,
        "low": effect.low,
        "high": effect.high,
        KNOWN: said.known_until,
    }


def _proof(said: Evidence) -> str:
    return f": {words.proof(said.crossing, said.threshold)}" if said.crossing else ""


def _finite(value: float) -> float:
    return min(value, 1e300)


def _at(ran: list[Json]) -> float:
    return float(ran[0]) if isinstance(ran[0], int | float) else 0.0
