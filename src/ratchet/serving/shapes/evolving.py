"""Shapes of evolving: a run, its archive, and what it is worth. Gains are in points of score: 0.05 is five points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from ratchet.evolving.bench.agents import shown
from ratchet.failures.redaction.text import redact
from ratchet.serving.shapes.shape import Shape, said

if TYPE_CHECKING:
    from ratchet.evolving.book import EvolveBook
    from ratchet.evolving.candidate import Candidate, Evolution

_DEEPEST = 100  # versions below one another; what came from a deeper one stands beside it: no reader nests without end


class SealedReportShape(Shape):
    """The winner measured on tasks that nobody had seen."""

    baseline: float = said("The score of the agent as it was.")
    winner: float = said("The score of the winner.")
    gain: float = said("The difference.")
    low: float = said("Lower end of its 95 % interval.")
    high: float = said("Upper end of its 95 % interval.")
    noise: float | None = said("What the same agent against itself shows on so many runs; null where each ran once.")
    claimed: float = said("The gain on the tasks that decided.")
    best_of_n: float | None = said(
        "The score of the agent as it was when it may try again for the same money, told each time which try is "
        "right; null where not measured."
    )
    n: int = said("Tries of `best_of_n`.")
    runs: int = said("Evaluations of the report.")


class EvolutionShape(Shape):
    """One search for a better version of an agent."""

    id: str = said("Names the search.")
    state: str = said("running, ended, budget, cancelled, failed or killed (its process is gone).")
    reason: str = said("Why it ended so.")
    agent: str = said("The agent, in a few words.", of=lambda held: shown(held.agent))
    benchmark: str = said("Names the benchmark.")
    benchmark_hash: str = said("The hash of its tasks.")
    proposer: str = said("Who proposes versions.")
    proposals: int = said("Proposals asked for.")
    batch: int = said("Versions that race at once.")
    explore: bool = said("Whether proposals may start from any version, not only from the best one.")
    seed: int = said("The first seed.")
    incumbent: str = said("The version that counts now.")
    runs: int = said("Evaluations paid for.")
    cost_usd: float = said("The cost of it.", digits=6)
    duration_s: float = said("How long it took.", digits=3)
    budget_usd: float = said("Money that it may cost.", of="usd")
    budget_s: float = said("Seconds that it may take.", of="seconds")
    report: SealedReportShape | None = said("Null before it is measured, or where nothing was kept.")
    applied: str = said("Where its result went; empty for nowhere.")
    unsafe: bool = said("Whether any of it ran without a sandbox.")
    started_at: float = said("When it began.")
    ended_at: float = said("When it ended; 0 before.")


class EvolutionPatchShape(EvolutionShape):
    """A search, and its result as a patch."""

    patch: str = said("Leads from the agent as it was to the winner.")


class CandidateShape(Shape):
    """One version of an agent in the archive of a search."""

    n: int = said("Counts from 0, the agent as it was.")
    id: str = said("Names the version.")
    state: str = said("baseline, proposed, screened_out, racing, waiting, kept, reverted, undecided or cancelled.")
    reason: str = said("Why it is in its state.")
    parent: str = said("The version that it came from.")
    retry_of: int = said("The candidate that it carries over to a new incumbent; 0 for none.")
    merges: tuple[int, ...] = said("The candidates whose changes it holds together.")
    proposer: str = said("Who proposed it.")
    hypothesis: str = said("Why it should be better.")
    expected: float = said("The gain that was promised.")
    batch: int = said("The race that it took part in; 0 for none.")
    incumbent: str = said("The version that it was measured against.")
    level: float = said("It is kept when its e-value reaches 1/level.")
    e_value: float | None = said("The evidence for it; null where it is beyond all numbers.")
    pairs: int = said("Pairs of evaluations behind it.")
    mean: float = said("Mean gain of these pairs.")
    unmeasured: int = said("Pairs that could not be measured.")
    cost_usd: float = said("The cost of measuring it.", digits=6)
    tree: str = said("The git object of its files.")
    settings: dict[str, object] = said("Settings of it, by name.")


class CandidateDetailShape(CandidateShape):
    """A version with its files."""

    diff: str = said(
        "Its changes to the version that it came from, without secrets.", of=lambda held: redact(held.diff)
    )


class EvolutionListedShape(EvolutionShape):
    """A search in a list: with what it tried, and the version that it kept last."""

    tried: int = said("Versions proposed so far; one that is carried over to a new incumbent counts once.")
    kept: int = said("Versions that were proven better, and kept.")
    last: CandidateDetailShape | None = said("The one that was kept last; null where none was.")

    @classmethod
    def listed(cls, book: EvolveBook, found: Sequence[Evolution]) -> list[Self]:
        """The shapes of some searches, in their order."""
        tallies = book.tallies([each.id for each in found])
        return [
            cls.built(each, tried=tally.tried, kept=tally.kept, last=tally.last)
            for each in found
            for tally in (tallies[each.id],)
        ]


class EvolutionDetailShape(EvolutionShape):
    """A search and its archive."""

    candidates: list[CandidateDetailShape] = said("In order.")


class DescendedShape(CandidateShape):
    """A version with those that came from it."""

    children: list[DescendedShape] = said("Versions that came from it.")


class EvolutionTreeShape(Shape):
    """The archive of a search as a tree."""

    id: str = said("Names the search.")
    incumbent: str = said("The version that counts now.")
    root: DescendedShape = said("The agent as it was.")

    @classmethod
    def grown(cls, held: Evolution, candidates: Sequence[Candidate]) -> Self:
        """The shape of a search's candidates, each below the one that it came from."""
        below = branches(candidates)

        def node(each: Candidate) -> DescendedShape:
            made = [child for child in below.get(each.n, ()) if child.id != child.parent]  # the others changed nothing
            return DescendedShape.built(each, children=[node(child) for child in made])

        return cls.built(held, root=node(candidates[0]))


def branches(candidates: Sequence[Candidate]) -> dict[int, list[Candidate]]:
    """List what stands below each row of an archive, by its number; the first row is above all. What came from a
    version that stands in several rows is below the first of them: a proposal may lead back to what was there
    before."""
    root = candidates[0]
    found: dict[int, list[Candidate]] = {}
    first = {root.id: root}
    above, depth = {root.n: root}, {root.n: 0}
    for each in candidates[1:]:
        up = first.get(each.parent, root)
        if depth[up.n] >= _DEEPEST:
            up = above[up.n]
        found.setdefault(up.n, []).append(each)
        above[each.n], depth[each.n] = up, depth[up.n] + 1
        first.setdefault(each.id, each)
    return found
