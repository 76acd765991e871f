"""The command that makes a lesson permanent, and takes it out again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ratchet.cli import shapes, show, show_lessons
from ratchet.cli.app import home_option, json_option, opened
from ratchet.cli.folders import folder_meant, project_option
from ratchet.errors import UsageError

if TYPE_CHECKING:
    from ratchet.improving.cures.cure import CureKind

KINDS = ("notes", "skill", "git", "pre-commit", "check", "permission")


@click.command("cure")
@click.argument("lesson_id", required=False)
@click.option("--as", "kind", type=click.Choice(KINDS), help="Make this change, on trial.")
@click.option("--undo", is_flag=True, help="Take out what the lesson became.")
@project_option("The project (default: here).")
@home_option
@json_option
def cure(lesson_id: str | None, kind: CureKind | None, undo: bool, project: str | None, as_json: bool) -> None:
    """Make a lesson permanent, as a change on trial.

    Without --as only shows, as a diff, what could be changed and what that would have done: a line in the notes, its
    skill, a git setting, a command before each commit, a check that denies a step, a permission rule. One that does not
    help is taken out again, byte for byte.
    """
    runtime = opened(begins=True)
    book, folder = runtime.cures, folder_meant(runtime, project)
    if (kind or undo) and not lesson_id:
        raise UsageError("name the lesson: ratchet lessons cure ID; without one it shows what could be changed")
    if lesson_id and (kind or undo):
        done = book.undo(lesson_id) if undo else [book.apply(lesson_id, kind, folder)] if kind else []
        if as_json:
            show.as_json([shapes.trials.TrialShape.built(each) for each in done])
        else:
            show_lessons.cured(done, undone=undo)
        return
    settled = book.look()
    found = book.show(lesson_id, folder) if lesson_id else book.list(folder)
    if as_json:
        show.as_json([shapes.lessons.CureShape.built(each) for each in found])
    else:
        show_lessons.cures(found, settled, book.going(), folder)
