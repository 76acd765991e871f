"""Draws the answers of `ratchet gate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ratchet.cli.show import console, number, plain
from ratchet.cli.terminal import Styled

if TYPE_CHECKING:
    from ratchet.evolving.score_plan import ScorePlan
    from ratchet.evolving.score_table import ScoreTable
    from ratchet.gate.scores import ScoreAnswer, ScoreGate

FOUND_ENOUGH = 0.8  # the power that studies are planned for
STYLE = {"keep": "green", "discard": "red", "again": "yellow"}


def answer(found: ScoreAnswer) -> None:
    out = console()
    said = Styled(found.decision, STYLE[found.decision]).append(" ").append(plain(found.version, 80))
    said.append(f": {plain(found.reason, 200)}{_figures(found)}.")
    if found.next:
        said.append(" Next: run ").append(plain(found.next, 80)).append(" once more.")
    out.print(said)


def _figures(found: ScoreAnswer) -> str:
    if found.gain is None:
        return ""
    noise = f", noise of one run {found.noise:.3g}" if found.noise is not None else ""
    return (
        f"; it gains {found.gain:+.3g} over {plain(found.incumbent, 80)} ({number(found.runs, 'run')} beside "
        f"{found.incumbent_runs}{noise}), evidence {_large(found.e_value)} of {_large(1 / found.level)} needed"
    )


def _large(value: float) -> str:
    return f"{value:,.0f}" if value < 1e6 else f"{value:.0e}"


def status(gate: ScoreGate, fdr: float) -> None:
    out = console()
    found = gate.answers()
    width = max(7, *(plain(each.version, 40).cell_len for each in found), 0)
    out.print(Styled(f"{'version':<{width}}  decision     gain  runs  evidence of needed", "bold"))
    for each in found:
        gain = f"{each.gain:+8.3g}" if each.gain is not None else f"{'-':>8}"
        needed = f"{_large(each.e_value)} of {_large(1 / each.level)}" if each.level else "budget spent"
        line = Styled(f"{plain(each.version, 40).plain:<{width}}  ").append(f"{each.decision:<8}", STYLE[each.decision])
        out.print(line.append(f" {gain}  {each.runs:>4}  {needed}"))
    out.print(
        f"{gate.kept} kept of {gate.proposed} proposed; {plain(gate.incumbent, 80)} stands. Of what is kept, at most "
        f"{fdr:.0%} is expected to be no better than what it replaced."
    )


def plan(made: ScorePlan, fdr: float, tasks: int) -> None:
    out = console()
    unit = f"rounds of {tasks} tasks" if tasks else "runs"
    out.print(
        f"A gain of {made.gain:g} with a noise of {made.noise:.3g} is found in {made.found:.0%} of cases"
        + (f": half of them within {made.median} {unit}, nine in ten within {made.most}" if made.found else "")
        + ", the incumbent's included."
    )
    out.print(f"A proposal that gains nothing costs {made.idle:.1f} {unit} on average. False keeps: at most {fdr:.0%}.")
    if made.found < FOUND_ENOUGH:
        out.print("To find more, ask for a smaller --least: it costs more runs of what gains nothing.")


def unmeasured(table: ScoreTable) -> None:
    if table.unmeasured:
        lines = ", ".join(str(each) for each in table.unmeasured[:10])
        more = f" and {len(table.unmeasured) - 10} more" if len(table.unmeasured) > 10 else ""
        console().print(f"Left out, since it has no number: line {lines}{more}.")
