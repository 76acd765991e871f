"""Commands about Ratchet itself: doctor, version."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ratchet import __version__
from ratchet.cli.app import home_option, json_option, opened


@click.command()
@click.option("--deep", is_flag=True, help="Read every history again, and compare the store with it.")
@click.option("--mend", is_flag=True, help="First sum up anew what pages and lists read.")
@home_option
@json_option
def doctor(deep: bool, mend: bool, command_home: Path | None, as_json: bool) -> None:
    """Check what is set up, what is wrong, and what to do.

    Nothing is changed without --mend. Exit code 1 if something is wrong.
    """
    from ratchet.cli import shapes, show
    from ratchet.cli.doctor import examine

    if mend:
        opened(command_home).store.derive()
    if deep:
        _deep(command_home, as_json)
        return
    checks = list(examine(opened(command_home).config, os.environ, Path.cwd()))
    if as_json:
        show.as_json([shapes.machine.CheckShape.built(each) for each in checks])
    else:
        show.doctor(checks)
    if not all(check.ok for check in checks):
        click.get_current_context().exit(1)


def _deep(command_home: Path | None, as_json: bool) -> None:
    from ratchet.cli import shapes, show, show_sessions

    with show.progress(quiet=as_json) as progress:
        found = opened(command_home).sessions.check(progress)
    show.as_json(shapes.used.CheckedShape.built(found)) if as_json else show_sessions.checked(found)
    if not found.sound:
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
