"""The options of `ratchet run` that say what an episode may use."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path

import click

from ratchet.cli.numbers import Finite
from ratchet.errors import UsageError
from ratchet.healing.book import CHECK_S, HealMeans

_OPTIONS = (
    click.option("--check-s", default=CHECK_S, show_default=True, type=Finite(1), help="Longest run of a check."),
    click.option(
        "--net", default="none", show_default=True, type=click.Choice(["none", "host"]), help="For the solver."
    ),
    click.option(
        "--pass-env", "passed_on", multiple=True, metavar="NAME", help="A variable that the solver gets to see."
    ),
    click.option("--ro", "readable", multiple=True, type=click.Path(path_type=Path), help="A path that it may read."),
    click.option("--model", default="", metavar="NAME", help="Who plans: provider:name, or several by commas."),
    click.option("--fast-model", default="", metavar="NAME", help="Who summarises, where it is another one."),
    click.option("--second-opinion", is_flag=True, help="A model looks at a change that passes; it may doubt it."),
    click.option("--allow-unknown-price", is_flag=True, help="Use a model whose price is not known."),
    click.option("--unsafe-no-sandbox", "unsafe", is_flag=True, help="Plain processes, no protection; kept on record."),
)


def means_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command these options, as one argument: `means()` makes them, where its errors can be told. Raises
    UsageError."""

    @functools.wraps(command)
    def with_means(
        *,
        check_s: float,
        net: str,
        passed_on: tuple[str, ...],
        readable: tuple[Path, ...],
        model: str,
        fast_model: str,
        second_opinion: bool,
        allow_unknown_price: bool,
        unsafe: bool,
        **given: object,
    ) -> None:
        def means() -> HealMeans:
            return HealMeans(
                unsafe=unsafe,
                net="host" if net == "host" else "none",
                environ=dict(map(variable, passed_on)),
                readable=readable,
                model=model,
                fast_model=fast_model,
                second_opinion=second_opinion,
                allow_unknown_price=allow_unknown_price,
                check_s=check_s,
            )

        command(means=means, **given)

    for option in reversed(_OPTIONS):
        with_means = option(with_means)
    return with_means


def variable(name: str) -> tuple[str, str]:
    """A variable of this process by its name, as `--pass-env` hands it on. Raises UsageError where there is none."""
    value = os.environ.get(name)
    if value is None:
        raise UsageError(f"--pass-env {name}: there is no such variable here")
    return name, value
