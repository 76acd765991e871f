"""The options of `ratchet run` that say what an episode may use."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ratchet.cli.gathered import gathered
from ratchet.cli.net import NET
from ratchet.cli.numbers import Finite
from ratchet.errors import UsageError
from ratchet.healing.book import CHECK_S, HealMeans
from ratchet.healing.donors import donors_at

_OPTIONS = (
    click.option("--check-s", default=CHECK_S, show_default=True, type=Finite(1), help="Longest run of a check."),
    click.option(
        "--repeats",
        default=0,
        type=click.IntRange(0),
        help="Runs in a row that tell of no other flaky test, before any edit (default: 3, or 8 once one is told).",
    ),
    click.option("--net", default="none", show_default=True, type=NET, help="For the solver."),
    click.option(
        "--pass-env", "passed_on", multiple=True, metavar="NAME", help="A variable that the solver gets to see."
    ),
    click.option("--ro", "readable", multiple=True, type=click.Path(path_type=Path), help="A path that it may read."),
    click.option(
        "--donor",
        "donors",
        multiple=True,
        metavar="PATH",
        type=click.Path(path_type=Path),
        help="Another implementation that is right, a file or a folder: repair takes parts of it.",
    ),
    click.option("--model", default="", metavar="NAME", help="Who plans: provider:name, or several by commas."),
    click.option("--fast-model", default="", metavar="NAME", help="Who summarises, where it is another one."),
    click.option("--second-opinion", is_flag=True, help="A model looks at a change that passes; it may doubt it."),
    click.option("--allow-unknown-price", is_flag=True, help="Use a model whose price is not known."),
    click.option("--unsafe-no-sandbox", "unsafe", is_flag=True, help="Plain processes, no protection; kept on record."),
)


def _means(*, passed_on: tuple[str, ...], donors: tuple[Path, ...], **given: object) -> HealMeans:
    return HealMeans(environ=dict(map(variable, passed_on)), donors=donors_at(donors), **given)  # type: ignore[arg-type]


means_options = gathered(_OPTIONS, "means", _means)
"""Give a command the options of `HealMeans`, as `means()`. That raises UsageError."""


def variable(name: str) -> tuple[str, str]:
    """A variable of this process by its name, as `--pass-env` hands it on. Raises UsageError where there is none."""
    value = os.environ.get(name)
    if value is None:
        raise UsageError(f"--pass-env {name}: there is no such variable here")
    return name, value
