"""Shapes of improving: live settings, changes on trial, proposals, and the report on all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from ratchet.serving.shapes.lessons import LessonEffectShape, PooledEffectShape
from ratchet.serving.shapes.shape import Shape, said

if TYPE_CHECKING:
    from ratchet.improving.book import ProposalBook, TrialDetail
    from ratchet.records import Proposal


class KnobShape(Shape):
    """One live setting."""

    name: str = said("Names the setting.")
    value: object = said("In force now.")
    set: bool = said("Whether it was set; else it is the default.", of="is_set")
    bounds: dict[str, object] = said("Values that it may have, and its default.")


class SettingsShape(Shape):
    """The live settings of an agent."""

    agent: str = said("Names the agent.")
    version: int = said("Counts its changes; 0 is nothing set.", of="version.number")
    knobs: list[KnobShape] = said("All settings that it declares.")


class VersionShape(Shape):
    """The live settings of an agent as they were set at one moment."""

    target: str = said("Names the settings.")
    number: int = said("Counts from 1; 0 is nothing set.")
    values: dict[str, object] = said("Settings that were set, by name.")
    parent: int = said("The version that it changed.")
    who: str = said("Who set it.")
    why: str = said("The reason given.")
    at: float = said("When it was made.")
    applied_at: float | None = said("When it came into force; null for the draft of a trial.")


class TrialShape(Shape):
    """A change that is tested beside what it would replace."""

    id: str = said("Names the trial.")
    target: str = said("The thing that is changed.", of="change.target")
    agent: str = said("The agent whose outcomes count.", of="change.agent")
    state: str = said("planned, open, paused, kept, reverted or undecided.")
    mode: str = said("How units are shared out: coin, switchback or advisory.")
    unit: str = said("Shared out as one: call, session or unit.")
    new: dict[str, object] = said("Values that are tested.", of="change.new")
    old: dict[str, object] = said("Values that they would replace.", of=lambda trial: trial.edit.get("before") or {})
    metric: str = said("Meant to get better: success, latency, cost or score.", of="change.metric")
    fix: str = said("The class of the change.", of="change.fix")
    reason: str = said("Why it is in its state.")
    why: str = said("Why it was proposed.", of="change.reason")
    share: float = said("The share of units that meet the new values.")
    alpha: float = said("The chance of a false decision that is accepted.")
    deadline_s: float = said("A unit without an outcome counts as failed after so long.")
    attempt: int = said("Counts trials of the same change.")
    created_at: float = said("When it was planned.")
    opened_at: float = said("When it began.")
    closed_at: float | None = said("When it ended; null before.", of=lambda trial: trial.closed_at or None)


class ArmShape(Shape):
    """The units of one arm of a trial."""

    units: int = said("Units that count.")
    ok: int = said("Units that succeeded.")
    latency_s: float | None = said("Mean seconds; null where no unit tells.")
    cost_usd: float | None = said("Mean cost; null where no unit tells.")
    score: float | None = said("Mean score; null where no unit tells.")


class CrossingShape(Shape):
    """The first time that the evidence of a trial reached its threshold, which decides."""

    units: int = said("Units (blocks, where it is tried by blocks) counted by then.")
    e_value: float | None = said("The e-value with the last of them; null where it is beyond all numbers.")


class EvidenceShape(Shape):
    """Nearness of a trial to its decision. An e-value that is beyond all numbers is null."""

    keep: float | None = said("The e-value for keeping the change, of all units.", of="toward")
    revert: float | None = said("The e-value against it, of all units.", of="against")
    threshold: float = said("Decides once an e-value reaches it, whatever comes after.")
    crossing: CrossingShape | None = said("Where it was reached; null while it is not.")
    against_by_metric: dict[str, float | None] = said("The e-value against it by metric.", of="metrics")


class ShareCountsShape(Shape):
    """Units that were shared out at one share, by arm and result."""

    share: float = said("The share of units that met the new values.", of=lambda at: at[0])
    fail_new: int = said("Failed with the new values.", of=lambda at: at[1][0])
    fail_old: int = said("Failed with the old ones.", of=lambda at: at[1][1])
    ok_new: int = said("Succeeded with the new values.", of=lambda at: at[1][2])
    ok_old: int = said("Succeeded with the old ones.", of=lambda at: at[1][3])


class GainShape(Shape):
    """The difference between the arms of a trial, over all units that count."""

    estimate: float | None = said("In points of the metric; null while an arm is empty.")
    low: float = said("Lower end of the 95 % interval of all units.")
    high: float = said("Upper end of the 95 % interval of all units.")


class MomentShape(Shape):
    """Something that happened to a trial."""

    at: float = said("When it happened.")
    verb: str = said("The new state, or the step taken.")


class TrialDetailShape(TrialShape):
    """A trial, where it stands now, and what happened to it."""

    arms: dict[str, ArmShape] = said("The arms new and old.")
    exposures: int = said("Units that met either arm.")
    waiting: int = said("Of these, units without an outcome so far.")
    evidence: EvidenceShape = said("How near it is to a decision.")
    counts: list[ShareCountsShape] = said("Units by share, arm and result.")
    effect: GainShape = said("The difference between the arms.")
    events: list[MomentShape] = said("In order.")

    @classmethod
    def shown(cls, found: TrialDetail) -> Self:
        """The shape of a trial whole."""
        evidence = found.evidence
        return cls.built(
            found.trial,
            arms={"new": evidence.new, "old": evidence.old},
            exposures=evidence.exposures,
            waiting=evidence.waiting,
            evidence=evidence,
            counts=sorted(evidence.counts.items()),
            effect=evidence.effect,
            events=found.events,
        )


class ProposalShape(Shape):
    """A fix that was thought of for a pattern."""

    id: str = said("Names the proposal.")
    agent: str = said("The agent that it is for.")
    pattern: str = said("The pattern that it is for.")
    kind: str = said("The class of its failures.")
    title: str = said("The fix, in one line.")
    fix: str = said("The class of the fix.")
    state: str = said("open, trial, kept, reverted, undecided, rejected or closed.")
    target: str = said(
        "The thing that it changes; empty for advice.", of=lambda each: each.change.target if each.change else ""
    )
    old: dict[str, object] = said("The values in force, or those before its trial, by name; without those not set.")
    new: dict[str, object] = said("New values, by name.", of=lambda each: each.change.new if each.change else {})
    trial: str = said("The trial of it; empty before.")
    reason: str = said("Why it is in its state.")
    evidence: dict[str, object] = said("Figures that led to it.")
    created_at: float = said("When it was made.")
    updated_at: float = said("When it last changed.")

    @classmethod
    def told(cls, book: ProposalBook, held: Proposal) -> Self:
        """The shape of a proposal, with what it would change."""
        return cls.built(held, old=book.old(held))


class PulseShape(Shape):
    """When an agent is looked at."""

    agent: str = said("Names the agent.")
    failures: int = said("Looked at after so many failures.", of="pulse.failures")
    window_s: float = said("The time within which they count.", of="pulse.window_s")
    cooldown_s: float = said("Not looked at again for so long.", of="pulse.cooldown_s")
    why: str = said("The rule behind it.", of="pulse.why")


class InterventionShape(Shape):
    """Something that the overseer did about running work, or left undone."""

    id: str = said("Names it.")
    session: str = said("The session, team or task that ran.", foreign="name")
    subject: str = said("The same, as people call it.", foreign="name")
    judgement: str = said("What was the matter.")
    action: str | None = said("What was done; null where a second opinion spoke against it.")
    reason: str = said("Why.", foreign="words")


class TickShape(Shape):
    """The result of one turn of the improve loop."""

    proposed: list[str] = said("Ids of proposals made.")
    opened: list[str] = said("Ids of trials begun.")
    settled: list[str] = said("Ids of trials decided.")
    closed: list[str] = said("Ids of proposals closed.")
    retired: list[str] = said("Ids of lessons retired.")
    faults: list[str] = said("Steps that failed, with why.")
    interventions: list[InterventionShape] = said("What the overseer did about running work.")


class SettledShape(Shape):
    """A change that was decided about, with the figures of the decision."""

    id: str = said("Names the trial.")
    target: str = said("The thing that was changed.", of="change.target", foreign="name")
    state: str = said("kept, reverted or undecided.")
    mode: str = said("How units were shared out: coin, switchback or advisory.")
    new: dict[str, object] = said("Values that were tested.", of="change.new", foreign="output")
    reason: str = said("Why it was decided so.", foreign="words")
    closed_at: float = said("When it was decided.")
    decided_units: int | None = said("Units by which it was decided.", of="figures.decided_units")
    decided_evidence: float | None = said(
        "The evidence by which it was decided, at the first crossing of 1/alpha.", of="figures.decided_evidence"
    )
    estimate: float | None = said("The effect, in points, of all units.", of="figures.estimate")
    low: float | None = said("Lower end of the 95 % interval of all units.", of="figures.low")
    high: float | None = said("Upper end of the 95 % interval of all units.", of="figures.high")


class ReportShape(Shape):
    """True if lessons and changes pay."""

    lines: list[str] = said("The effect of being told before the step, and in the failing turn, in a sentence each.")
    prevention: PooledEffectShape = said(
        "Of lessons told before the step: a case went well if the failure did not come."
    )
    cure: PooledEffectShape = said("Of lessons told in the failing turn: a case went well if it got past the failure.")
    effect: PooledEffectShape = said("Of both together.", of="pooled")
    lessons: list[LessonEffectShape] = said("Of each lesson, best first.")
    withheld_share: float = said("The share of new cases from which lessons are withheld.")
    waiting: int = said("Cases whose session still runs.")
    held_back: int = said("Cases that ended and come after one of those, which is heard first.")
    not_attempted: int = said("Cases whose step was not tried again.")
    changes: list[SettledShape] = said("Changes that were decided about, newest first.")
