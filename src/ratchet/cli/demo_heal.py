"""The part of the demo that heals: three shipped tasks, live in the sandbox, twice; the second time from memory."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ratchet import tasks
from ratchet.cli import show
from ratchet.errors import Refused
from ratchet.healing.book import EpisodeBook, HealMeans, HealRequest
from ratchet.healing.episode import Budget, Episode
from ratchet.healing.loop import HealMoment
from ratchet.records import Json

HEALED = ("wrap_words", "towers", "table_text")
_SECONDS = 40.0  # of the minute that the whole demo may take
_LEAST = 14.0  # a busy machine skips what it would not finish: a search leaves five of them for the verdict
_LEAST_AGAIN = 6.0


@dataclass(frozen=True, slots=True)
class DemoHeal:
    """One task, healed twice: candidates and seconds of each time (0 candidates: not healed)."""

    name: str
    first: int
    again: int
    first_s: float
    again_s: float


def heal(out: Console, book: EpisodeBook, scratch: Path) -> dict[str, Json]:
    """Heal the three tasks in new folders below `scratch`, twice each; print a line for every step, and return the
    figures. Where no sandbox holds, one line says so and {"skipped": reason} is returned: nothing runs without one."""
    until = time.monotonic() + _SECONDS
    healed: list[DemoHeal] = []
    try:
        for name in HEALED:
            if time.monotonic() + _LEAST < until:
                healed.append(_twice(out, book, scratch, name, until))  # noqa: PERF401  (each takes its time)
    except Refused as error:
        out.print(Text("  skipped  ", "yellow").append(str(error), "default"), soft_wrap=True)
        return {"skipped": str(error)}
    firsts, agains = sum(each.first for each in healed), sum(each.again for each in healed)
    out.print()
    told = f"{firsts} candidates the first time, {agains} the second: the edit was remembered with the failure."
    show.row(out, told if agains else "The machine was too busy to heal one twice in the time of a demo.")
    return {
        "tasks": [each.name for each in healed],
        "candidates_first": firsts,
        "candidates_again": agains,
        "seconds_first": round(sum(each.first_s for each in healed), 2),
        "seconds_again": round(sum(each.again_s for each in healed), 2),
    }


def _twice(out: Console, book: EpisodeBook, scratch: Path, name: str, until: float) -> DemoHeal:
    task = tasks.task(name)
    out.print(Text(f"  {name}", "bold").append(f"  {task.title}", "default"))
    folder = task.lay_out(scratch / name)
    first = _once(out, book, folder, until, again=False)
    if time.monotonic() + _LEAST_AGAIN > until:
        return DemoHeal(name, 0, 0, 0.0, 0.0)  # half a comparison is none
    again = _once(out, book, folder, until, again=True)
    if again.status != "passed":
        return DemoHeal(name, 0, 0, 0.0, 0.0)
    return DemoHeal(name, _candidates(first), _candidates(again), first.duration_s, again.duration_s)


def _once(out: Console, book: EpisodeBook, folder: Path, until: float, *, again: bool) -> Episode:
    def told(moment: HealMoment) -> None:
        if moment.what == "reproduced" and moment.verdict is not None and not again:
            out.print(Text("    red    ", "red").append(moment.verdict.reason[:90], "default"), soft_wrap=True)

    seconds = max(2.0, until - time.monotonic())
    asked = HealRequest(check=tasks.CHECK, folder=folder, solver="repair", budget=Budget(attempts=1, seconds=seconds))
    ended = book.run(asked, HealMeans(told=told))
    for attempt in ended.attempts:
        colour = "green" if attempt.status == "passed" else "red"
        line = Text(f"    {colour:6} ", colour).append(f"{attempt.fix or attempt.reason}", "default")
        when = "the second time" if again else "no model"
        line.append(f"  ({when}: {show.number(attempt.candidates, 'candidate')}, {attempt.duration_s:.1f} s)", "dim")
        out.print(line, soft_wrap=True)
    return ended


def _candidates(ended: Episode) -> int:
    return ended.candidates if ended.status == "passed" else 0
