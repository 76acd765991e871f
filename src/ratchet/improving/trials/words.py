"""Put a trial into words: what changes, how it stands, what is still missing, how sure it is. Pure."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass

from ratchet.failures.spans import span
from ratchet.gate.trial import Crossing
from ratchet.improving.trials.evidence import Arm, Evidence
from ratchet.records import Json, Trial, TrialState

_TELLS_S = 60.0  # agents tell of their runs twice a second while a trial is open, at rest every half minute
_ENDED: Mapping[TrialState, str] = {
    "kept": "Kept: the new values are in force.",
    "reverted": "Reverted: the old values are in force.",
    "undecided": "Undecided: the old values stay.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialWords:
    """A trial as people say it. `change` is its edit, `old` the values before, `standing` one line, `missing` what a
    decision still takes ("" for an ended one), `sure` what its evidence says, for and against."""

    change: str
    old: Mapping[str, Json]
    standing: str
    missing: str
    sure: tuple[str, ...]


def in_words(
    trial: Trial, said: Evidence, *, now: float, first_at: float | None, usual: Mapping[str, Json]
) -> TrialWords:
    """Say how a trial stands at `now`. `first_at` is when its first unit started, None before that (Unix seconds);
    `usual` holds the values of what nobody set."""
    return TrialWords(
        change=change(trial, usual),
        old=old_values(trial, usual),
        standing=_standing(trial, said),
        missing="" if trial.state in _ENDED else _missing(trial, said, now=now, first_at=first_at),
        sure=() if not said.new.units + said.old.units else (_sure(said, keep=True), _sure(said, keep=False)),
    )


def change(trial: Trial, usual: Mapping[str, Json] | None = None) -> str:
    """The edit as `max_retries 0 -> 2`."""
    said = moves(old_values(trial, usual or {}), trial.change.new)
    return f"{said} ({trial.change.target.removeprefix('settings:')})"


def moves(old: Mapping[str, Json], new: Mapping[str, Json]) -> str:
    """Values with those that they take the place of: `max_retries 0 -> 2`."""
    return ", ".join(f"{name} {_value(old.get(name))} -> {_value(value)}" for name, value in new.items())


def old_values(trial: Trial, usual: Mapping[str, Json]) -> dict[str, Json]:
    """The values that it would change, as they were."""
    known: dict[str, Json] = {**usual}
    for held in (trial.edit.get("usual"), trial.edit.get("before")):
        known |= held if isinstance(held, dict) else {}
    return {name: value for name in trial.change.new if (value := known.get(name)) is not None}


def _value(value: Json) -> str:
    return "default" if value is None else json.dumps(value, ensure_ascii=False)


def proof(crossing: Crossing, threshold: float, units: str = "units") -> str:
    """Say what decided: the evidence where it first reached its threshold, and after how many units."""
    return f"evidence {crossing.e_value:.3g} after {crossing.units:,} {units} ({threshold:g} decides)"


def _standing(trial: Trial, said: Evidence) -> str:
    if trial.state in _ENDED:
        return _ENDED[trial.state]
    if not said.new.units + said.old.units:
        return "No run has told yet how it went."
    return f"New: {_arm(said.new)}. Old: {_arm(said.old)}."


def _arm(arm: Arm) -> str:
    return f"{arm.ok:,} of {arm.units:,} worked" if arm.units else "no run yet"


def _missing(trial: Trial, said: Evidence, *, now: float, first_at: float | None) -> str:
    if trial.state == "planned":
        return "It is about to be opened."
    if trial.state == "paused":
        return "It is paused: both arms fail together, which is an outage and says nothing about the change."
    if first_at is None:
        return f"It begins with the agent's next run. {first_look(trial)}"
    if said.verdict in ("keep", "revert"):
        return f"{_enough(said, now)}: `ratchet loop` {said.verdict}s it once it runs."
    held_up = now - said.known_until
    if trial.mode == "coin" and held_up > _TELLS_S:
        return (
            f"Runs since {_at(said.known_until, now)} UTC are not known yet: a machine that met the trial has told "
            f"nothing since then. It is waited for until {_at(said.known_until + trial.deadline_s, now)}."
        )
    if not said.new.units + said.old.units:
        latest = _at(first_at + trial.deadline_s, now)
        return f"First look when the run that started first has ended, at {latest} UTC at the latest."
    lacking = [name for name, arm in (("new", said.new), ("old", said.old)) if not arm.units]
    if lacking:
        return f"No run of the {lacking[0]} arm has been counted yet."
    return (
        f"It decides by itself, as soon as either side has {said.threshold:.0f} to 1; "
        f"{said.waiting:,} {'run waits' if said.waiting == 1 else 'runs wait'} to be counted."
    )


def _enough(said: Evidence, now: float) -> str:
    """Say that a trial is decided, and where the evidence is less by now, that the first crossing counts (Ville)."""
    held = said.toward if said.verdict == "keep" else said.against
    if held >= said.threshold or not said.enough_at:
        return f"Enough is known to {said.verdict}"
    return (
        f"Enough was known to {said.verdict} with the run that started at {_at(said.enough_at, now)} UTC, and the rule "
        "holds at its first crossing, though the runs since then say less"
    )


def first_look(trial: Trial) -> str:
    """Say when an open trial is looked at for the first time."""
    if trial.mode != "coin":
        return ""
    ends = "" if trial.unit == "call" else f" (a {trial.unit}: once it is silent for {span(trial.quiet_s)})"
    return (
        f"Its first look comes as soon as the first runs have ended{ends}; one without an outcome fails after "
        f"{span(trial.deadline_s)}. `ratchet loop` looks twice a second."
    )


def _at(moment: float, now: float) -> str:
    return time.strftime("%H:%M" if abs(moment - now) < 86_400 else "%d %b, %H:%M", time.gmtime(moment))


def _sure(said: Evidence, *, keep: bool) -> str:
    """Say what an e-value means (Ville's inequality: a change without effect gets to E in at most 1 of E trials)."""
    held = said.toward if keep else said.against
    what, kind, done = ("better", "good", "kept") if keep else ("worse", "bad", "reverted")
    if said.crossing and said.verdict == ("keep" if keep else "revert"):
        counted = said.effect.shown + said.effect.withheld
        since = f" With all {counted:,} it is 1 of {held:.3g}; what was proven once counts."
        return (
            f"Proven {what} after {said.crossing.units:,} runs: without an effect, a result this {kind} comes in less "
            f"than 1 of {said.crossing.e_value:,.0f} trials.{since if counted > said.crossing.units else ''}"
        )
    if held >= said.threshold:
        return f"Proven {what}: without an effect, a result this {kind} comes in less than 1 of {held:,.0f} trials."
    if held <= 1:
        return f"Nothing speaks for {what} so far."
    decided = said.verdict in ("keep", "revert")
    return (
        f"Speaks for {what}: without an effect, a result this {kind} comes in up to 1 of {held:.2g} trials"
        f"{'' if decided else f'; it is {done} at 1 of {said.threshold:.0f}'}."
    )
