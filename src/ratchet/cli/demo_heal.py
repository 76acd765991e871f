"""The part of the demo that heals: two shipped tasks, live in the sandbox, twice; the second time from memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ratchet import tasks
from ratchet.cli import show
from ratchet.cli.terminal import Console, Styled
from ratchet.errors import Refused
from ratchet.healing.book import EpisodeBook, HealMeans, HealRequest
from ratchet.healing.episode import Budget, Episode
from ratchet.healing.loop import HealMoment
from ratchet.records import Json

HEALED = ("towers", "table_text")
_CANDIDATES = 60  # edits tried for a task: the work, and so its CPU time, is the same on an idle machine and a busy one
_CHECK = ("env", "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1", *tasks.CHECK)  # no plugin that happens to be installed is loaded
_LONGEST_S = 300.0  # for a machine that stands still


@dataclass(frozen=True, slots=True)
class DemoHeal:
    """One task, healed twice: candidates and seconds of each time."""

    name: str
    first: int
    again: int
    first_s: float
    again_s: float


def heal(out: Console, book: EpisodeBook, scratch: Path) -> dict[str, Json]:
    """Heal the tasks in new folders below `scratch`, twice each; print a line for every step, and return the figures.
    Where no sandbox holds, one line says so and {"skipped": reason} is returned: nothing runs without one."""
    out.print(
        f"Each has a bug and tests that show it. Up to {_CANDIDATES} small edits are tried in the\n"
        "sandbox, until the tests pass. Then the bug comes back: now the edit is known."
    )
    try:
        healed = [_twice(out, book, scratch, name) for name in HEALED]
    except Refused as error:
        show.row(out, str(error), Styled("  skipped  ", "yellow"))
        return {"skipped": str(error)}
    firsts, agains = sum(each.first for each in healed), sum(each.again for each in healed)
    show.row(out, f"{show.number(firsts, 'edit')} tried the first time, {agains} the second.")
    return {
        "tasks": [each.name for each in healed],
        "candidates_first": firsts,
        "candidates_again": agains,
        "seconds_first": round(sum(each.first_s for each in healed), 2),
        "seconds_again": round(sum(each.again_s for each in healed), 2),
    }


def _twice(out: Console, book: EpisodeBook, scratch: Path, name: str) -> DemoHeal:
    task = tasks.task(name)
    out.print(Styled(f"\n  {name}.py", "bold").append(f"  {task.title}", "default"))
    folder = task.lay_out(scratch / name)
    first = _once(out, book, folder, again=False)
    again = _once(out, book, folder, again=True)
    return DemoHeal(name, first.candidates, again.candidates, first.duration_s, again.duration_s)


def _once(out: Console, book: EpisodeBook, folder: Path, *, again: bool) -> Episode:
    def told(moment: HealMoment) -> None:
        if moment.what == "reproduced" and moment.verdict is not None and not again:
            show.row(out, show.plain(moment.verdict.reason, 90), Styled("    before       ", "red"))

    budget = Budget(attempts=1, seconds=_LONGEST_S, candidates=_CANDIDATES)
    asked = HealRequest(check=_CHECK, folder=folder, solver="repair", budget=budget)
    ended = book.run(asked, HealMeans(told=told, repeats=1))  # the bugs are made: they fail each time
    for attempt in ended.attempts:
        passed = attempt.status == "passed"
        lead = Styled("    second time  " if again else "    first time   ", "green" if passed else "red")
        tried = f"{attempt.fix or attempt.reason}{', and the tests pass' if passed else ''}"
        line = show.plain(tried, 120).append(f"  ({show.number(attempt.candidates, 'edit')} tried)", "dim")
        show.row(out, line, lead)
    return ended
