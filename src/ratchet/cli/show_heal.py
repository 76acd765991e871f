"""Draws episodes for people: a timeline of red and green, with cause, fix, cost and diff of each attempt."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from ratchet.cli.show import ago, console, number, plain, worked
from ratchet.cli.terminal import Console, Styled
from ratchet.failures.redaction.text import redact
from ratchet.failures.spans import span
from ratchet.healing.comparison import ARMS, Compared, median_effort
from ratchet.healing.episode import Attempt, Episode, Verdict
from ratchet.healing.loop import HealMoment
from ratchet.healing.planning.plan import TaskPlan, check_text
from ratchet.healing.report import BY_CHANCE, next_steps, told_as
from ratchet.healing.sibling_checks import SiblingPatch
from ratchet.healing.skilled import changed_files

STYLES = {
    "passed": "green",
    "already_passing": "green",
    "flaky": "yellow",
    "running": "cyan",
    "planned": "cyan",
    "cancelled": "yellow",
    "budget": "yellow",
}
_ENDINGS = {"cancelled": "stopped by a signal"}  # by nothing else, from a command line
_DIFF_LINES = 24
_TELLING = 20  # tasks
_PROVEN = 0.05  # of the sign test over tasks
_SIGNS = {"passed": ("green", "green"), "dropped": ("dropped", "dim")}


def moment(now: HealMoment) -> None:
    """One step of a running episode, as it happens."""
    out = console()
    if now.what == "started":
        _head(out, now.episode)
    elif now.what == "reproduced" and now.verdict is not None:
        _first(out, now.verdict)
    elif now.what == "recalled":
        for each in now.lessons:
            line = Styled("  lesson   ", "cyan").append(plain(each.text, 120))
            out.print(line.append(f"  ({worked(each)})", "dim"), soft_wrap=True)
    elif now.what == "attempted" and now.attempt is not None:
        _attempt(out, now.attempt)
    elif now.what == "note":  # in a file, what happened meanwhile is no part of the answer
        out = out if out.is_terminal else console(stderr=True)
        out.print(Styled("           ").append(plain(now.text, 160)), style="dim")


def awaited(now: HealMoment) -> str:
    """Name what an episode does after this moment, for whoever sees nothing happen meanwhile."""
    attempt = "" if now.attempt is None else f"attempt {now.attempt.n}"
    if now.what == "note":
        return ": ".join(filter(None, (attempt, now.text)))
    if now.what == "attempting" and now.attempt is not None:
        return f"{attempt}: {now.attempt.solver} looks for a change"
    return "running the check" if now.what == "started" else "looking at what fails"


def plan(made: TaskPlan) -> None:
    """The steps that words came to, before anything is done."""
    out = console()
    out.print(f"  plan     {number(len(made.steps), 'step')}" + (f" by {made.by}" if made.by else ""))
    for n, each in enumerate(made.steps, 1):
        out.print(Styled(f"    {n} ").append(_asked(each.do, 200), "default"), soft_wrap=True)
        if not each.check:
            out.print("      for you: nothing in a sandbox can do it, or see that it is done", style="yellow")
            continue
        command = check_text(each.check).replace("\n", "\\n")  # on one line a remark would swallow what follows it
        line = Styled("      ").append(_asked(f"`{command}`", 240), "dim")
        said = f"{each.now} now{': ' + each.said if each.said else ''}"
        out.print(line.append(" ").append(plain(said, 200), "red" if each.now == "fails" else "green"), soft_wrap=True)
    for each in made.dropped:
        out.print(Styled("  dropped  ", "yellow").append(_asked(each.do, 200), "default"), soft_wrap=True)
    if made.beyond:
        out.print(Styled("  beyond   ", "yellow").append(_asked(made.beyond, 400), "default"), soft_wrap=True)


def _steps(out: Console, held: Episode) -> None:
    """Of a plan that is done: its steps, those for a person, and what nobody looked at."""
    for n, each in enumerate(held.task.steps, 1):
        done = ("  done     ", "green") if each.check else ("  for you  ", "yellow")
        out.print(Styled(*done).append(_asked(f"{n} {each.do}", 200), "default"), soft_wrap=True)
    if held.task.beyond:
        out.print(Styled("  beyond   ", "yellow").append(_asked(held.task.beyond, 400), "default"), soft_wrap=True)


def ended(held: Episode, planned: bool = False, siblings: Sequence[SiblingPatch] | None = None) -> None:
    """Say how it ended, and what to do next; beside a plan that goes to standard output, on the other stream."""
    out = console(stderr=planned)
    last = held.attempts[-1] if held.attempts else None
    told = "passed, but doubtful," if held.is_doubtful else _ENDINGS.get(held.status, held.status.replace("_", " "))
    line = Styled(told, "yellow" if held.is_doubtful else STYLES.get(held.status, "red"))
    took = number(len(held.task.steps), "step") if held.status == "planned" else number(len(held.attempts), "attempt")
    if held.status != "already_passing":
        line.append(
            f" {'in' if held.status == 'planned' else 'after'} {took}, {_costs(held.cost_usd, held.duration_s)}",
            "default",
        )
    out.print(line)
    said = held.reason.removeprefix(last.reason).lstrip("; ") if last is not None else held.reason
    if said:  # beyond what the last attempt's own line said
        out.print(Styled("  ").append(plain(said, 300)), soft_wrap=True)
    for flake in held.flakes if held.status != "flaky" else ():
        line = Styled("  flaky    ", "yellow").append(plain(flake.test, 160), "default")
        out.print(line.append(f"  failed in {flake.failed} of {flake.runs} runs: it counts for nothing", "dim"))
    if held.status == "passed" and last is not None:
        _steps(out, held)
        _standing(out, last)
        for each in held.learnt:
            out.print(f"  learnt {each}: ratchet lessons show {each}", soft_wrap=True)
        if held.applied:
            out.print(Styled("  result: ").append(plain(_landed(held), 400), "default"), soft_wrap=True)
        if not held.applied or (held.is_doubtful and held.applied != "apply"):
            todo = [BY_CHANCE] if held.is_doubtful else []
            todo += [f"{asks} {command}" for asks, command in next_steps(held)]
            unchanged = "" if held.applied else "Nothing in your project changed. "
            out.print("\n  ".join((f"  {unchanged}{todo[0]}", *todo[1:])), soft_wrap=True)
    elif held.status == "planned":
        out.print(f"  To carry it out: ratchet run --resume {held.id}", soft_wrap=True)
    elif held.status not in ("already_passing", "flaky", "refused"):
        _suspects(out, held)
        out.print("  Nothing was written: no patch, no branch, nothing in your project.")
        if held.candidates and held.status in ("no_progress", "failed"):
            out.print(
                "  Another run within the same limits would try the same small changes in vain: change a test or the "
                "program first, or name a model (--model) or a coding agent (--solver command:...).",
                soft_wrap=True,
            )
        out.print(f"  Each attempt's diff: ratchet episodes show {held.id}", soft_wrap=True)
    if siblings is not None and held.status == "passed":
        _siblings(out, siblings)


def _landed(held: Episode) -> str:
    """Name where the result is: the files of the project, else the branch or the patch."""
    return f"written to {', '.join(changed_files(held.diff))}" if held.applied == "apply" else held.applied


def _suspects(out: Console, held: Episode) -> None:
    """Of an episode that healed nothing: the suspect places with their reasons, what was tried there, what may help."""
    for line in dict.fromkeys(line for each in held.attempts if each.candidates for line in each.note.splitlines()):
        out.print(Styled("  seen     ", "cyan").append(plain(line, 900), "default"), soft_wrap=True)
    if held.first is not None and held.first.killed == "wall":
        longer = (
            f"  The check was cut short, so nothing is known of its tests: --check-s {5 * held.first.duration_s:.0f}"
        )
        out.print(f"{longer} gives it longer, --check CMD names the failing test.", soft_wrap=True)


def _standing(out: Console, last: Attempt) -> None:
    """Say how sure an answer is: each doubt with what to do about it, and the figures below."""
    if not last.standing:
        return
    style = "green" if last.standing == "sure" else "yellow"
    said, *figures = last.grounds.split("\n")
    out.print(Styled(f"  {last.standing}: ", style).append(plain(said.rstrip(";"), 400), "default"), soft_wrap=True)
    for at, each in enumerate(figures):
        head = "           " if at else "  grounds: "
        out.print(Styled(head, "dim").append(plain(each, 400), "default"), soft_wrap=True)
    if last.rivals:
        out.print(Styled("  rivals:", "yellow").append(" these pass, too", "default"))
        _diff(out, last.rivals)


def _siblings(out: Console, found: Sequence[SiblingPatch]) -> None:
    """The same mistake elsewhere, as proposals."""
    if not found:
        out.print("  No other place of the program reads like the one that was healed.")
    for each in found:
        where = f"{each.path}:{each.line}" + (f" in {each.function}" if each.function else "")
        line = Styled("  sibling  ", "cyan").append(plain(where, 160), "default")
        told = (
            each.broken
            or f"passing with the remedy as before: {number(each.kept, 'test')}; none fails without it: look at it"
        )
        out.print(line.append(f"  {plain(told, 200)}", "dim"), soft_wrap=True)
        _diff(out, each.shown)


def episode(held: Episode) -> None:
    """One episode whole."""
    out = console()
    _head(out, held)
    if held.first is not None:
        _first(out, held.first)
    for each in held.lessons:
        line = Styled("  lesson   ", "cyan").append(plain(each.text, 120))
        out.print(line.append(f"  ({worked(each)})", "dim"), soft_wrap=True)
    for attempt in held.attempts:
        _attempt(out, attempt)
    ended(held)


def episodes(found: Sequence[Episode]) -> None:
    out = console()
    if not found:
        out.print("No episodes yet. Next: ratchet run --check CMD heals what fails.")
    for each in found:
        told = "doubtful" if each.is_doubtful else each.status.replace("_", " ")
        line = Styled(f"{told:<15}", "yellow" if each.is_doubtful else STYLES.get(each.status, "red"))
        line.append(f" {number(len(each.attempts), 'attempt'):<11} ", "default")
        line.append(_asked(each.task.instruction or shlex.join(each.task.check), 60))
        line.append(f"  {each.task.folder}  {ago(each.started_at)}  {each.id}", "dim")
        out.print(line, soft_wrap=True)


def compared(found: Compared) -> None:
    """Three arms as columns, and how they stand to each other."""
    out = console()
    names = {"none": "no memory", "shuffled": "shuffled", "memory": "memory"}
    arms = [found.of(arm) for arm in ARMS]
    rows: list[tuple[str, list[str]]] = [
        ("passed", [f"{sum(each.status == 'passed' for each in runs)} of {len(runs)}" for runs in arms]),
        ("changes tried", [f"{sum(each.effort for each in runs):,}" for runs in arms]),
        ("median", [f"{median_effort(runs):g}" for runs in arms]),
        ("same mistake again", [f"{sum(each.same_mistakes for each in runs)}" for runs in arms]),
        ("cost, USD", [f"{sum(each.cost_usd for each in runs):.2f}" for runs in arms]),
        ("seconds", [f"{sum(each.duration_s for each in runs):.0f}" for runs in arms]),
    ]
    part = f"; stopped after {len(found.runs)} of {found.planned} runs" if len(found.runs) < found.planned else ""
    out.print(
        f"{number(found.tasks, 'task')}, {number(found.seeds, 'seed')}, the same limits and order in each arm{part}"
    )
    out.print(f"{'':<20}" + "".join(f"{names[arm]:>14}" for arm in ARMS))
    for name, values in rows:
        out.print(f"{name:<20}" + "".join(f"{value:>14}" for value in values))
    for each in found.ratios:
        out.print(
            f"changes tried, {names[each.of]} / {names[each.over]}: {each.ratio:.2f} (95 % over tasks: "
            + (f"{each.low:.2f} to {each.high:.2f})" if each.high is not None else f"{each.low:.2f} or more)")
        )
    out.print(verdict(found), soft_wrap=True)


def verdict(found: Compared) -> str:
    """Say in a sentence if memory pays here: what was solved, and at what effort."""
    by = found.solved("memory", "none")
    solved = f"with memory {by.first} of {by.runs} solved, without {by.second}"
    ratio = next(each for each in found.ratios if (each.of, each.over) == ("memory", "none"))
    if by.chance <= _PROVEN:
        said = "pays" if by.better > by.worse else "costs"
        return f"Memory {said} here: {solved}, for {ratio.ratio:.0%} of the effort."
    if ratio.high is not None and ratio.high < 1 and by.first >= by.second:
        return f"Memory pays here: {solved}, for {ratio.ratio:.0%} of the effort."
    if ratio.low > 1 and by.first <= by.second:
        return f"Memory costs here: {solved}, for {ratio.ratio:.0%} of the effort."
    few = number(found.tasks, "task")
    more = "" if found.tasks >= _TELLING else f" {few} can show only a large effect."
    if (ratio.high is not None and ratio.high < 1) or ratio.low > 1:
        side = "less" if ratio.ratio < 1 else "more"
        return f"Nothing is proven: {solved}, and {side} effort alone does not tell which is better.{more}"
    return f"Nothing is proven: {solved}, and the effort may be the same.{more}"


def _asked(text: str, limit: int) -> Styled:
    """The words of a task on one line, without secrets: a terminal may be a job's log, which everybody reads."""
    return plain(redact(text), limit)


def _head(out: Console, held: Episode) -> None:
    line = Styled(f"{held.id}  ", "bold").append(_asked(held.task.instruction or "make the check pass", 120))
    out.print(line, soft_wrap=True)
    budget = held.budget
    check = number(len(held.task.steps), "step") if held.task.steps else f"check `{check_text(held.task.check)}`"
    said = (
        f"  {check} in {held.task.folder}; solver {held.solver}; at most "
        f"{number(budget.attempts, 'attempt')}, {budget.usd:.2f} USD, {span(budget.seconds)}"
    )
    out.print(_asked(said, 400), style="dim", soft_wrap=True)


def _first(out: Console, verdict: Verdict) -> None:
    sign = ("  green    ", "green") if verdict.passed else ("  red      ", "red")
    line = Styled(*sign).append(plain("the check passes" if verdict.passed else verdict.reason, 160))
    about = "" if verdict.passed else f"{verdict.kind} {verdict.signature}, "
    line.append(f"  ({about}{span(verdict.duration_s)}", "dim")
    if verdict.python:
        line.append(", Python ", "dim").append(plain(verdict.python, 160))
    out.print(line.append(")", "dim"), soft_wrap=True)


def _attempt(out: Console, held: Attempt) -> None:
    word, style = _SIGNS.get(held.status, ("red", "red"))
    line = Styled(f"  {held.n} {word:<7}", style).append(" ", "default")
    cause, fix = told_as(held)
    told = [f"{cause}: {held.cause}"] if held.cause else []
    told += [f"{fix}: {held.fix}"] if held.fix else []
    told += [held.reason] if held.reason else []
    line.append(plain("; ".join(told) or held.status.replace("_", " "), 480))
    tried = f"{number(held.candidates, 'candidate')}, " if held.candidates else ""
    tried = f"{held.solver}, {tried}" if held.status == "passed" and held.solver else tried
    out.print(line.append(f"  ({tried}{_costs(held.cost_usd, held.duration_s)})", "dim"), soft_wrap=True)
    _diff(out, held.shown)


def _diff(out: Console, diff: str) -> None:
    lines = [line for line in diff.split("\n") if line and not line.startswith(("diff --git", "index "))]
    for line in lines[:_DIFF_LINES]:
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[0], "dim")
        out.print(Styled("           ").append(Styled(_shown(line), style)), soft_wrap=True)
    if len(lines) > _DIFF_LINES:
        out.print(f"           ... {len(lines) - _DIFF_LINES} more lines", style="dim")


def _shown(line: str) -> str:
    return "".join(c if c.isprintable() or c == "\t" else "?" for c in line.rstrip("\r"))[:200]


def _costs(usd: float, duration_s: float) -> str:
    return f"{usd:.2f} USD, {span(duration_s)}"
