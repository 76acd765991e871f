"""The command that says beforehand what is likely to fail: predict."""

from __future__ import annotations

from pathlib import Path

import click

from ratchet.cli import shapes, show
from ratchet.cli.app import home_option, json_option, opened
from ratchet.cli.folders import project_option
from ratchet.cli.see import Pasted, pasted, text_of
from ratchet.errors import UsageError

_KNOWN = 5  # projects in a hint


@click.command(cls=Pasted)
@click.argument("text", nargs=-1)
@click.option("--command", default="", metavar="LINE", help="A command line.")
@click.option("--file", default="", metavar="FILE", help="A file that is to be changed, and the checks after it.")
@click.option("--diff", default="", metavar="FILE", help="A diff in a file, or `-`: the project's checks after it.")
@click.option("--plan", default="", metavar="FILE", help="A text in a file, or `-`, that names commands and files.")
@project_option("The project that it is about (default: the one here).")
@click.option("--session", help="The session that is about to take the step (default: the one that ran here last).")
@home_option
@json_option
def predict(
    text: tuple[str, ...],
    command: str,
    file: str,
    diff: str,
    plan: str,
    project: str | None,
    session: str | None,
    as_json: bool,
) -> None:
    """Tell how likely a step fails here, before it runs.

    TEXT is a command, a file to change, a diff or a plan; `-` reads standard input. Why it may fail and what to do is
    said with it. All is counted from what ran in this project: where too little ran there is no number. Of a chain
    (`a && b`) one is the call's main command: the last one that does something. Facts and patterns count
    it so, too.
    """
    if sum(map(bool, (text, command, file, diff, plan))) != 1:
        raise UsageError("say what is about to happen: TEXT, or one of --command, --file, --diff and --plan")
    lessons = opened().lessons
    found = lessons.predict(
        " ".join(text) if text and text != ("-",) else pasted(text) if text else "",
        command=command,
        file=file,
        diff=text_of(diff) if diff else "",
        plan=text_of(plan) if plan else "",
        project=project,
        session=session,
    )
    if as_json:
        show.as_json(shapes.prediction.PredictionShape.built(found))
        return
    from ratchet.lessons.odds import SESSIONS, STEPS
    from ratchet.lessons.prediction import told_in_words

    out = show.console()
    show.row(out, show.block(told_in_words(found)))
    if project is None and all(each.probability is None for each in found.steps):
        others = [each for each in lessons.facts(limit=_KNOWN) if each.project not in ("", found.project)]
        known = [each.project for each in others if each.calls >= STEPS and each.sessions >= SESSIONS]
        named = f"; enough is known of {', '.join(known)}" if known else ""
        hint = show.plain(f"where it is not about {found.project or Path.cwd()}{named}", 600)
        show.row(out, hint, "next  --project NAME                  ")
