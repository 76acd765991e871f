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
def doctor(deep: bool, mend: bool, as_json: bool) -> None:
    """Check what is set up, what is wrong, and what to do.

    Nothing is changed without --mend. Exit code 1 if something is wrong.
    """
    from ratchet.cli import shapes, show
    from ratchet.cli.doctor import examine

    if mend:
        opened().store.derive()
    if deep:
        _deep(as_json)
        return
    checks = list(examine(opened(begins=True).config, os.environ, Path.cwd()))
    show.as_json([shapes.machine.CheckShape.built(each) for each in checks]) if as_json else show.doctor(checks)
    if not all(check.ok for check in checks):
        click.get_current_context().exit(1)


def _deep(as_json: bool) -> None:
    from ratchet.cli import shapes, show, show_sessions

    with show.progress(quiet=as_json) as progress:
        found = opened().sessions.check(progress)
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
