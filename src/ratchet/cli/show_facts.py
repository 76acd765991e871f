"""Facts of projects, as a terminal shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ratchet.cli import show
from ratchet.cli.terminal import Console, Styled
from ratchet.lessons.fact_lines import is_news

if TYPE_CHECKING:
    from ratchet.lessons.facts import ProjectFacts

_PROJECTS = 3
_RAN = 12


def facts(found: Sequence[ProjectFacts], *, project: str = "") -> None:
    """Show each project's facts in words, then what ran in it as a table; of many projects the first few."""
    out = show.console()
    if not found:
        where = f" in {project}" if project else ""
        show.row(out, show.plain(f"No step is known to have run{where}. Next: ratchet learn", 300))
        return
    for each in found[:_PROJECTS]:
        told(out, each)
        _table(out, each)
        out.print()
    if len(found) > _PROJECTS:
        names = ", ".join(each.project or "(no folder)" for each in found[_PROJECTS : _PROJECTS + 5])
        rest = f"and {show.number(len(found) - _PROJECTS, 'project')} more: {names}"
        show.row(out, show.plain(f"{rest}; --project FOLDER shows one", 600))


def told(out: Console, each: ProjectFacts, limit: int = 8) -> None:
    """Show the facts of one project in words."""
    counts = f"{show.number(each.sessions, 'session')}, {show.number(each.calls, 'step')}, {each.failures:,} failed"
    head = show.plain(f"{each.project or '(no folder)'}: {counts}", 200)
    head.stylize("bold")
    show.row(out, head)
    for line in each.lines[:limit]:
        show.row(out, show.plain(line, 300), "  ")


def _table(out: Console, each: ProjectFacts) -> None:
    """Show what one would not expect, a row each; the others together, in a line."""
    shown = [ran for ran in each.ran if is_news(ran, each)][:_RAN]
    if shown:
        out.print(Styled("     runs  failed  refused  sessions  (refused: by a person)", "dim"))
    for ran in shown:
        counts = Styled(f"{ran.runs:>7,} {ran.failures:>7,} {ran.refused:>8,} {ran.sessions:>9,}  ")
        show.row(out, counts.append(show.plain(ran.name, 80)), "  ")
    others = [ran for ran in each.ran if ran not in shown]
    if others:
        runs, failed, refused = (sum(getattr(ran, name) for ran in others) for name in ("runs", "failures", "refused"))
        named = show.number(len(others), "command or tool").replace("command or tools", "commands and tools")
        ended = f"{runs:,} runs, {failed:,} failed" + (f", {refused:,} refused" if refused else "")
        said = f"{'the other ' if shown else ''}{named}: {ended} (ratchet patterns --by command)"
        show.row(out, Styled(said, "dim"), "  ")
