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
        levels = racing.levels(self._history(), len(ready), fdr=self.run.fdr, planned=self.run.proposals)
        batch = 1 + max((each.batch for each in self._all.values()), default=0)
        incumbent = self.incumbent.id
        with self._store.transaction():
            for candidate, level in zip(sorted(ready, key=lambda each: each.n), levels, strict=True):
                self.keep(replace(candidate, state="racing", batch=batch, level=level, incumbent=incumbent))
        return self.of("racing")

    def wait_again(self) -> list[Candidate]:
        """Write which candidates wait for another race, now that one is decided: those that a merged candidate held in
        vain, and near misses whose evidence once was what the bar has fallen to. Each is raced again once."""
        again = {each.retry_of for each in self._all.values()} | {n for each in self._all.values() for n in each.merges}
        freed = {n for each in self.of("reverted") if each.merges and each.pairs for n in each.merges}
        bar = 1 / racing.levels(self._history(), 1, fdr=self.run.fdr, planned=self.run.proposals)[0]
        moved = []
        for each in self.of("reverted"):
            if each.n in freed and not each.alone:
                reason = "better together with others was not proven: it goes on by itself"
                moved.append(self.keep(replace(each, state="waiting", reason=reason, alone=True)))
            elif each.peak >= bar and each.n not in again and not each.retry_of and self._may_repeat(each):
                reason = f"its evidence was {each.peak:,.0f} once, and the bar has fallen to {bar:,.0f}"
                moved.append(self.keep(replace(each, state="waiting", reason=reason)))
        return moved

    def _may_repeat(self, each: Candidate) -> bool:
        return not each.reason.startswith("refused") and self.incumbent.id != each.incumbent

    def _history(self) -> list[bool]:
        """Tell of each candidate that was raced, in order, whether it was kept."""
        raced = sorted((each for each in self._all.values() if each.batch), key=lambda each: (each.batch, each.n))
        return [each.state == "kept" for each in raced if each.state != "racing"]

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
        proof = f"proven better: {seen}; {_luck(standing.e_value, level)}"
        return ("kept", proof) if best else ("waiting", f"{proof}; another was better still")
    if standing.finish == "refused":
        return "reverted", clean(standing.reason, _REASON_CHARS)
    if standing.finish == "unmeasured":
        return "undecided", standing.reason
    return "reverted", f"not proven better: {seen}; {_luck(standing.e_value, level)}"


def _luck(e_value: float, level: float) -> str:
    """Say what the evidence means: under no gain it reaches a height h with probability 1/h at most (Ville)."""
    if e_value < 2:
        return f"luck alone can show as much, 1 of {1 / level:,.0f} was asked"
    return f"luck shows as much in at most 1 of {e_value:,.0f} cases, 1 of {1 / level:,.0f} was asked"
