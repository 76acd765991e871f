"""The options of `ratchet evolve`: how a run is shaped, and what it may use."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from ratchet.cli.gathered import gathered
from ratchet.cli.means import variable
from ratchet.cli.net import NET
from ratchet.evolving.job import ExecutorName
from ratchet.evolving.request import EvolveAsked, EvolveMeans

_RUN = (
    click.option("--proposals", default=20, show_default=True, type=click.IntRange(1), help="At most so many."),
    click.option("--parallel", default=1, show_default=True, type=click.IntRange(1, 256), help="Evaluations at once."),
    click.option("--batch", default=12, show_default=True, type=click.IntRange(1, 64), help="Candidates a race."),
    click.option("--explore", is_flag=True, help="Draw parents from all versions: by mean, by tasks led, and novelty."),
    click.option("--repeats", default=3, show_default=True, type=click.IntRange(1), help="Runs of each sealed task."),
    click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Of all draws."),
)
_MEANS = (
    click.option("--executor", default="threads", show_default=True, type=click.Choice(get_args(ExecutorName))),
    click.option("--net", default="none", show_default=True, type=NET, help="For proposers."),
    click.option("--pass-env", "passed_on", multiple=True, metavar="NAME", help="A variable that the proposer gets."),
    click.option("--ro", "readable", multiple=True, type=click.Path(path_type=Path), help="A path that it may read."),
    click.option("--model", default="", metavar="NAME", help="Who proposes: provider:name, or several by commas."),
    click.option(
        "--beside",
        multiple=True,
        metavar="[NAME=]PATH|URL",
        help="A project to learn from: gaps are told, none is run.",
    ),
    click.option("--allow-unknown-price", is_flag=True, help="Use a model or program whose price is not known."),
    click.option("--unsafe-no-sandbox", "unsafe", is_flag=True, help="Plain processes, no protection; kept on record."),
)


def _means(*, passed_on: tuple[str, ...], **given: object) -> EvolveMeans:
    return EvolveMeans(environ=dict(map(variable, passed_on)), **given)  # type: ignore[arg-type]


run_options = gathered(_RUN, "asked", EvolveAsked)
means_options = gathered(_MEANS, "means", _means)
"""Give a command the options of `EvolveMeans`, as `means()`. That raises UsageError."""
