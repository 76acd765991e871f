"""Draws evolve runs for people: what was proposed, what became of it, and what the whole is worth."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import sqrt
from typing import TYPE_CHECKING

from ratchet.cli import shapes
from ratchet.cli.show import ago, bars_console, console, number, plain, ticking
from ratchet.cli.terminal import Console, Styled
from ratchet.evolving.candidate import ArchiveTally, Candidate, Evolution, EvolutionReport
from ratchet.evolving.loop.evolve import DOUBT, EvolveMoment
from ratchet.evolving.race.misses import chances_missed
from ratchet.evolving.race.race import Standing
from ratchet.failures.redaction.text import redact
from ratchet.failures.spans import span

if TYPE_CHECKING:
    from rich.console import Console as RichConsole

STYLES = {
    "kept": "green",
    "baseline": "bold",
    "reverted": "red",
    "screened_out": "red",
    "ended": "green",
    "running": "cyan",
    "racing": "cyan",
    "waiting": "yellow",
    "undecided": "yellow",
    "budget": "yellow",
    "cancelled": "yellow",
    "killed": "yellow",
    "failed": "red",
}
_DIFF_LINES = 24
_SHOWN = 3  # racers in the line of a race


@contextmanager
def watching(*, quiet: bool) -> Iterator[Callable[[EvolveMoment], None]]:
    """Tells of each step as it happens; on a terminal with a bar of evaluations, their rate and what they cost."""
    if quiet:
        yield lambda _moment: None
        return
    if not sys.stderr.isatty():
        last: list[EvolveMoment] = []

        def kept(moment: EvolveMoment) -> None:
            last[:] = [moment]
            _step(moment)

        with ticking(lambda: _standing(last[0]) if last else "at work"):
            yield kept
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[said]}"), TimeElapsedColumn())
    with Progress(*columns, console=bars_console(), transient=True) as bars:
        task = bars.add_task("", total=None, said="")

        def told(moment: EvolveMoment) -> None:
            if moment.what != "evaluated":
                _step(moment, bars.console)
            elapsed = bars.tasks[0].elapsed or 0.0
            rate = f"{moment.runs / elapsed:.1f}/s" if elapsed > 1 else ""
            left = span(max(0.0, moment.evolution.seconds - moment.evolution.duration_s - elapsed))
            spent = f"{moment.usd:.2f} of {moment.evolution.usd:g} USD, at most {left} left"
            said = f"{moment.runs} evaluations {rate} {spent}  {race_line(moment)}"
            done = max((each.n for each in moment.racers), default=moment.candidate.n if moment.candidate else 0)
            bars.update(task, total=moment.evolution.proposals, completed=done, said=said)

        yield told


def _standing(moment: EvolveMoment) -> str:
    spent = f"{number(moment.runs, 'evaluation')}, {moment.usd:.2f} of {moment.evolution.usd:g} USD"
    return "  ".join(filter(None, (spent, race_line(moment))))


def race_line(moment: EvolveMoment) -> str:
    """Tell how those that race stand, the likeliest first: mean gain, its 95 % interval, pairs, and luck's chance."""
    going = [each for each in zip(moment.racers, moment.standings, strict=True) if each[1].finish == "wait"]
    going.sort(key=lambda each: -each[1].e_value)
    shown = [
        f"#{racer.n} {100 * standing.mean:+.1f} ±{100 * _half(standing):.1f}, {standing.pairs} pairs, "
        f"luck 1 of {standing.e_value:.2g}, asked 1 of {1 / racer.level:.0f}"
        for racer, standing in going[:_SHOWN]
    ]
    more = f"and {len(going) - _SHOWN} more" if len(going) > _SHOWN else ""
    return "  ".join(filter(None, (*shown, more)))


def _half(standing: Standing) -> float:
    """Half the width of the mean difference's 95 % interval, where a score is 0 or 1 (else it is narrower)."""
    spread = max(standing.differed - standing.mean**2, 0.0)
    return 1.96 * sqrt(spread / standing.pairs) if standing.pairs else 1.0


def _step(moment: EvolveMoment, out: Console | RichConsole | None = None) -> None:
    out = out or console()
    held, candidate = moment.evolution, moment.candidate
    if moment.what == "started":
        asked = f"{number(held.proposals, 'proposal')} by {held.proposer} on {held.benchmark}, at most {held.usd:g} USD"
        out.print(Styled(f"{held.id}  ", "bold").append(plain(asked, 200)))
    elif moment.what == "baseline":
        out.print(Styled(f"  {'baseline':<13}").append(f"measured, {number(moment.runs, 'evaluation')} so far", "dim"))
    elif moment.what == "racing":
        named = ", ".join(f"#{each.n}" for each in moment.racers)
        out.print(Styled(f"  {'racing':<13}", "cyan").append(f"{named} against what counts so far", "default"))
    elif (moment.what == "proposed" and candidate and candidate.state == "screened_out") or (
        moment.what == "decided" and candidate
    ):
        assert candidate is not None
        _candidate(out, candidate)
    elif moment.what == "reporting":
        out.print(
            Styled(f"  {'sealed':<13}", "cyan").append("measuring the winner on tasks nobody has seen", "default")
        )
    elif moment.what == "note" and out.is_terminal:
        out.print(Styled(" " * 15).append(plain(moment.text, 160)), style="dim")


def ended(held: Evolution, candidates: Sequence[Candidate]) -> None:
    """Say how a run ended, what it is worth, and what to do next."""
    out = console()
    kept = [each for each in candidates if each.state == "kept"]
    asked = sum(1 for each in candidates if each.n and not each.retry_of)
    line = Styled(held.state, STYLES.get(held.state, "default")).append(
        f": {number(asked, 'proposal')}, {len(kept)} kept, {number(held.runs, 'evaluation')}, {held.cost_usd:.2f} USD, "
        f"{span(held.duration_s)}",
        "default",
    )
    out.print(line)
    if held.reason:
        out.print(Styled("  ").append(plain(held.reason, 300)))
    if held.report is not None:
        report(out, held.report)
    missed = chances_missed(candidates, mde=held.mde, cap=held.cap, doubt=DOUBT)
    if missed:
        told = ", ".join(f"{_gain(gain)} points: in {share:.0%} of races" for gain, share in missed.items())
        said = f"  A change that is truly better may be missed by so few runs. Better by {told}"
        out.print(said, style="dim")
    if held.state == "running":
        out.print(f"  A process runs it; how it stands: ratchet evolve show {held.id}")
    elif held.state in ("cancelled", "failed", "killed") or (held.state == "budget" and held.report is None):
        out.print(f"  Next: ratchet evolve --resume {held.id}")
    elif held.applied:
        out.print(f"  result: {held.applied}")
    elif kept:
        out.print(f"  Nothing of yours changed. Next: ratchet evolve apply {held.id} --branch NAME, or --apply")


def report(out: Console, made: EvolutionReport) -> None:
    """The sealed measurement, with what chance alone shows and what more tries would have bought."""
    itself = (
        f"an agent against itself: within {_points(made.noise)}"
        if made.noise is not None
        else "how much an agent differs from itself was not measured: each task ran once"
    )
    out.print(
        f"  sealed tasks: {_points(made.baseline)} -> {_points(made.winner)}, gain {_gain(made.gain)} points "
        f"(95 % {_gain(made.low)} to {_gain(made.high)}; {itself}), {number(made.runs, 'run')}",
    )
    out.print(
        f"  on the tasks that decided it gained {_gain(made.claimed)} points: that proves it better there, but "
        "it was chosen for that figure, which flatters; quote the sealed gain with its interval",
        style="dim",
    )
    if made.best_of_n is not None:
        out.print(
            f"  best of {made.n} tries of the agent as it was: {_points(made.best_of_n)}, at {made.n} times the price a"
            " use, and only with a judge that knows each time which try is right",
            style="dim",
        )


def evolution(held: Evolution, candidates: Sequence[Candidate], *, diffs: bool) -> None:
    """One run whole."""
    out = console()
    head = f"{number(held.proposals, 'proposal')} by {held.proposer} on {held.benchmark} ({held.benchmark_hash})"
    out.print(Styled(f"{held.id}  ", "bold").append(plain(head, 200)))
    for each in candidates:
        _candidate(out, each, diff=diffs)
    ended(held, candidates)


def evolutions(found: Sequence[Evolution], tallies: Mapping[str, ArchiveTally]) -> None:
    """Each with its gain and interval, what it tried, and what that took."""
    out = console()
    if not found:
        out.print("No runs yet. Next: ratchet evolve --agent DIR --bench core --proposer settings")
    for each in found:
        gain = f"{_gain(each.report.gain)} points" if each.report else "nothing kept" if each.state == "ended" else ""
        line = Styled(f"{each.state:<10} ", STYLES.get(each.state, "default")).append(f"{gain:<14} ", "default")
        line.append(plain(f"{each.agent.folder or each.agent.target} on {each.benchmark} by {each.proposer}", 100))
        line.append(f"  {ago(each.started_at)}  {each.id}", "dim")
        out.print(line)
        tally, sure = tallies[each.id], each.report
        told = f"95 %: {_gain(sure.low)} to {_gain(sure.high)}; " if sure else ""
        told += f"{tally.kept} of {number(tally.tried, 'proposal')} kept, {number(each.runs, 'evaluation')}"
        out.print(Styled(f"{'':<11}{told}, {each.cost_usd:.2f} USD", "dim"))


def tree(held: Evolution, candidates: Sequence[Candidate]) -> None:
    """The archive: each version below the one that it came from."""
    out = console()

    def node(each: shapes.evolving.DescendedShape, depth: int) -> None:
        style = STYLES.get(each.state, "default")
        line = Styled("  " * depth).append(f"#{each.n} {each.state.replace('_', ' ')}", style)
        gain = f" {100 * each.mean:+.1f}" if each.pairs else ""
        line.append(gain, "default").append("  ").append(plain(each.hypothesis, 90))
        out.print(line.append(f"  {each.id}", "dim"))
        for child in each.children:
            node(child, depth + 1)

    node(shapes.evolving.EvolutionTreeShape.grown(held, candidates).root, 0)


def _candidate(out: Console | RichConsole, held: Candidate, *, diff: bool = False) -> None:
    line = Styled(f"  {held.state.replace('_', ' '):<13}", STYLES.get(held.state, "default"))
    line.append(f"#{held.n} ", "default").append(plain(held.hypothesis or ("the agent as it was" * (not held.n)), 120))
    out.print(line)
    if held.reason:
        out.print(Styled(" " * 15).append(plain(held.reason, 300)), style="dim")
    if diff:
        lines = [
            each for each in redact(held.diff).split("\n") if each and not each.startswith(("diff --git", "index "))
        ]
        for each in lines[:_DIFF_LINES]:
            style = {"+": "green", "-": "red", "@": "cyan"}.get(each[0], "dim")
            shown = "".join(c if c.isprintable() or c == "\t" else "?" for c in each.rstrip("\r"))[:200]
            out.print(Styled(" " * 15).append(Styled(shown, style)), soft_wrap=True)
        if len(lines) > _DIFF_LINES:
            out.print(f"{' ' * 15}... {len(lines) - _DIFF_LINES} more lines", style="dim")


def _points(score: float) -> str:
    return f"{100 * score:.1f}"


def _gain(score: float) -> str:
    return f"{100 * score:+.1f}"
