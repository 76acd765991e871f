"""`ratchet bench`: benchmarks, and how well agents do on them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import cast, get_args

import click

from ratchet.cli import shapes, show, show_bench
from ratchet.cli.app import Commands, home_option, json_option, opened
from ratchet.cli.bench_watch import watch
from ratchet.cli.gathered import gathered
from ratchet.cli.net import NET
from ratchet.cli.numbers import Finite
from ratchet.cli.stopping import draining, heard
from ratchet.errors import BackendError, NotFound, UsageError
from ratchet.evolving.bench.agents import agent_of
from ratchet.evolving.bench.benchmark import Split
from ratchet.evolving.bench.book import BenchAsked, BenchBook, BenchChecking, BenchMeans, ImportFormat
from ratchet.evolving.bench.granting import grant
from ratchet.evolving.bench.rows import BenchRun
from ratchet.evolving.job import ExecutorName
from ratchet.ports import Progress

CANCELLED = 130


@click.group(cls=Commands)
def bench() -> None:
    """Benchmarks, and how well agents do on them."""


bench.add_command(watch)


@bench.command("list")
@home_option
@json_option
def list_benchmarks(as_json: bool) -> None:
    """The benchmarks that are here: shipped and imported."""
    book = opened().benchmarks
    found = [book.benchmark(name) for name in book.names()]
    show.as_json([shapes.bench.BenchmarkShape.built(each) for each in found]) if as_json else show_bench.benchmarks(
        found
    )


@bench.command("show")
@click.argument("name")
@click.argument("task_id", default="")
@click.option("--evaluations", is_flag=True, help="With --json, of a run: every single evaluation.")
@home_option
@json_option
def show_one(name: str, task_id: str, evaluations: bool, as_json: bool) -> None:
    """A benchmark's tasks, one task, or a run by its id.

    Graders and right answers are not shown: an agent might read along.
    """
    book = opened().benchmarks
    if name not in book.names() and name.startswith("bn"):
        held, found = book.figures(name)
        noise = book.noise(name) if held.aa else None
        if not as_json:
            show_bench.measured(held, found, noise=noise, every=True)
            return
        shape = shapes.bench.MeasuredBenchRunShape.measured(held, found, noise)
        if evaluations:
            shape = shapes.bench.EvaluatedBenchRunShape.measured(held, found, noise, evaluations=book.evaluations(name))
        show.as_json(shape)
        return
    benchmark = book.benchmark(name)
    if task_id:
        task = next((each for each in benchmark.tasks if each.id == task_id), None)
        if task is None:
            raise NotFound(f"benchmark {name} has no task {task_id!r}; `ratchet bench show {name}` lists them")
        show.as_json(shapes.bench.BenchTaskShape.built(task)) if as_json else show_bench.task(task)
    else:
        show.as_json(shapes.bench.BenchmarkDetailShape.built(benchmark)) if as_json else show_bench.benchmark(benchmark)


_ASKED = (
    click.option("--split", type=click.Choice(get_args(Split)), help="Only tasks of this split."),
    click.option("--tasks", multiple=True, metavar="GLOB", help="Only tasks with such ids."),
    click.option("--repeats", default=1, show_default=True, type=click.IntRange(1), help="How often each task is run."),
    click.option(
        "--seed", default=0, show_default=True, type=click.IntRange(0), help="Of the first repeat; then one more."
    ),
    click.option("--parallel", default=1, show_default=True, type=click.IntRange(1, 256), help="How many run at once."),
    click.option("--executor", default="threads", show_default=True, type=click.Choice(get_args(ExecutorName))),
    click.option("--aa", is_flag=True, help="The agent against itself, with other seeds: prints the noise floor."),
    click.option("--net", type=NET, help="Network that the agent reaches."),
    click.option("--pass-env", "pass_env", multiple=True, metavar="NAME", help="A variable that the agent gets."),
    click.option("--ro", "readable", multiple=True, type=click.Path(path_type=Path), help="A path that it may read."),
    click.option("--unsafe-no-sandbox", "unsafe", is_flag=True, help="Plain processes, no protection; kept on record."),
)


@bench.command("run")
@click.option("--agent", metavar="DIR|SPEC", help="A folder, a command, module:function, or an address.")
@click.option("--bench", "name", default="core", show_default=True, metavar="NAME", help="The benchmark.")
@click.option("--budget-usd", type=Finite(0), help="Money for all of it.  [default: 10]")
@click.option("--budget-s", type=Finite(0, min_open=True), help="Seconds for all of it.  [default: a day]")
@click.option("--resume", metavar="ID", help="Go on with a run that was stopped, killed, or out of budget.")
@gathered(_ASKED, "asked", BenchAsked)
@home_option
@json_option
def run(
    agent: str | None,
    name: str,
    budget_usd: float | None,
    budget_s: float | None,
    resume: str | None,
    asked: Callable[..., BenchAsked],
    as_json: bool,
) -> None:
    """Measure an agent on a benchmark.

    AGENT is a folder with a ratchet-agent.toml, a command with {task}, {workdir}, {agent} and {seed}, a Python callable
    module:function, or an http(s) address. It works in the sandbox on a fresh copy of each task's files; graders come
    once it is gone. What the machine did wrong is "unmeasured", never a wrong answer.

    Ctrl-C once lets what is under way end, twice stops it.

    \b
    Exit codes: 0 all of it ran; 1 the budget ended it first; 6 nothing could be measured; 130 stopped.
    """
    if (agent is None) == (resume is None):
        raise UsageError("give --agent DIR|SPEC, or --resume ID")
    book = opened(begins=True).benchmarks
    with draining() as asked_to_stop, show_bench.progress(quiet=as_json) as told:
        means = BenchMeans(
            told=heard(told, asked_to_stop), stopping=asked_to_stop.is_set, usd=budget_usd, seconds=budget_s
        )
        if resume is not None:
            ended = book.resume(resume, means)
        else:
            request = asked(
                agent=agent or "",
                bench=name,
                usd=10.0 if budget_usd is None else budget_usd,
                seconds=86_400.0 if budget_s is None else budget_s,
                cwd=Path.cwd(),
            )
            ended = book.run(request, means)
    _tell(book, ended.id, as_json=as_json)


def _tell(book: BenchBook, run: str, *, as_json: bool) -> None:
    """Show how a run ended, and end the command as it did."""
    held, found = book.figures(run)
    noise = book.noise(run) if held.aa else None
    with suppress(BrokenPipeError):  # it ended as it did, whoever reads of it
        if as_json:
            show.as_json(shapes.bench.MeasuredBenchRunShape.measured(held, found, noise))
        else:
            show_bench.measured(held, found, noise=noise)
    click.get_current_context().exit(_exit_code(held, nothing=found.runs > 0 and found.unmeasured == found.runs))


def _exit_code(held: BenchRun, *, nothing: bool) -> int:
    if nothing or held.state == "failed":
        return BackendError.exit_code
    if held.state == "cancelled":
        return CANCELLED
    return 0 if held.state == "ended" else 1


@bench.command("grant")
@click.argument("agent", metavar="DIR")
@click.option("--show", "only_show", is_flag=True, help="Only say what it asks for.")
@home_option
@json_option
def grant_wishes(agent: str, only_show: bool, as_json: bool) -> None:
    """Grant an agent what its ratchet-agent.toml asks for.

    The network, variables and files beyond its sandbox. Until then it does not run; once it asks for something else, it
    is asked about anew. What --net, --pass-env and --ro give for a run needs no grant.
    """
    found = grant(opened(begins=True).home, agent_of(agent, cwd=Path.cwd()), show=only_show)
    show.as_json(shapes.bench.GrantedShape.built(found)) if as_json else show_bench.granted(found)


@bench.command("history")
@click.option("--bench", "name", metavar="NAME", help="Only runs of this benchmark.")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1))
@home_option
@json_option
def history(name: str | None, limit: int, as_json: bool) -> None:
    """Runs, newest first, with their scores."""
    book = opened().benchmarks
    found = book.history(name=name, limit=limit)
    if as_json:
        show.as_json([shapes.bench.PastBenchRunShape.past(each) for each in found])
    else:
        show_bench.history(found, book.unlike_before(found))


@bench.command("compare")
@click.argument("first")
@click.argument("second")
@home_option
@json_option
def compare(first: str, second: str, as_json: bool) -> None:
    """Tell how much better the SECOND run is than the FIRST, in pairs, and what so many runs cannot see."""
    found = opened().benchmarks.compare(first, second)
    show.as_json(shapes.bench.BenchComparisonShape.compared(found)) if as_json else show_bench.compared(found)


@bench.command("check")
@click.argument("name")
@click.option("--unsafe-no-sandbox", "unsafe", is_flag=True, help="In plain processes, no protection.")
@home_option
@json_option
def check(name: str, unsafe: bool, as_json: bool) -> None:
    """Try whether each task tells a right answer from none.

    Its reference must pass, and doing nothing must not, each twice. `ratchet bench import` does this by itself.

    
    Exit codes: 0 every task can measure; 1 some cannot.
    """
    book = opened(begins=True).benchmarks
    with show.progress(quiet=as_json) as progress:
        found = book.check(name, _checking(unsafe, progress))
    show.as_json(shapes.bench.BenchCheckShape.built(found)) if as_json else show_bench.checked(found)
    raise SystemExit(1 if found.faults else 0)


def _checking(unsafe: bool, progress: Progress) -> BenchChecking:
    def told(done: int, planned: int) -> None:
        progress(done, planned, f"{done} of {planned} tasks checked")

    return BenchChecking(unsafe=unsafe, told=told)


@bench.command("import")
@click.argument("source")
@click.option(
    "--format", "kind", default="auto", show_default=True, type=click.Choice(get_args(ImportFormat)), help="What it is."
)
@click.option("--name", default="", metavar="NAME", help="What to call it here.")
@click.option("--folder", type=click.Path(path_type=Path), help="For a command: the files that the agent works on.")
@click.option("--instruction", default="", metavar="TEXT", help="For a command: what the agent is asked.")
@click.option("--scorer", default="", metavar="NAME", help="Of an Inspect log with several.")
@click.option("--no-check", is_flag=True, help="Take tasks as they are, also those that cannot measure.")
@click.option("--unsafe-no-sandbox", "unsafe", is_flag=True, help="Check in plain processes, no protection.")
@home_option
@json_option
def import_(
    source: str,
    kind: str,
    name: str,
    folder: Path | None,
    instruction: str,
    scorer: str,
    no_check: bool,
    unsafe: bool,
    as_json: bool,
) -> None:
    """Take what you measure with already, as a frozen benchmark: all of it or nothing.

    SOURCE is a folder of pytest tasks, JSON lines of HumanEval or EvalPlus, tests of promptfoo
    (promptfooconfig.yaml), a command that prints a score (--format command), or a log of Inspect (.eval, .json), which
    becomes a run to compare with.

    Each task is tried first, in the sandbox: its right answer must pass, and doing nothing must not, each twice.
    """
    from ratchet.evolving.bench.promptfoo import looks_like_promptfoo

    book = opened(begins=True).benchmarks
    is_log = source.endswith((".eval", ".json")) and not looks_like_promptfoo(Path(source))
    if kind == "inspect" or (kind == "auto" and is_log):
        held = book.import_run(Path(source), name=name, scorer=scorer)
        _, found = book.figures(held.id)
        show.as_json(shapes.bench.MeasuredBenchRunShape.measured(held, found)) if as_json else show_bench.measured(
            held, found
        )
        return
    with show.progress(quiet=as_json) as progress:
        made, fresh = book.import_tasks(
            source,
            kind=cast("ImportFormat", kind),
            name=name,
            folder=folder,
            instruction=instruction,
            checking=None if no_check else _checking(unsafe, progress),
        )
    if as_json:
        show.as_json(shapes.bench.ImportedBenchmarkShape.built(made, fresh=fresh))
        return
    show_bench.benchmarks([made])
    next_ = f"ratchet bench run --bench {made.name} --agent DIR" if fresh else "it was here already"
    show.line(f"Next: {next_}" if fresh else next_)
