"""`ratchet sessions`, `ratchet forget`: what agents did, step by step; what it cost; and how to have it forgotten."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from ratchet.cli import shapes, show, show_sessions, tamed
from ratchet.cli.app import Records, home_option, json_option, opened
from ratchet.cli.folders import project_option
from ratchet.cli.numbers import Moment, say_last
from ratchet.errors import Refused, UsageError

if TYPE_CHECKING:
    from ratchet.sessions.cost import CostBy
    from ratchet.sessions.handoff import HandoffTo

_BY = ("model", "project", "agent", "tool", "pattern", "session", "day")
_project = project_option("Only what ran in this project.")
_since = click.option("--since", type=Moment(), metavar="WHEN", help="From then on: 2026-03-01, or 7d, 24h, 30m ago.")
_until = click.option("--until", type=Moment(), metavar="WHEN", help="Up to then.")


@click.group(cls=Records)
def sessions() -> None:
    """Sessions: what agents did step by step, what it cost, and all of it searched."""


@sessions.command("list")
@_project
@click.option("--agent", help="Only this agent's.")
@_since
@_until
@click.option("--limit", type=click.IntRange(1, 1_000), default=20, show_default=True, help="How many at most.")
@home_option
@json_option
def list_sessions(
    project: str | None, agent: str | None, since: float | None, until: float | None, limit: int, as_json: bool
) -> None:
    """List sessions, the one that did something last first."""
    runtime = opened()
    found = runtime.sessions.list(project=project, agent=agent, since=since, until=until, limit=limit)
    if as_json:
        show.as_json(shapes.sessions.SessionsShape.built(found))
    else:
        show_sessions.listed(found, narrowed=any(each is not None for each in (project, agent, since, until)))
        say_last(runtime, since)


@sessions.command("show")
@click.argument("session_id")
@click.option("--thread", help="Only a subagent's steps, by its name; empty: only the agent's own.")
@click.option("--at", default="", metavar="STEP", help="The steps from this one on.")
@click.option("--failed", is_flag=True, help="Only steps that failed.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=40, show_default=True, help="Steps at most.")
@click.option("--cursor", help="`next` of the part before.")
@home_option
@json_option
def show_session(
    session_id: str, thread: str | None, at: str, failed: bool, limit: int, cursor: str | None, as_json: bool
) -> None:
    """One session step by step.

    SESSION_ID may be the beginning of one, or a step's id: then it is that step whole, with its result.
    """
    book = opened().sessions
    if show_sessions.is_step(session_id):
        step = book.step(session_id)
        show.as_json(shapes.sessions.OutcomeDetailShape.built(step)) if as_json else show_sessions.step(step)
        return
    found = book.show(session_id, thread=thread, at=at, failed=failed, limit=limit, cursor=cursor)
    show.as_json(shapes.sessions.SessionDetailShape.shown(found)) if as_json else show_sessions.opened(found)


@sessions.command("search")
@click.argument("text", nargs=-1)
@_project
@click.option("--agent", default="", help="Only this agent's steps.")
@click.option("--tool", default="", help="Only calls of this tool.")
@click.option("--kind", default="", help="Only failures of this kind.")
@click.option("--model", default="", help="Only steps of this model.")
@click.option("--command", default="", help="Only failed runs of this command, as `patterns --by command` names it.")
@click.option("--file", default="", help="Only edits of this file (or path's end), and failed commands that named it.")
@click.option("--failed", is_flag=True, help="Only steps that failed.")
@_since
@_until
@click.option("--limit", type=click.IntRange(1, 200), default=10, show_default=True, help="Of each noun at most.")
@home_option
@json_option
def search(
    text: tuple[str, ...],
    project: str | None,
    agent: str,
    tool: str,
    kind: str,
    model: str,
    command: str,
    file: str,
    failed: bool,
    since: float | None,
    until: float | None,
    limit: int,
    as_json: bool,
) -> None:
    """Find what has all of these words: steps, edits, what people said, patterns, lessons.

    TEXT may be a whole output: then it is what is known to fix it. Without TEXT it is the newest steps that the options
    leave.
    """
    runtime = opened()
    found = runtime.sessions.search(
        " ".join(text),
        project=project,
        agent=agent,
        tool=tool,
        kind=kind,
        model=model,
        command=command,
        file=file,
        failed=failed,
        since=since,
        until=until,
        limit=limit,
    )
    if as_json:
        show.as_json(shapes.used.SearchFoundShape.built(found))
    else:
        show_sessions.found(found)
        say_last(runtime, since)


@sessions.command("cost")
@click.option("--by", type=click.Choice(_BY), default="model", show_default=True)
@_project
@_since
@_until
@home_option
@json_option
def cost(by: str, project: str | None, since: float | None, until: float | None, as_json: bool) -> None:
    """Sum up tokens and money, and how much of both was waste."""
    runtime = opened()
    book = runtime.sessions
    found = book.costs(by=cast("CostBy", by), project=project, since=since, until=until)
    if as_json:
        show.as_json(shapes.used.CostsShape.built(found))
    else:
        show_sessions.costs(found, book.cost_words(found, limit=show_sessions.COSTS))
        say_last(runtime, since)


@sessions.command("how")
@click.argument("tool", nargs=-1, required=True)
@_project
@click.option("--limit", type=click.IntRange(1, 200), default=12, show_default=True, help="How many at most.")
@home_option
@json_option
def how(tool: tuple[str, ...], project: str | None, limit: int, as_json: bool) -> None:
    """List how a tool or a command was called here, those ways first that worked.

    TOOL is a tool's name, or a command of a shell: `ratchet sessions how git rebase`.
    """
    found = opened().sessions.ways(" ".join(tool), project=project, limit=limit)
    show.as_json(shapes.used.ToolWaysShape.built(None, ways=found)) if as_json else show_sessions.ways(found)


@sessions.command("restore")
@click.argument("path")
@click.option("--step", default="", metavar="ID", help="Before this edit, instead of the last session's first.")
@click.option("--write", is_flag=True, help="Put it into the file; else it is only printed.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask before it is written.")
@home_option
@json_option
def restore(path: str, step: str, write: bool, yes: bool, as_json: bool) -> None:
    """Print what a file held before the last session that edited it.

    It comes out of the session's history, whole where that has it. PATH may be the end of one. With --write it is a
    file in this folder, which is replaced if all of it is known and you agree to the change.
    """
    if write and as_json and not yes:
        raise UsageError("with --json nobody is asked: say --yes to have it written, or leave --write out to see it")
    place = _place(path) if write else ""
    found = opened().sessions.replaced(path, step=step, place=place)
    if write and not found.whole:
        raise UsageError(f"only the replaced lines of {found.path} are known, not all of it: nothing was written")
    written = write and _written(place, found.text, yes=yes)
    if as_json:
        show.as_json(shapes.used.ReplacedShape.built(found, written=written))
    elif write:
        said = f"is as it was before session {found.session}" if written else "holds that already: nothing to change"
        show.line(f"{place} {said}")
    else:
        tamed.say(found.text if found.text.endswith("\n") else f"{found.text}\n")
        what = "all of" if found.whole else "replaced lines of"
        about = f"{what} {found.path} before {show.number(found.edits, 'edit')} of session {found.session}"
        show.console(stderr=True).print(show.plain(about), "dim")


def _place(path: str) -> str:
    """The file of a path without links. Raises Refused outside of the current folder: what a history names may be
    anywhere."""
    folder, place = os.path.realpath("."), os.path.realpath(path)
    if os.path.commonpath((folder, place)) != folder:
        raise Refused(f"{path} is {place}, outside of {folder}: nothing was written; go to its folder, then try again")
    return place


def _written(place: str, text: str, *, yes: bool) -> bool:
    """Write a file whose change the person agrees to, unless somebody changes it meanwhile; False: it is so already."""
    from ratchet import files
    from ratchet.integrations import settings_file

    try:
        after = text.encode()
    except UnicodeEncodeError as error:
        raise Refused(f"the history has half a character in {place}, so not all of it: nothing was written") from error
    before = files.read(place)
    if before == after:
        return False
    if not yes:
        held = None if before is None else files.text_of(before)
        show.diff(settings_file.diff(Path(place), held, text))
        click.confirm("Make this change?", abort=True, err=True)
    files.swap(place, files.version_of(before), after)
    return True


@sessions.command("handoff")
@click.argument("session_id")
@click.option("--to", type=click.Choice(["any", "codex", "claude-code"]), default="any", show_default=True,
              help="Who goes on.")  # fmt: skip
@home_option
@json_option
def handoff(session_id: str, to: str, as_json: bool) -> None:
    """Digest a session, for another agent to go on with.

    `codex "$(ratchet sessions handoff ID --to codex)"` begins with it.
    """
    found = opened().sessions.handoff(session_id, to=cast("HandoffTo", to))
    show.as_json(shapes.used.HandoffShape.built(found)) if as_json else click.echo(show.block(found.text).plain)


@click.command()
@click.argument("what", required=False, default="")
@click.option("--before", type=Moment(), metavar="DATE", help="Everything that ended before then.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@home_option
@json_option
def forget(what: str, before: float | None, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Forget sessions: rows, texts, index and evidence, and prove it.

    WHAT is a session's id, or a project: its folder, its name, the end of one. Counts that others share are taken
    back; what rests on nothing else goes. The histories themselves are your client's: they stay, and are not read
    again.
    """
    book = opened().sessions
    named = str(Path(what).absolute()) if what and Path(what).is_dir() else what
    if not dry_run and not yes:
        if as_json:
            raise UsageError("with --json nobody is asked: say --yes to forget, or --dry-run to see what would go")
        with show.progress(quiet=False) as progress:
            planned = book.forget(named, before=before, dry_run=True, progress=progress)
        if not planned.sessions:
            click.echo("Nothing to forget: no session is known of that")
            return
        rows = sum(planned.removed.values())
        title = book.show(planned.sessions[0], limit=1).summary.title if len(planned.sessions) == 1 else ""
        said = f" ({show.plain(title, 80)})" if title else ""
        _agreed(f"Forget {show.number(len(planned.sessions), 'session')}{said}, {rows:,} rows?")
    with show.progress(quiet=as_json) as progress:
        done = book.forget(named, before=before, dry_run=dry_run, progress=progress)
    show.as_json(shapes.used.ForgottenShape.built(done)) if as_json else show_sessions.forgotten(done)
    if done.done and (done.left or done.traces or done.beside):
        click.get_current_context().exit(1)


def _agreed(question: str) -> None:
    """Ask a person. Raises Abort for a no, UsageError where nobody can answer."""
    try:
        click.confirm(question, abort=True, err=True)
    except click.Abort as error:
        if isinstance(error.__context__, EOFError):
            click.echo(err=True)  # the question stands without its answer
            raise UsageError(
                "nobody is there to be asked: say --yes to forget, --dry-run to see what would go"
            ) from None
        raise
