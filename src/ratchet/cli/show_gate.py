"""Draws the answers of `ratchet gate`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ratchet.cli.show import console, number, plain
from ratchet.cli.terminal import Styled

if TYPE_CHECKING:
    from ratchet.evolving.score_plan import ScorePlan
    from ratchet.gate.scores import ScoreAnswer, ScoreGate

FOUND_ENOUGH = 0.8  # the power that studies are planned for
_TELLS = 2.0
"""An e-value below this says nothing in words: 1 of 1 is any case."""
STYLE = {"keep": "green", "discard": "red", "again": "yellow"}


def answer(found: ScoreAnswer, *, planned: str = "", later: int = 0) -> None:
    """Show an answer: `planned` is the command that tells how many runs to expect, `later` counts the rows of a kept
    version that came after it was kept."""
    out = console()
    said = Styled(found.decision, STYLE[found.decision]).append(" ").append(plain(found.version, 80))
    said.append(f": {plain(found.reason, 200)}{_figures(found)}.")
    if found.next:
        said.append(" Next: run ").append(plain(found.next, 80)).append(
            f" again, add the row and ask again{_to_go(found, planned)}."
        )
    out.print(said)
    if later:
        rows = number(later, "round" if found.tasks > 1 else "row")
        kept = f"{rows} of {plain(found.version, 40)} came after it was kept and changed nothing of that"
        out.print(f"{kept}: later versions are compared with them, too.")


def _to_go(found: ScoreAnswer, planned: str) -> str:
    """Say about how many runs are left at this gain: the logarithm of the evidence grows by as much with each run."""
    if found.e_value < _TELLS or not found.level:
        expect = f" ({planned} tells what to expect)" if planned else ""
        return f"; how many runs it takes is too early to say{expect}"
    runs = found.runs + found.incumbent_runs
    left = max(1, math.ceil(runs * (math.log(1 / found.level) / math.log(found.e_value) - 1)))
    unit = "more round" if found.tasks > 1 else "more run"
    return f"; at this gain about {number(left, unit)}, of both versions together, decide"


def _figures(found: ScoreAnswer) -> str:
    if found.gain is None:
        return ""
    noise = f", noise of one run {found.noise:.3g}" if found.noise is not None else ""
    gains = "nothing" if float(f"{found.gain:.3g}") == 0 else f"{found.gain:+.3g}"
    return (
        f"; it gains {gains} over {plain(found.incumbent, 80)} ({_counted(found)} beside "
        f"{found.incumbent_runs}{noise})" + ("" if found.decision == "discard" else f". {_luck(found)}")
    )


def _counted(found: ScoreAnswer) -> str:
    of = f" of {found.tasks} tasks" if found.tasks > 1 else ""
    return f"{number(found.runs, 'round' if of else 'run')}{of}"


def _luck(found: ScoreAnswer) -> str:
    """Say what the evidence means: an e-value of E is reached by luck at most once in E tries (Ville)."""
    if found.level == 0:
        return "No error is left to spend"
    seldom = (
        f"Luck alone shows as much in 1 of {_large(found.e_value)} cases"
        if found.e_value >= _TELLS
        else "Luck alone easily shows as much"
    )
    return f"{seldom}; it is kept at 1 of {_large(1 / found.level)}"


def _large(value: float) -> str:
    return f"{value:,.0f}" if value < 1e6 else f"{value:.0e}"


def status(gate: ScoreGate, fdr: float) -> None:
    out = console()
    found = gate.answers()
    width = max(7, *(plain(each.version, 40).cell_len for each in found), 0)
    out.print(Styled(f"{'version':<{width}}  decision     gain  runs  {'by luck':<15}  to be kept", "bold"))
    for each in found:
        gain = f"{each.gain:+8.3g}" if each.gain is not None else f"{'-':>8}"
        luck = f"1 of {_large(each.e_value)}" if each.e_value >= _TELLS else "easily"
        needed = f"1 of {_large(1 / each.level)}" if each.level else "budget spent"
        line = Styled(f"{plain(each.version, 40).plain:<{width}}  ").append(f"{each.decision:<8}", STYLE[each.decision])
        out.print(line.append(f" {gain}  {each.runs:>4}  {luck:<15}  {needed}"))
    out.print(
        f"{gate.kept} kept of {gate.proposed} proposed; {plain(gate.incumbent, 80)} stands. Of what is kept, at most "
        f"{fdr:.0%} is expected to be no better than what it replaced."
    )


def plan(made: ScorePlan, smaller: ScorePlan | None, fdr: float, tasks: int) -> None:
    """Tell the price. `smaller` is the same plan where smaller gains are looked for, given where too few are found."""
    out = console()
    unit = f"{'rounds' if tasks > 1 else 'runs'} of {number(tasks, 'task')}" if tasks else "runs"
    within = f" within {made.bound} {unit}; {made.cut:.0%} take more" if made.cut else ""
    out.print(
        f"A gain of {made.gain:g} with a noise of {made.noise:.3g} is found in {made.found:.0%} of cases{within}"
        + (f": half of them within {made.median} {unit}, nine in ten within {made.most}" if made.found else "")
        + ", the incumbent's included."
    )
    least = "at least " if made.cut else ""
    idle = f"A proposal that gains nothing costs {least}{made.idle:.1f} {unit} on average."
    out.print(f"{idle} False keeps: at most {fdr:.0%}.")
    if smaller is not None and smaller.found > made.found:
        out.print(
            f"With --least {made.gain:g}, here and to gate keep, it is found in {smaller.found:.0%}; what gains "
            f"nothing then costs {smaller.idle:.1f} {unit}."
        )
    if (smaller or made).found < FOUND_ENOUGH:
        out.print("To find more, make one run quieter: more tasks, or the mean of several runs as one row.")


def failed(gate: ScoreGate) -> None:
    """Say how many runs of which version brought no score, and how they were counted."""
    found = [(name, of) for name, of in gate.attempts.items() if of.failed]
    if not found:
        return
    named = ", ".join(f"{of.failed} of {number(of.total, 'run')} of {plain(name, 40)}" for name, of in found[:10])
    more = f" and those of {number(len(found) - 10, 'more version')}" if len(found) > 10 else ""
    counted = (
        f"counted as {gate.worst:g}, the worst there is"
        if gate.worst is not None
        else "a version whose runs fail more often than those of what stands must prove the more"
    )
    console().print(f"Without a score: {named}{more}; {counted}.")


def came_late(ignored: Mapping[str, int]) -> None:
    """Say which rows came too late to change anything."""
    out = console()
    if ignored:
        named = ", ".join(f"{plain(name, 40)} ({count})" for name, count in list(ignored.items())[:10])
        more = f" and {len(ignored) - 10} more" if len(ignored) > 10 else ""
        rows = number(sum(ignored.values()), "row")
        out.print(
            f"{rows} came after the decision about their version and changed nothing: {named}{more}. "
            f"A decision is final; to try a version again, give it a new name."
        )
