"""Changes on trial, and fixes proposed: what people look at and decide."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ratchet.errors import NotFound
from ratchet.improving.loop import proposals, suggestions
from ratchet.improving.loop.pulse import Pulse, mark, pulse, unmark
from ratchet.improving.settings.versions import StoredSettings
from ratchet.improving.trials.evidence import Evidence, first_at
from ratchet.improving.trials.guard import Guard
from ratchet.improving.trials.met import TrialRun, runs_of
from ratchet.improving.trials.trials import STATES, trial, trials
from ratchet.improving.trials.words import TrialWords, in_words, old_values
from ratchet.ports import Fix, Problem, Store
from ratchet.records import Change, Json, Metric, Proposal, ProposalState, Row, Trial, TrialMode, TrialState, Version
from ratchet.store.timeline import events


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialDetail:
    """One trial whole: where it stands now, and what happened to it in order."""

    trial: Trial
    evidence: Evidence
    events: tuple[Row, ...]
    words: TrialWords


def _usual(store: Store, held: Trial) -> Mapping[str, Json]:
    """The declared defaults of what a trial changes; nothing of a target that is no settings."""
    return _settings(store, held.change.target, Version(target=held.change.target, number=0))


def _settings(store: Store, target: str, version: Version | None = None) -> Mapping[str, Json]:
    """The settings that a target is, of a version or as they are in force; nothing where it is none."""
    if not target.startswith(proposals.PREFIX):
        return {}
    try:
        return StoredSettings(store, target.removeprefix(proposals.PREFIX)).values(version)
    except NotFound:
        return {}


class TrialBook:
    """The trials of one store.

    `reading` gives the store after what was recorded is in it, `guard` moves trials.
    """

    def __init__(self, *, reading: Callable[[], Store], guard: Callable[[], Guard]) -> None:
        self._reading = reading
        self._guard = guard

    def list(
        self, *, state: TrialState | None = None, agent: str | None = None, limit: int | None = None
    ) -> list[Trial]:
        """Trials, newest first; of one state, or of one agent."""
        return trials(self._reading(), states=STATES if state is None else (state,), agent=agent, limit=limit)

    def show(self, trial_id: str) -> TrialDetail:
        """One trial with both arms and the evidence as of now. Raises NotFound."""
        store = self._reading()
        held = trial(store, trial_id)
        now = held.closed_at or time.time()
        said = self._guard().evidence(held.id, now=now)
        return TrialDetail(
            trial=held,
            evidence=said,
            events=tuple(events(store, held.id)),
            words=in_words(held, said, now=now, first_at=first_at(store, held.id), usual=_usual(store, held)),
        )

    def runs(self, trial_id: str) -> tuple[TrialRun, ...]:
        """The newest runs that met a trial, each with its outcome. Raises NotFound."""
        store = self._reading()
        return runs_of(store, trial(store, trial_id))

    def open(
        self,
        target: str,
        new: Mapping[str, Json],
        *,
        agent: str = "",
        reason: str = "",
        metric: Metric = "success",
        trade: Mapping[str, float] | None = None,
        mode: TrialMode | None = None,
        deadline_s: float | None = None,
    ) -> Trial:
        """Try new values of a target (`settings:AGENT`, or one that this process registered) beside the old ones.

        `agent` is whose outcomes tell (that of the settings unless given), `metric` what is to become better;
        `trade` names what may become worse, by which factor at most: {"latency": 3.0}. `mode` and `deadline_s` are
        derived unless given. Raises Refused while another trial holds the target, UsageError for a value that it does
        not take, NotFound for an unknown target.
        """
        self._reading()  # what the agent has done by now: it sets the ramp, the metrics and the power
        owner = agent or target.removeprefix("settings:")
        change = Change(target=target, new=dict(new), agent=owner, reason=reason, metric=metric, trade=trade or {})
        return self._guard().open(change, now=time.time(), mode=mode, deadline_s=deadline_s)

    def stop(self, trial_id: str, *, keep: bool = False, reason: str = "") -> Trial:
        """End a trial at once: the old values stay, or with `keep` the new ones, which nothing has proven then. Raises
        NotFound, Refused for one that is settled."""
        return self._guard().stop(trial_id, now=time.time(), keep=keep, reason=reason)


class ProposalBook:
    """The fixes proposed in one store."""

    def __init__(self, *, reading: Callable[[], Store], guard: Callable[[], Guard]) -> None:
        self._reading = reading
        self._guard = guard

    def list(self, *, state: ProposalState | None = None, agent: str | None = None) -> list[Proposal]:
        """Proposals, newest first; of one state, or of one agent."""
        states = proposals.STATES if state is None else (state,)
        return proposals.proposals(self._reading(), states=states, agent=agent)

    def show(self, proposal_id: str) -> Proposal:
        """One proposal. Raises NotFound."""
        return proposals.proposal(self._reading(), proposal_id)

    def old(self, held: Proposal) -> Mapping[str, Json]:
        """The values that a proposal would change, by name: of settings as they are in force, or, once it was tried,
        as they were before."""
        if held.change is None:
            return {}
        store = self._reading()
        if held.trial:
            tried = trial(store, held.trial)
            return old_values(tried, _usual(store, tried))
        known = _settings(store, held.change.target)
        return {name: known[name] for name in held.change.new if name in known}

    def add(self, problem: Problem, fix: Fix) -> Proposal | None:
        """Put a fix forward; None where its pattern has a proposal under way, or this one was tried or turned down
        before. Raises UsageError for a fix that cannot be tried or shown, Conflict."""
        now = time.time()
        return proposals.put_forward(self._reading(), problem, [suggestions.checked(problem, fix)], now=now)

    def approve(self, proposal_id: str, *, deadline_s: float | None = None) -> Proposal:
        """Start its trial; advice without a change is closed as taken. `deadline_s` is the age at which a run without
        an outcome counts as failed, derived unless given. Raises NotFound, Refused, Conflict, UsageError."""
        return proposals.approve(self._reading(), self._guard(), proposal_id, now=time.time(), deadline_s=deadline_s)

    def reject(self, proposal_id: str, *, reason: str = "") -> Proposal:
        """Do not do it, and do not propose it for this pattern again. Raises NotFound, Refused, Conflict."""
        return proposals.reject(self._reading(), proposal_id, now=time.time(), reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """An agent and when it is looked at."""

    agent: str
    pulse: Pulse


class Pulses:
    """When each agent is looked at: by its measured calls, unless a person said otherwise."""

    def __init__(self, *, reading: Callable[[], Store]) -> None:
        self._reading = reading

    def list(self) -> list[Watched]:
        """Every agent that ever ran, with the thresholds that hold for it."""
        store = self._reading()
        agents = [str(row["agent"]) for row in store.sum_by("activity", ("agent",), ())]
        return [Watched(agent=agent, pulse=pulse(store, agent, now=time.time())) for agent in agents]

    def show(self, agent: str) -> Pulse:
        """The thresholds that hold for an agent, whether it ever ran or not."""
        return pulse(self._reading(), agent, now=time.time())

    def set(
        self,
        agent: str,
        *,
        critical: bool | None = None,
        failures: int | None = None,
        window_s: float | None = None,
        cooldown_s: float | None = None,
    ) -> Pulse:
        """Set an agent's own thresholds, or mark it as critical; what is None stays. Raises UsageError, Conflict."""
        store = self._reading()
        mark(store, agent, critical=critical, failures=failures, window_s=window_s, cooldown_s=cooldown_s)
        return pulse(store, agent, now=time.time())

    def clear(self, agent: str) -> Pulse:
        """Go back to the thresholds by measured calls. Raises NotFound for an agent that never ran, Conflict."""
        store = self._reading()
        if store.get("recents", agent) is None:
            raise NotFound(f"no agent {agent!r} ever ran here; `ratchet health` lists those that did")
        unmark(store, agent)
        return pulse(store, agent, now=time.time())
