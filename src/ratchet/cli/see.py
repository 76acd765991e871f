"""Commands that read: health, recall, classify, report."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ratchet.cli import shapes, show
from ratchet.cli.app import home_option, json_option, opened
from ratchet.cli.folders import project_meant, project_option
from ratchet.cli.numbers import Moment, say_last
from ratchet.errors import UsageError

if TYPE_CHECKING:
    from ratchet.runtime import Runtime


@click.command()
@home_option
@json_option
def health(as_json: bool) -> None:
    """Rate each agent's recent runs, from 0 to 1.

    0: all fails; 1: all succeeds. The last 20 calls count half.
    """
    found = opened().health()
    show.as_json(shapes.failures.HealthShape.built(found)) if as_json else show.health(found)


class Pasted(click.Command):
    """Takes a text that begins with a dash as the text that it is: no option holds a blank."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        texts = [each for each in args if each[:1] == "-" and " " in each.partition("=")[0].strip()]
        if texts and "--" not in args:
            args = [*(each for each in args if each not in texts), "--", *texts]
        return super().parse_args(ctx, args)


@click.command(cls=Pasted)
@click.argument("text", nargs=-1)
@click.option("--limit", type=click.IntRange(1, 100), default=5, show_default=True)
@project_option("Only lessons that count in this project (default: all of yours).")
@click.option("--session", help="Ask on behalf of this session: its arm of the control is obeyed and recorded.")
@home_option
@json_option
def recall(text: tuple[str, ...], limit: int, project: str | None, session: str | None, as_json: bool) -> None:
    """Look up what is known to fix this error.

    TEXT is the error, a whole output or a question; a file's name reads the file, `-` standard input, and so does no
    TEXT behind a pipe. First what is surely about it, if anything is; then what is possibly. Candidates, which agents
    are not handed yet, are searched too.
    """
    from ratchet.failures import expressions

    if not text and sys.stdin.isatty():
        raise UsageError("no text is given; pass the error as an argument, or pipe it in")
    runtime = opened()
    expressions.keep_in(str(runtime.home / "hook"))  # where the hooks, which look up the same way, keep theirs
    asked = pasted(text or ("-",))
    found = runtime.recall(asked, limit=limit, project=project_meant(runtime, project), session=session)
    if not found.lessons and len(text) == 1 and _FILE_NAME.fullmatch(text[0]) and not Path(text[0]).is_file():
        raise UsageError(f"no such file: {text[0]}; where it is the error itself, pipe it in: ratchet recall -")
    expressions.kept()
    if as_json:
        show.as_json(shapes.lessons.RecalledShape.built(found))
        return
    show.recalled(found, None if found.lessons else runtime.failing.same(asked))


@click.command()
@click.argument("text", nargs=-1, required=True)
@click.option("--status", type=click.IntRange(100, 599), help="HTTP status, where known.")
@click.option("--exit-code", type=int, help="Exit code, where known.")
@json_option
def classify(text: tuple[str, ...], status: int | None, exit_code: int | None, as_json: bool) -> None:
    """Tell the kind of a failure, and whether the step may be repeated.

    TEXT is the error; `-` reads standard input.
    """
    from ratchet.failures.classification import classify as decide

    found = decide(_text(text), status=status, exit_code=exit_code)
    show.as_json(shapes.failures.ClassificationShape.built(found)) if as_json else show.classification(found)


@click.command()
@click.option("--since", type=Moment(), metavar="WHEN", help="A digest of what happened since: 2026-03-01, or 7d, 24h.")
@click.option("--format", "form", type=click.Choice(["markdown", "html"]), help="How the digest is written.")
@click.option("--often", type=click.IntRange(1), metavar="N", help="Alert where a pattern failed N times in it.")
@click.option("--notify", is_flag=True, help="Send the digest to the notifiers, if it holds an alert.")
@home_option
@json_option
def report(since: float | None, form: str | None, often: int | None, notify: bool, as_json: bool) -> None:
    """Do the lessons help, and what became of the changes?

    A share of the sessions, drawn at random, is told no lesson; both groups are compared, with an interval that is
    valid however often you look. With --since it is a digest instead: what ran, what it cost, what is new or rising.
    """
    runtime = opened()
    if since is not None:
        _digest(runtime, since, form, often, notify=notify, as_json=as_json)
        return
    if form or often or notify:
        raise UsageError("--format, --often and --notify are about a digest: name its time with --since 7d")
    found = runtime.report()
    if as_json:
        show.as_json(shapes.trials.ReportShape.built(found))
    else:
        from ratchet.cli import show_trials
        from ratchet.integrations.install import hooked_agents

        hooked = [] if found.cases else hooked_agents(project=Path.cwd(), environ=os.environ)
        show.report(found, hooked)
        show_trials.changes(found.changes)


def _digest(
    runtime: Runtime, since: float, form: str | None, often: int | None, *, notify: bool, as_json: bool
) -> None:
    from ratchet.sessions.digest import html, markdown

    found = runtime.digest(since=since, often=often)
    if notify and found.alerts:
        from ratchet.ports import Notice

        title = f"{len(found.alerts)} alerts" if len(found.alerts) > 1 else found.alerts[0]
        runtime.outbox.tell(Notice(title=f"Ratchet: {title}", text=markdown(found), level="warning", at=found.until))
    if as_json:
        show.as_json(shapes.used.DigestShape.shown_as(found))
    else:
        click.echo(html(found) if form == "html" else show.block(markdown(found)).plain, nl=False)
        if form is None:
            say_last(runtime, since)


def pasted(words: tuple[str, ...]) -> str:
    """The text, or that of the file which is named."""
    if len(words) == 1 and len(words[0]) < _PATH_CHARS and "\n" not in words[0] and words[0] != "-":
        path = Path(words[0])
        if path.is_file():
            with path.open("rb") as file:
                said = file.read(_FILE_BYTES).decode("utf-8", "replace")
            if not said.strip():
                raise UsageError(f"{path} holds no text; name another file, or give the text itself")
            if "\0" in said:
                raise UsageError(f"{path} is binary, no text; name the text itself")
            return said
    return _text(words)


def text_of(name: str) -> str:
    """The text of the file that an option names, or of standard input for `-`. Raises UsageError where there is no such
    file, or it holds no text."""
    if name != "-" and not Path(name).is_file():
        raise UsageError(f"no such file: {name}; name a file, or - for standard input")
    said = pasted((name,))
    if "\0" in said:
        raise UsageError("standard input is binary, no text; name the text itself")
    return said


_PATH_CHARS = 1_000
_FILE_NAME = re.compile(r"[\w.@+~%/\\-]*(?:/[\w.@+%-]+|\.[a-z][a-z0-9]{0,7})")
"""One word that looks like a file's path: folders stand in it, or it ends as files do."""
_FILE_BYTES = 8_000_000  # of a log: its ends are looked at, and more than this is no paste


def _text(words: tuple[str, ...]) -> str:
    text = sys.stdin.buffer.read().decode("utf-8", "replace") if words == ("-",) else " ".join(words)
    if not text.strip():
        raise UsageError("the text is empty; pass the error as an argument, or `-` and pipe it in")
    return text
