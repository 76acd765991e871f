"""`ratchet bench watch`: a benchmark on a schedule, and whether it got worse."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import get_args

import click
from click.core import ParameterSource

from ratchet.cli import shapes, show, show_bench
from ratchet.cli.app import home_option, json_option, opened
from ratchet.cli.gathered import gathered
from ratchet.cli.net import NET
from ratchet.cli.numbers import Finite, Span
from ratchet.cli.stopping import draining, heard
from ratchet.errors import BackendError, UsageError
from ratchet.evolving.bench.benchmark import Split
from ratchet.evolving.bench.book import BenchAsked, BenchMeans
from ratchet.evolving.bench.watch import REPEATS, BenchWatch, UnitKind, WatchBook, keep_watch, only_watcher, units
from ratchet.files import replace as write_file

REGRESSED = 10
_REPEATED = ("split", "tasks", "parallel", "net", "pass_env", "readable", "unsafe", "budget_usd", "baseline_repeats")
_ASKED = (
    click.option("--split", type=click.Choice(get_args(Split)), help="Only tasks of this split."),
    click.option("--tasks", multiple=True, metavar="GLOB", help="Only tasks with such ids."),
    click.option("--parallel", default=1, show_default=True, type=click.IntRange(1, 256), help="How many run at once."),
    click.option("--net", type=NET, help="Network that the agent reaches."),
    click.option("--pass-env", "pass_env", multiple=True, metavar="NAME", help="A variable that the agent gets."),
    click.option("--ro", "readable", multiple=True, type=click.Path(path_type=Path), help="A path that it may read."),
    click.option("--unsafe-no-sandbox", "unsafe", is_flag=True, help="Plain processes, no protection; kept on record."),
)


@click.command()
@click.argument("name")
@click.option("--agent", required=True, metavar="DIR|SPEC", help="As in `ratchet bench run`.")
@click.option("--every", "every_s", type=Span(), help="Check so often: 30m, 6h, 1d. Stays until it is stopped.")
@click.option("--once", is_flag=True, help="Check once, as a timer calls it.")
@click.option("--status", is_flag=True, help="Only show how it stands.")
@click.option("--rebase", is_flag=True, help="Freeze a new baseline first.")
@click.option(
    "--baseline-repeats", default=REPEATS, show_default=True, type=click.IntRange(2), help="Runs of each task in it."
)
@click.option("--unit", type=click.Choice(get_args(UnitKind)), help="Write the files by which this machine checks.")
@click.option("--into", type=click.Path(path_type=Path), help="Their folder.  [default: the user's systemd, or .]")
@click.option("--budget-usd", default=10.0, show_default=True, type=Finite(0), help="Money for each check.")
@gathered(_ASKED, "asked", BenchAsked)
@home_option
@json_option
def watch(
    name: str,
    agent: str,
    every_s: float | None,
    once: bool,
    status: bool,
    rebase: bool,
    baseline_repeats: int,
    unit: UnitKind | None,
    into: Path | None,
    budget_usd: float,
    asked: Callable[..., BenchAsked],
    as_json: bool,
) -> None:
    """Run a benchmark on a schedule, and tell when the agent got worse.

    The first call measures a baseline and freezes it. Each check runs every task once, with the agent as it is by then.
    A regression is told when it is proven, by a sequential test over all checks: in 800 of them at most 5 % of
    watches raise a false alarm. It is told once, to the notifiers.

    \b
    Exit codes: 0 no regression; 6 nothing could be measured; 10 a regression; 130 stopped.
    """
    if (every_s is not None) + once + status != 1 and not (unit and every_s):
        raise UsageError("say when: --every 6h, --once, or --status")
    request = asked(agent=agent, bench=name, usd=budget_usd, cwd=Path.cwd())
    runtime = opened(begins=True)
    if unit:
        _write_units(unit, name, agent, every_s, into, runtime.home)
        return
    book = WatchBook(runtime.benchmarks, tell=runtime.outbox.tell)
    alone = nullcontext() if status else only_watcher(runtime.home, request)
    with alone, draining() as asked_to_stop, show_bench.progress(quiet=as_json) as told:
        means = BenchMeans(told=heard(told, asked_to_stop), stopping=asked_to_stop.is_set)
        held = None if rebase else book.find(request)
        if held is None and status:
            raise UsageError(f"nothing watches {agent} on {name} yet: leave --status out")
        if held is None:
            held = book.freeze(request, means, repeats=baseline_repeats)
            _tell(held, as_json=as_json)
        last = held

        def check() -> None:
            nonlocal last
            last = book.check(last, request, means)
            _tell(last, as_json=as_json)

        if every_s is not None:
            keep_watch(check, every_s, wait=asked_to_stop.wait, stopping=asked_to_stop.is_set)
        elif once and not asked_to_stop.is_set():
            check()
        else:
            _tell(last, as_json=as_json)
    click.get_current_context().exit(130 if asked_to_stop.is_set() else _exit_code(last))


def _exit_code(held: BenchWatch) -> int:
    if held.checks and held.checks[-1].score is None:
        return BackendError.exit_code
    return REGRESSED if held.regressed else 0


def _tell(held: BenchWatch, *, as_json: bool) -> None:
    with suppress(BrokenPipeError):
        show.as_json(shapes.watch.WatchShape.built(held)) if as_json else show_bench.watched(held)


def _write_units(unit: UnitKind, name: str, agent: str, every_s: float | None, into: Path | None, home: Path) -> None:
    if every_s is None:
        raise UsageError(f"say how often: --unit {unit} --every 6h")
    place = Path(agent).expanduser()
    argv = ["bench", "watch", name, "--agent", str(place.resolve()) if place.exists() else agent, "--once"]
    made = units(unit, name, [*argv, *_given(), "--home", str(home.resolve())], every_s)
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    folder = into or (config / "systemd" / "user" if unit == "systemd" else Path())
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in made.items():
        write_file(folder / file, text.encode())
        click.echo(f"wrote {folder / file}")
    if unit == "systemd":
        click.echo(f"Next: systemctl --user daemon-reload && systemctl --user enable --now ratchet-watch-{name}.timer")
    else:
        click.echo(f"Next: (crontab -l; cat {folder / next(iter(made))}) | crontab -")


def _given() -> list[str]:
    """The options about the run, as they were given here, for a timer to give them again."""
    ctx = click.get_current_context()
    found: list[str] = []
    for param in ctx.command.params:
        value = ctx.params.get(param.name or "")
        if param.name in _REPEATED and ctx.get_parameter_source(param.name) is ParameterSource.COMMANDLINE:
            for each in value if isinstance(value, tuple) else (value,):
                said = str(Path(each).resolve()) if param.name == "readable" else str(each)
                found += [param.opts[0]] if each is True else [param.opts[0], said]
    return found
