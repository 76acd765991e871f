"""The options of `ratchet evolve`: how a run is shaped, and what it may use."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import click

from ratchet.cli.gathered import gathered
from ratchet.cli.means import variable
from ratchet.cli.numbers import Finite
from ratchet.evolving.bench.benchmark import Agent, Benchmark
from ratchet.evolving.bench.ground import ExecutorName
from ratchet.evolving.request import EvolveAsked, EvolveMeans

PROPOSALS, USD, SECONDS = 20, 10.0, 86_400.0

_RUN = (
    click.option("--proposals", default=PROPOSALS, show_default=True, type=click.IntRange(1), help="At most so many."),
    click.option("--budget-usd", "usd", type=Finite(0), help="Money for all of it.  [default: 10]"),
    click.option("--budget-s", "seconds", type=Finite(0, min_open=True), help="Seconds of it all.  [default: a day]"),
    click.option("--parallel", default=1, show_default=True, type=click.IntRange(1, 256), help="Evaluations at once."),
    click.option("--batch", default=1, show_default=True, type=click.IntRange(1, 64), help="Candidates a race."),
    click.option("--explore", is_flag=True, help="Draw parents from all versions, by performance and novelty."),
    click.option("--repeats", default=3, show_default=True, type=click.IntRange(1), help="Runs of each sealed task."),
    click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Of all draws."),
)
_MEANS = (
    click.option("--executor", default="threads", show_default=True, type=click.Choice(get_args(ExecutorName))),
    click.option(
        "--net", default="none", show_default=True, type=click.Choice(["none", "host"]), help="For proposers."
    ),
    click.option("--pass-env", "passed_on", multiple=True, metavar="NAME", help="A variable that the proposer gets."),
    click.option("--ro", "readable", multiple=True, type=click.Path(path_type=Path), help="A path that it may read."),
    click.option("--model", default="", metavar="NAME", help="Who proposes: provider:name, or several by commas."),
    click.option("--allow-unknown-price", is_flag=True, help="Use a model or program whose price is not known."),
    click.option("--unsafe-no-sandbox", "unsafe", is_flag=True, help="Plain processes, no protection; kept on record."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shaped:
    """Shape of a run. `usd` and `seconds` are None where they were not given."""

    proposals: int
    usd: float | None
    seconds: float | None
    parallel: int
    batch: int
    explore: bool
    repeats: int
    seed: int

    def asked(self, agent: Agent, benchmark: Benchmark, proposer: str) -> EvolveAsked:
        return EvolveAsked(
            agent=agent,
            benchmark=benchmark,
            proposer=proposer,
            proposals=self.proposals,
            usd=USD if self.usd is None else self.usd,
            seconds=SECONDS if self.seconds is None else self.seconds,
            parallel=self.parallel,
            batch=self.batch,
            explore=self.explore,
            repeats=self.repeats,
            seed=self.seed,
        )


def _means(*, passed_on: tuple[str, ...], **given: object) -> EvolveMeans:
    return EvolveMeans(environ=dict(map(variable, passed_on)), **given)  # type: ignore[arg-type]


run_options = gathered(_RUN, "shaped", Shaped)
means_options = gathered(_MEANS, "means", _means)
"""Give a command the options of `EvolveMeans`, as `means()`. That raises UsageError."""
