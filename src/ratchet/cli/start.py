"""Commands that bring records in: init, learn, watch-dir, record, demo."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from ratchet.cli import shapes, show, show_learned
from ratchet.cli.app import home_option, json_option, opened
from ratchet.cli.folders import PATH
from ratchet.cli.numbers import Finite
from ratchet.errors import NotFound, StoreError, UsageError
from ratchet.integrations.install import waiting
from ratchet.lessons import exposure
from ratchet.lessons.backtest.telling import said as told
from ratchet.records import Fields

if TYPE_CHECKING:
    from ratchet.lessons.learning import Learned
    from ratchet.runtime import Runtime


@click.command()
@home_option
@json_option
def init(as_json: bool) -> None:
    """Create the home folder and an empty store.

    Not needed: the first `learn` or `record` does it.
    """
    home = opened(begins=True).init()
    if as_json:
        show.as_json(shapes.machine.HomeShape(home=str(home)))
    else:
        show.line(f"ready: {home}")
        click.echo("next: ratchet learn            read the histories on this machine")


@click.command()
@click.argument("paths", nargs=-1, type=PATH)
@click.option(
    "--list", "only_list", is_flag=True, help="List the homes of histories on this machine, and read nothing."
)
@home_option
@json_option
def learn(paths: tuple[Path, ...], only_list: bool, as_json: bool) -> None:
    """Read session histories and logs.

    Finds what failed, how often, and what fixed it. PATHS are files or folders; without any, the homes of all coding
    agents that are known (--list shows them). Reading the same history again adds nothing; a grown file is continued.
    Understood: sessions of coding agents, conversations with tool calls, JSON lines, OTLP traces, logs.
    """
    runtime = opened(begins=True)
    if only_list:
        if paths:
            raise UsageError("--list shows the homes that are known: leave the paths out")
        homes = runtime.histories()
        if as_json:
            show.as_json([shapes.machine.HistoryHomeShape.built(each) for each in homes])
        else:
            show_learned.homes(homes)
        return
    if not paths and not as_json:
        show_learned.homes_read(runtime.histories())
    with show.progress(quiet=as_json) as progress:
        learned = runtime.learn(paths, progress=progress)
    reasons = show_learned.reasons(learned)
    if paths and not (learned.files or reasons):
        raise NotFound(f"no file in {', '.join(map(str, paths))}; name a history, or a folder that holds some")
    taught = _silent(learned) < learned.files
    if as_json:
        show.as_json(shapes.lessons.LearnedShape.built(learned))
    elif taught or not reasons:
        _told(runtime, learned, of_all=not paths)
    silent = {each.path for each in learned.notes} | {each.path for each in learned.quarantined if not each.line}
    named = sorted(silent & set(map(str, paths)))
    if named or (reasons and not taught):
        if not (as_json or taught) and len(reasons) > 1:
            show_learned.skipped(reasons)
        asked = ", ".join(named or map(str, paths)) or "the histories of this machine"
        where, why = reasons[0]
        one = why if where == asked else f"{where}: {why}"
        raise UsageError(
            f"nothing was learnt from {asked}" + (f": {one}" if len(reasons) == 1 else "; see the reasons above")
        )


def _silent(learned: Learned) -> int:
    """Count the files that taught nothing."""
    return len({each.path for each in learned.notes}) + learned.unread


def _told(runtime: Runtime, learned: Learned, *, of_all: bool) -> None:
    """Show what a run learnt: where it read some files alone, what is about their projects."""
    words = runtime.lessons.words() if learned.corrections else ()
    is_some = any(of_all or each.project in learned.projects for each in runtime.lessons.list())
    in_all = of_all or (_silent(learned) < learned.files and (is_some or not learned.outcomes))
    prevented = _replayed(runtime, learned) if in_all else ""  # it decides which lessons come first
    lessons = [each for each in runtime.lessons.list() if of_all or each.project in learned.projects]
    if not of_all:
        words = tuple(each for each in words if each.project in learned.projects)
        learned = replace(learned, corrections=len(words))
    show_learned.learned(
        learned,
        runtime.lessons.facts(among=learned.projects, limit=len(learned.projects)),
        lessons,
        words,
        prevented=prevented,
        waiting=waiting(runtime.home, project=Path.cwd(), environ=os.environ) if in_all and learned.outcomes else 0,
        withheld=exposure.published(str(runtime.home)).withheld,
        following=bool(learned.outcomes),
    )


def _replayed(runtime: Runtime, learned: Learned) -> str:
    """The line of what lessons would have spared; "" where none could have been told."""
    replay = None if learned.outcomes else runtime.lessons.replayed()
    with show.progress(quiet=replay is not None) as progress:
        replay = runtime.lessons.backtest(progress=progress) if replay is None else replay
    return told(replay) if replay.right + replay.wrong + replay.unknown else ""


@click.command("watch-dir")
@click.argument("folder", type=PATH)
@click.option("--once", is_flag=True, help="Take what is there now, then end.")
@click.option(
    "--interval-s", type=click.FloatRange(0.1, 3600), default=2.0, show_default=True, help="Between two looks."
)
@home_option
@json_option
def watch_dir(folder: Path, once: bool, interval_s: float, as_json: bool) -> None:
    """Take JSON files that agents drop into a folder.

    One that was read goes to FOLDER/.processed/, a bad one to FOLDER/.rejected/ with the reason beside it. Watches
    until Ctrl-C, unless --once is given.
    """
    runtime = opened(begins=True)
    while True:
        polled = runtime.poll_folder(folder)
        if as_json:
            show.as_json(shapes.lessons.PolledShape.built(polled))
        elif polled.processed or polled.rejected or once:
            show.polled(polled)
        if once:
            return
        time.sleep(interval_s)


@click.command()
@click.argument("agent", required=False)
@click.option("--task", default="", help="What was asked for.")
@click.option("--ok/--failed", "ok", default=None, help="Did it succeed? (default: unless --error is given)")
@click.option("--error", help="The error text; `-` reads standard input.")
@click.option("--score", type=Finite(0, 1), help="0 to 1, higher is better.")
@click.option("--quality", type=Finite(1, 5), help="1 to 5, maps onto the score.")
@click.option("--duration-s", type=Finite(0), help="Seconds it took.")
@click.option("--cost-usd", type=Finite(0))
@click.option("--tokens", type=click.IntRange(0))
@click.option("--model", default="")
@click.option("--session", default="", help="Groups outcomes that belong together.")
@click.option("--status", type=click.IntRange(100, 599), help="HTTP status of the failure.")
@click.option("--exit-code", type=int, help="Exit code of the failure.")
@home_option
@json_option
def record(agent: str | None, as_json: bool, error: str | None, **given: object) -> None:
    """Record one run of an agent, e.g. from a shell script.

    AGENT is any name that its runs share. Prints the outcome's id.
    """
    if not agent:
        raise UsageError("name the agent: ratchet record AGENT --ok, or --error TEXT")
    if error == "-":
        error = sys.stdin.buffer.read().decode("utf-8", "replace")
    said = {name: value for name, value in given.items() if value is not None}
    fields = cast("Fields", {**said, "error": error, "source": "cli"})
    runtime = opened(begins=True)
    outcome_id = runtime.record(agent, **fields)
    if runtime.recorder.lost:  # a program must not fail for a record of it; who came to record one is told
        raise StoreError("nothing was recorded: free some space or give write access, then record it again")
    show.as_json(shapes.failures.OutcomeIdShape(id=outcome_id)) if as_json else click.echo(outcome_id)


@click.command()
@click.option("--serve", "served", is_flag=True, help="Serve a home that has something on every page, until Ctrl-C.")
@click.option("--port", default=8484, show_default=True, type=click.IntRange(0, 65_535), help="With --serve.")
@json_option
def demo(served: bool, port: int, as_json: bool) -> None:
    """See it work on a small history that ships with Ratchet.

    No key, no network, nothing of yours is touched.
    """
    if served:
        from ratchet.cli.demo_serve import serve

        serve(port)
        return
    from ratchet.cli.demo import play

    result = play(quiet=as_json)
    if as_json:
        show.as_json(result)
