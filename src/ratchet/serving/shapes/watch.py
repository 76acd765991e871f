"""Shapes of watches: a benchmark on a schedule against a frozen baseline."""

from __future__ import annotations

from ratchet.evolving.bench.watch import sentence
from ratchet.serving.shapes.bench import BenchRunShape
from ratchet.serving.shapes.shape import Shape, said


class WatchCheckShape(Shape):
    """One check of a watch."""

    run: str = said("Names its bench run.", of="run.id")
    started_at: float = said("When it began.", of="run.started_at")
    score: float | None = said("The mean over tasks; null where too much of it could not be measured.", digits=6)


class WatchShape(Shape):
    """A benchmark on a schedule, and if the agent got worse."""

    baseline: BenchRunShape = said("The run that checks are compared with.")
    regressed: bool = said("Whether it is proven that it got worse.")
    verdict: str = said("The same in a sentence.", of=sentence)
    e_value: float = said("The evidence of a regression; 20 proves one.", of="state.e_value", digits=6)
    loss: float = said("Points of score lost since then, by the checks.", of="state.loss", digits=6)
    since: str = said(
        "The check from which on it is worse; empty for none.", of=lambda held: held.since.id if held.since else ""
    )
    noise: float = said("Standard deviation of one check.", digits=6)
    checks: list[WatchCheckShape] = said("In the order in which they were made.")
