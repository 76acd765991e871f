"""State of a run: its row and its candidates, read once, written through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ratchet.evolving import rows as evolutions
from ratchet.evolving.candidate import Candidate, CandidateState, Evolution
from ratchet.evolving.race import race as racing
from ratchet.failures.redaction.text import clean
from ratchet.ports import Store

IDEAS = 5
"""So many askings in a row without an idea end a run."""
NO_IDEA = "no proposal"
_REASON_CHARS = 1_000


class Archived:
    """The rows of one run. Only the process that holds the run's claim has one."""

    def __init__(self, store: Store, run: Evolution) -> None:
        self._store = store
        self._all = {each.n: each for each in evolutions.candidates(store, run.id)}
        self.run = run

    @property
    def all(self) -> list[Candidate]:
        """In the order in which they were proposed; the first is the agent as it was."""
        return [*self._all.values()]

    @property
    def next_n(self) -> int:
        return len(self._all)

    @property
    def baseline(self) -> Candidate:
        return self._all[0]

    @property
    def incumbent(self) -> Candidate:
        """The version that counts: the one kept last, else the agent as it was."""
        return max(self.of("kept"), key=lambda each: each.batch, default=self.baseline)

    def of(self, state: CandidateState) -> tuple[Candidate, ...]:
        return tuple(each for each in self._all.values() if each.state == state)

    def version(self, id_: str) -> Candidate:
        return next(each for each in self._all.values() if each.id == id_)

    def __getitem__(self, n: int) -> Candidate:
        return self._all[n]

    def keep(self, candidate: Candidate) -> Candidate:
        """Write a candidate as it is now."""
        held = self._all.get(candidate.n)
        if held is None:
            written = evolutions.add(self._store, candidate)
        else:
            written = evolutions.move(self._store, replace(candidate, revision=held.revision))
        self._all[candidate.n] = written
        return written

    def write(self, verb: str, **changes: object) -> Evolution:
        """Store the run's row with these changes."""
        self.run = evolutions.write(self._store, self.run, verb, **changes)
        return self.run

    def line_up(self, ready: Sequence[Candidate]) -> tuple[Candidate, ...]:
        """Write that these race now, each at its level, which depends on what was kept before this race."""
        if not ready:
            return ()
        raced = sorted((each for each in self._all.values() if each.batch), key=lambda each: (each.batch, each.n))
        history = [each.state == "kept" for each in raced]
        levels = racing.levels(history, len(ready), fdr=self.run.fdr, planned=self.run.proposals)
        batch = 1 + max((each.batch for each in raced), default=0)
        incumbent = self.incumbent.id
        with self._store.transaction():
            for candidate, level in zip(sorted(ready, key=lambda each: each.n), levels, strict=True):
                self.keep(replace(candidate, state="racing", batch=batch, level=level, incumbent=incumbent))
        return self.of("racing")

    def leave_undecided(self, reason: str) -> None:
        """Write that the run ends before these are decided."""
        with self._store.transaction():
            for each in (*self.of("proposed"), *self.of("racing"), *self.of("waiting")):
                self.keep(replace(each, state="undecided", reason=reason))

    def why_ended(self) -> str:
        """Why nothing more is to be proposed, "" while there is."""
        asked = [each for each in self._all.values() if each.n and not each.retry_of]
        if len(asked) >= self.run.proposals:
            n = self.run.proposals
            return "the one proposal was tried" if n == 1 else f"all {n} proposals were tried"
        last = asked[-IDEAS:]
        if len(last) == IDEAS and all(each.reason.startswith(NO_IDEA) for each in last):
            return f"{self.run.proposer} had no idea {IDEAS} times in a row; the last time: {last[-1].reason}"
        return ""


def screened_out(candidate: Candidate, reason: str) -> Candidate:
    return replace(candidate, state="screened_out", reason=clean(reason, _REASON_CHARS))


def decided(standing: racing.Standing, level: float, *, best: bool) -> tuple[CandidateState, str]:
    """Decide what becomes of a racer, and say why in one line."""
    seen = f"{100 * standing.mean:+.1f} points over {standing.pairs} pairs"
    if standing.finish == "keep":
        proof = f"proven better: {seen}, e-value {standing.e_value:,.0f} of {1 / level:,.0f}"
        return ("kept", proof) if best else ("waiting", f"{proof}; another was better still")
    if standing.finish == "refused":
        return "reverted", clean(standing.reason, _REASON_CHARS)
    if standing.finish == "unmeasured":
        return "undecided", standing.reason
    return "reverted", f"not proven better: {seen}, e-value {standing.e_value:,.2f} of {1 / level:,.0f}"
