"""Options that name a folder, or a project."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from ratchet.errors import NotFound

if TYPE_CHECKING:
    from ratchet.runtime import Runtime

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
    """`--project PROJECT`: a folder, a relative one meant from here, or a project's name as Ratchet prints it, or the
    end of one."""
    said = f"{said.rstrip('.')}: its folder, its name or the end of one."
    return click.option("--project", metavar="PROJECT", callback=_absolute_if_here, help=said)


def project_meant(runtime: Runtime, project: str | None) -> str | None:
    """The folder of a project that is named. Raises NotFound for a name that is none, UsageError where several fit."""
    if project is None or Path(project).is_absolute() or not runtime.exists:
        return project
    from ratchet.lessons.repositories import folder_of

    return folder_of(runtime.store, project)


def folder_meant(runtime: Runtime, project: str | None) -> Path:
    """The folder on this machine that `--project` means, the working folder without one. Raises NotFound."""
    found = Path(project_meant(runtime, project) or Path.cwd())
    if project and not Path(project).is_absolute() and not found.is_dir():
        raise NotFound(f"{project} ran in {found}, which is not on this machine; name its folder with --project")
    return found


def _absolute_if_here(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    del ctx, param
    if not value or not (value[0] in "./~" or Path(value).is_dir()):
        return value
    return os.path.abspath(Path(value).expanduser())  # noqa: PTH100  (Path keeps `..`)
