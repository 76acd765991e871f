"""Lets gepa keep a proposal only when it is proven better than what stands.

from ratchet.integrations.gepa import ProvenAcceptance

gepa.optimize(seed, trainset=examples, adapter=adapter, acceptance_criterion=ProvenAcceptance(run))

gepa's own criterion compares two sums over three examples, each scored once. `run(candidate)` scores every example
anew, and is called until the evidence decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from ratchet.gate import ScoreAnswer, ScoreGate

_SEED = "seed"

GepaCandidate = Mapping[str, str]
ScoredExamples = Mapping[str, float]
"""Score in [0, 1] of each example, by its name."""


class _GepaProposal(Protocol):
    @property
    def candidate(self) -> GepaCandidate: ...


class _GepaState(Protocol):
    @property
    def program_candidates(self) -> Sequence[GepaCandidate]: ...


class ProvenAcceptance:
    """An acceptance criterion of gepa. `gate` sets the error budget (`ScoreGate(noise="bounded")`, unless given).

    `answers` are its decisions, in their order: each with the runs it took and the evidence.
    """

    def __init__(self, run: Callable[[GepaCandidate], ScoredExamples], *, gate: ScoreGate | None = None) -> None:
        self._run = run
        self._gate = gate or ScoreGate(noise="bounded", incumbent=_SEED)
        self._gate.incumbent = self._gate.incumbent or _SEED
        self._texts: dict[str, GepaCandidate] = {}
        self.answers: list[ScoreAnswer] = []

    def should_accept(self, proposal: _GepaProposal, state: _GepaState) -> bool:
        """Run the proposal, and what stands, until one of them is proven or the gain is out of reach."""
        self._texts.setdefault(self._gate.incumbent, state.program_candidates[0])
        name = f"proposal {len(self.answers) + 1}"
        self._texts[name] = proposal.candidate
        self.answers.append(self._gate.decide(name, lambda version: self._run(self._texts[version])))
        return self.answers[-1].decision == "keep"

    def reject_reason(self, proposal: _GepaProposal, state: _GepaState) -> str:
        """Say why the last proposal was refused, for gepa's log."""
        del proposal, state
        return self.answers[-1].reason if self.answers else ""
