"""Commands about Ratchet itself: doctor, version."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ratchet import __version__
from ratchet.cli.app import home_option, json_option, opened


@click.command()
@home_option
@json_option
def doctor(command_home: Path | None, as_json: bool) -> None:
    """Check what is set up, what is wrong, and what to do.

    Exit code 1 if something is wrong.
    """
    from ratchet.cli import shapes, show
    from ratchet.cli.doctor import examine

    checks = list(examine(opened(command_home).config, os.environ, Path.cwd()))
    if as_json:
        show.as_json([shapes.machine.CheckShape.built(each) for each in checks])
    else:
        show.doctor(checks)
    if not all(check.ok for check in checks):
        click.get_current_context().exit(1)


@click.command()
@json_option
def version(as_json: bool) -> None:
    """The version of Ratchet."""
    if as_json:
        from ratchet.cli import shapes, show

        show.as_json(shapes.machine.RatchetVersionShape(version=__version__))
    else:
        click.echo(__version__)
