"""Options that reach a command together, as the one thing that is made of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TypeAlias

Command: TypeAlias = Callable[..., None]


def gathered(
    options: Sequence[Callable[[Command], Command]], name: str, made: Callable[..., object]
) -> Callable[[Command], Command]:
    """Give a command these options as one argument: `made` with their values, for the command to call where its errors
    can be told."""
    names = _names(options)

    def gathering(command: Command) -> Command:
        @functools.wraps(command)
        def called(*args: object, **given: object) -> None:
            kept = {each: given.pop(each) for each in names}
            command(*args, **given, **{name: functools.partial(made, **kept)})

        shown: Command = called
        for option in reversed(options):
            shown = option(shown)
        return shown

    return gathering


def _names(options: Sequence[Callable[[Command], Command]]) -> list[str]:
    def bare() -> None: ...

    for option in options:
        option(bare)
    return [each.name for each in bare.__click_params__]  # type: ignore[attr-defined]
