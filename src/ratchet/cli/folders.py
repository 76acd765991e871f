"""Options that name a folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., object])


def project_option(said: str) -> Callable[[Command], Command]:
    """`--project FOLDER`; a relative one is meant from here."""
    return click.option("--project", metavar="FOLDER", callback=_absolute, help=said)


def _absolute(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    del ctx, param
    return os.path.abspath(Path(value).expanduser()) if value else value  # noqa: PTH100  (Path keeps `..`)
