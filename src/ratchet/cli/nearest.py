"""Finds the command that was meant where there is none of that name, in the tree of commands as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

import click

_SHOWN = 3
_SENTENCE = 200


def meant(ctx: click.Context, group: click.Group, word: str) -> str:
    """Say which command was meant by a word that is none: those of that very name anywhere, one that is the same word
    in its plural or singular, those of the group that say the word of themselves, one of a
    similar name, or for a file the one that takes it; "" where nothing is near."""
    here = tuple(ctx.command_path.split()[1:])
    own = dict(_commands(ctx, group, here))
    root = ctx.find_root().command
    every = dict(_commands(ctx, root, (), deep=True)) if isinstance(root, click.Group) else own
    similar = get_close_matches(word, [path[-1] for path in own], n=1)
    near = (
        [path for path in every if path[-1] == word]
        or [path for path in own if _is_form(path[-1], word.lower())]
        or [path for path, command in own.items() if _says(command, word)]
        or [path for path in own if path[-1] in similar]
    )
    if near:
        said = " or ".join(f"`ratchet {' '.join(path)}`" for path in near[:_SHOWN])
        return f": did you mean {said}?"
    if "." in word or Path(word).exists():
        for path, command in own.items():
            first = next((each for each in command.params if isinstance(each, click.Argument)), None)
            if first is not None and first.required and isinstance(first.type, click.Path):
                return f"; for a file: `ratchet {' '.join(path)} {word}`"
    return ""


def _is_form(name: str, word: str) -> bool:
    """Tell whether one of two words is the other's plural."""
    return name.removesuffix("s") == word.removesuffix("s")


def _says(command: click.Command, word: str) -> bool:
    """Tell whether a command's first sentence has a word: `heal`, `cost`."""
    return word.lower() in re.findall(r"\w+", command.get_short_help_str(_SENTENCE).lower())


def _commands(
    ctx: click.Context, group: click.Group, path: tuple[str, ...], *, deep: bool = False
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        if command is None or command.hidden:
            continue
        yield (*path, name), command
        if deep and isinstance(command, click.Group):
            yield from _commands(ctx, command, (*path, name), deep=True)
