"""Options that name a folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., object])


class NamedPath(click.Path):
    """A path that has a name: "" is mostly a shell's variable that is not set, and not meant as the working folder."""

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        if value == "":
            self.fail('"" names no path; the working folder is "."', param, ctx)
        return super().convert(value, param, ctx)


PATH = NamedPath(path_type=Path)


def project_option(said: str) -> Callable[[Command], Command]:
    """`--project FOLDER`; a relative one is meant from here."""
    return click.option("--project", metavar="FOLDER", callback=_absolute, help=said)


def named_project_option(said: str) -> Callable[[Command], Command]:
    """`--project FOLDER|NAME`: a folder that is here, or a project as Ratchet names it."""
    return click.option("--project", metavar="FOLDER|NAME", callback=_absolute_if_here, help=said)


def _absolute_if_here(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if not value or not (value[0] in "./~" or Path(value).is_dir()):
        return value
    return _absolute(ctx, param, value)


def _absolute(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    del ctx, param
    return os.path.abspath(Path(value).expanduser()) if value else value  # noqa: PTH100  (Path keeps `..`)
