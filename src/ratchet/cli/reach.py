"""The options that say what an agent under test may reach."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """Access given beside what the agent declares itself; None: nothing was said of the network."""

    net: Literal["none", "host"] | None
    pass_env: tuple[str, ...]
    readable: tuple[Path, ...]
    unsafe: bool


_OPTIONS = (
    click.option("--net", type=click.Choice(["none", "host"]), help="Whether the agent reaches the network."),
    click.option("--pass-env", "pass_env", multiple=True, metavar="NAME", help="A variable that the agent gets."),
    click.option("--ro", "readable", multiple=True, type=click.Path(path_type=Path), help="A path that it may read."),
    click.option("--unsafe-no-sandbox", "unsafe", is_flag=True, help="Plain processes, no protection; kept on record."),
)


def reach_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command these options, as one argument `reach`."""

    @functools.wraps(command)
    def with_reach(
        *, net: str | None, pass_env: tuple[str, ...], readable: tuple[Path, ...], unsafe: bool, **given: object
    ) -> None:
        known: Literal["none", "host"] | None = "host" if net == "host" else "none" if net == "none" else None
        command(reach=Reach(net=known, pass_env=pass_env, readable=readable, unsafe=unsafe), **given)

    for option in reversed(_OPTIONS):
        with_reach = option(with_reach)
    return with_reach
