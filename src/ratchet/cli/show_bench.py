"""Draws benchmarks and their runs for people: scores with intervals, and what so many runs cannot see."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from ratchet.cli.show import ago, bars_console, console, number, plain, ticking
from ratchet.cli.terminal import Console, Styled
from ratchet.evolving.bench.benchmark import Benchmark, BenchTask, Evaluation
from ratchet.evolving.bench.book import ComparedRuns
from ratchet.evolving.bench.checking import BenchCheck
from ratchet.evolving.bench.figures import MDE, POWER, Figures, Interval, Paired, TaskFigures
from ratchet.evolving.bench.granting import Granted
from ratchet.evolving.bench.rows import BenchRun
from ratchet.evolving.bench.watch import LOSS, BenchWatch, sentence
from ratchet.failures.spans import span

_STATE_STYLES = {"ended": "green", "running": "cyan", "budget": "yellow", "cancelled": "yellow", "killed": "yellow"}
_PATH_CHARS = 5_000  # more than a path may have


def benchmarks(found: Sequence[Benchmark]) -> None:
    out = console()
    for each in found:
        splits = Counter(task.split for task in each.tasks)
        kinds = Counter(task.kind for task in each.tasks)
        line = Styled(f"{each.name:<20} ", "bold").append(f"{number(len(each.tasks), 'task'):<12}", "default")
        line.append(", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())))
        line.append(f"  {' / '.join(f'{splits[name]} {name}' for name in ('dev', 'gate', 'sealed'))}", "dim")
        out.print(line.append(f"  {each.hash}", "dim"))


def benchmark(found: Benchmark) -> None:
    """A benchmark's tasks by kind; no grader, no reference."""
    out = console()
    out.print(Styled(found.name, "bold").append(f"  {found.title}  ", "default").append(found.hash, "dim"))
    for task in sorted(found.tasks, key=lambda each: (each.kind, each.id)):
        line = Styled(f"  {task.kind:<6}{task.split:<8}").append(plain(task.id, 60))
        if task.title and task.title != task.id:
            line.append("  ").append(plain(task.title, 80))
        out.print(line.append("  smoke" if task.smoke else "", "cyan"))


def checked(found: BenchCheck) -> None:
    """The tasks that cannot measure, each with its reason."""
    out = console()
    for each in found.faults:
        out.print(Styled(plain(each.task, 60).plain, "bold").append(": ").append(plain(each.reason, 300)))
    good = found.tasks - len(found.faults)
    said = f"{good} of {number(found.tasks, 'task')} can measure"
    if found.unproven:
        said += f"; {found.unproven} without a right answer: there only doing nothing was tried"
    out.print(Styled(f"{said}.", "red" if found.faults else "green"))


def granted(found: Granted) -> None:
    """An agent's wishes, a line each and whole: what is granted is to be seen."""
    out = console()
    for each in found.asks:
        out.print(Styled("  ").append(plain(each, _PATH_CHARS)), soft_wrap=True)
    if not found.asks:
        said = "asks for nothing beyond its sandbox."
    else:
        said = "gets that, until it asks for something else." if found.granted else "does not get that."
    out.print(Styled(f"{plain(found.folder, _PATH_CHARS).plain} {said}"), soft_wrap=True)


def task(found: BenchTask) -> None:
    out = console()
    out.print(Styled(found.id, "bold").append(f"  {found.kind}, {found.split}, scored by {found.scorer}"))
    out.print(Styled("".join(c for c in found.instruction if c == "\n" or c.isprintable())), soft_wrap=True)
    for path in sorted(found.files):
        out.print(Styled("  ").append(plain(path)), style="dim")


@contextmanager
def progress(*, quiet: bool) -> Iterator[Callable[[Evaluation, int, int], None]]:
    """A bar with rate and money on a terminal; elsewhere a line now and then, or nothing."""
    if quiet:
        yield lambda _made, _done, _planned: None
        return
    if not sys.stderr.isatty():
        last = ["measuring"]
        sums = {"usd": 0.0, "unmeasured": 0}

        def kept(made: Evaluation, done: int, planned: int) -> None:
            sums["usd"] += made.cost_usd
            sums["unmeasured"] += not made.measured
            gone = f", {sums['unmeasured']} not measured" if sums["unmeasured"] else ""
            last[:] = [f"{done} of {planned} runs, {sums['usd']:.2f} USD{gone}"]

        with ticking(lambda: last[0]):
            yield kept
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    with Bars(*columns, console=bars_console(), transient=True) as bars:
        bar = bars.add_task("measuring", total=None)
        spent = {"usd": 0.0, "fresh": 0.0, "unmeasured": 0.0}

        def told(made: Evaluation, done: int, planned: int) -> None:
            spent["usd"] += made.cost_usd
            spent["fresh"] += 1
            spent["unmeasured"] += not made.measured
            elapsed = bars.tasks[0].elapsed or 0.0
            rate = 60 * spent["fresh"] / elapsed if elapsed else 0.0
            gone = f", {spent['unmeasured']:.0f} not measured" if spent["unmeasured"] else ""
            said = f"{rate:.0f}/min, {spent['usd']:.2f} USD{gone}"
            bars.update(bar, completed=done, total=planned, description=said)

        yield told


def measured(held: BenchRun, found: Figures, *, noise: Paired | None = None, every: bool = False) -> None:
    """A run's score, its weak tasks (or all), and what to do next."""
    out = console()
    _head(out, held)
    shown = [each for each in found.tasks if every or each.score.mean < 1 or each.unmeasured or each.tampered]
    often = Counter(each.reason for each in shown)
    for each in shown:
        _task(out, each, reason=each.reason if often[each.reason] == 1 else "")
    for reason, count in often.most_common():
        if reason and count > 1:
            out.print(Styled(f"  {count} tasks: ").append(plain(reason, 160)))
    right = len(found.tasks) - len(shown)
    if right:
        out.print(f"  {number(right, 'task')} all right", style="dim")
    if found.score.n:
        out.print(Styled("score ").append(_percent(found.score), "bold").append(f"  {_counts(found)}", "dim"))
    out.print(
        f"the agent ran for {span(found.wall_s)} in all ({span(held.duration_s)} by the clock), "
        f"{found.cost_usd:.2f} USD, {f'{found.tokens:,} tokens' if found.tokens else 'no tokens reported'}"
    )
    for said in held.tampered:
        out.print(Styled("  changed   ", "red").append(plain(said)))
    if found.unmeasured:
        out.print(f"{number(found.unmeasured, 'run')} could not be measured: no wrong answers, and in no score")
    if noise is not None:
        _noise(out, noise)
    if held.state == "running":
        out.print("  A process runs it.")
    elif held.state != "ended" and not held.source:
        out.print(f"  Next: ratchet bench run --resume {held.id}")
    elif not every and not held.source:
        out.print(f"Next: ratchet bench compare {held.id} OTHER_RUN, or better it: ratchet evolve")


def history(found: Sequence[BenchRun], unlike: Mapping[str, tuple[str, tuple[str, ...]]]) -> None:
    """Runs, each with what differs from the one before it of the same agent."""
    out = console()
    if not found:
        out.print("No runs yet. Next: ratchet bench run --agent DIR measures an agent.")
    for held in found:
        score = Interval(mean=held.mean, low=held.low, high=held.high, n=held.runs - held.unmeasured)
        line = Styled(f"{held.state:<10}", _STATE_STYLES.get(held.state, "red"))
        line.append(f"{_percent(score) if score.n else 'no score':<24}", "default")
        line.append(f"{held.name:<14} ").append(plain(held.agent_name, 60))
        about = f"  {number(held.runs, 'run')}, {held.cost_usd:.2f} USD, {ago(held.started_at)}"
        out.print(line.append(f"{about}{', A/A' if held.aa else ''}  {held.id}", "dim"))
        if held.id in unlike:
            old, said = unlike[held.id]
            out.print(Styled(" " * 10).append(plain(f"unlike {old}: {'; '.join(said)}", 300)))


def compared(found: ComparedRuns) -> None:
    """The gain with its interval, what is not in it, and what so many pairs cannot see."""
    out = console()
    for letter, held, score in zip("AB", (found.first, found.second), found.scores, strict=True):
        line = Styled(f"{letter} ", "bold").append(f"{_percent(score) if score.n else 'no score'}  ")
        out.print(line.append(plain(held.agent_name, 80)).append(f"  {held.id}", "dim"))
    said = "; ".join(found.unlike) or "nothing: the same version of the agent, run alike"
    out.print(Styled("what differs: ").append(plain(said, 400)))
    pairs = found.paired
    if not pairs.gain.n:
        out.print("no pair could be measured on both sides: nothing can be said")
        return
    style = "green" if pairs.gain.low > 0 else "red" if pairs.gain.high < 0 else "default"
    out.print(
        Styled("B - A ")
        .append(_points(pairs.gain), f"bold {style}")
        .append(
            f"  ({number(pairs.gain.n, 'pair')} over {number(pairs.tasks, 'task')}: {pairs.better} better, "
            f"{pairs.worse} worse)",
            "default",
        ),
    )
    _left_out(out, pairs)
    out.print(cannot_see(pairs))
    floor = found.noise_floor
    if floor is not None:
        side = "within" if abs(pairs.gain.mean) <= floor else "beyond"
        said = f"noise floor on so many pairs: +-{100 * floor:.1f} points (A/A run {found.noise_run}); "
        out.print(f"{said}the difference is {side} it")
    else:
        out.print("noise floor: not measured here; `ratchet bench run --aa` measures it", style="dim")


def watched(held: BenchWatch) -> None:
    """A watch in a line or two: what it says, and how soon it will tell of a loss."""
    out = console()
    last = held.checks[-1] if held.checks else None
    if last is None:
        base = held.baseline
        score = _percent(Interval(mean=base.mean, low=base.low, high=base.high))
        out.print(Styled("baseline ", "bold").append(f"{score}  {base.id}", "default"))
        _plan(out, held)
        return
    score_said = "not measured" if last.score is None else f"{100 * last.score:.1f} %"
    line = Styled(f"check {len(held.checks)}: {score_said}  ", "bold")
    out.print(line.append(sentence(held), "red" if held.regressed else "default"))
    if held.regressed and held.since is not None:
        out.print(f"  Next: ratchet bench compare {held.baseline.id} {held.since.id}")


def _plan(out: Console, held: BenchWatch) -> None:
    made = held.plan()
    if made is None:
        out.print(f"  the score did not vary over {number(held.baseline.repeats, 'run')} of it")
    elif made.most is None:
        out.print(
            f"  a loss of {100 * LOSS:.0f} points may stay unseen: one check varies by {100 * held.noise:.1f}."
            " More tasks show smaller losses",
        )
    else:
        out.print(
            f"  a loss of {100 * LOSS:.0f} points is told after about {made.median} checks, in nine of ten cases within"
            f" {made.most} (begun after {made.quiet} checks; one varies by {100 * held.noise:.1f} points)",
        )


def cannot_see(pairs: Paired) -> str:
    """Say what so many pairs can and cannot tell."""
    needed = pairs.needed()
    each = pairs.gain.n / pairs.tasks if pairs.tasks else 0.0
    times = "once" if each <= 1 else f"{each:.0f} times"
    said = f"{number(pairs.tasks, 'task')} {times}"
    if pairs.gain.n >= needed:
        return f"{said} can resolve {100 * MDE:.0f} points: {needed:,} pairs show them in {POWER:.0%} of cases"
    repeats = math.ceil(needed / pairs.tasks) if pairs.tasks else 0
    return (
        f"{said} cannot resolve {100 * MDE:.0f} points; to show them in {POWER:.0%} of cases needs {needed:,} pairs "
        f"(--repeats {repeats} on these tasks), since {100 * pairs.spread:.0f} % of pairs differ"
    )


def _left_out(out: Console, pairs: Paired) -> None:
    if pairs.left_out:
        out.print(
            f"left out: {number(pairs.left_out, 'pair')} that could not be measured "
            f"({pairs.left_out_first} in A, {pairs.left_out_second} in B)"
        )
        if pairs.left_out_second > pairs.left_out_first:
            out.print(f"  if B's were all wrong answers, B - A would be {100 * pairs.worst:+.1f} points")
    if pairs.unpaired:
        out.print(f"without a partner: {number(pairs.unpaired, 'run')}")


def _noise(out: Console, noise: Paired) -> None:
    out.print(
        Styled("noise floor ", "bold")
        .append(f"+-{100 * noise.gain.half_width:.1f} points")
        .append(f"  (the agent against itself: {_points(noise.gain)}, {number(noise.gain.n, 'pair')})", "dim"),
    )
    out.print(f"  a smaller gain on so many runs means nothing; {cannot_see(noise)}")


def _head(out: Console, held: BenchRun) -> None:
    line = Styled(f"{held.id}  ", "bold").append(plain(held.agent_name, 100))
    what = " ".join(filter(None, (held.name, held.split or "", ",".join(held.tasks))))
    line.append(f"  {what}, {number(held.repeats, 'repeat')}, seed {held.seed}", "dim")
    line.append("  NO SANDBOX" if held.unsafe else "", "red")
    out.print(line)
    if held.state != "ended":
        said = Styled(f"  {held.state}: ", _STATE_STYLES.get(held.state, "red")).append(plain(held.reason, 300))
        out.print(said)


def _task(out: Console, each: TaskFigures, *, reason: str) -> None:
    style = "green" if each.score.mean >= 1 else "yellow" if each.score.mean > 0 else "red"
    said = "not measured" if not each.score.n else _percent(each.score) if each.score.n > 1 else _once(each.score.mean)
    line = Styled(f"  {said:<24}", style if each.score.n else "magenta")
    line.append(plain(each.task, 60))
    line.append(f"  {span(each.wall_s)}, {each.cost_usd:.2f} USD", "dim")
    if each.unmeasured and each.score.n:
        line.append(f"  {each.unmeasured} not measured", "magenta")
    if each.tampered:
        line.append("  reached for what judges it", "red")
    out.print(line.append("  ").append(plain(reason, 160)) if reason else line)


def _once(score: float) -> str:
    """Word the result of a task's only run: an interval around it would say nothing."""
    return "passed" if score >= 1 else f"partly, {100 * score:.0f} %" if score > 0 else "failed"


def _percent(found: Interval) -> str:
    return f"{100 * found.mean:.1f} % ({100 * found.low:.1f} to {100 * found.high:.1f})"


def _points(found: Interval) -> str:
    return f"{100 * found.mean:+.1f} points (95 %: {100 * found.low:+.1f} to {100 * found.high:+.1f})"


def _counts(found: Figures) -> str:
    return f"95 % interval over {number(len(found.tasks), 'task')}, {number(found.score.n, 'measured run')}"
