"""Report of `learn`: what was read, what it taught, what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ratchet.cli import show, show_facts, show_lessons
from ratchet.cli.terminal import Console, Styled
from ratchet.records import Lesson, LessonState

if TYPE_CHECKING:
    from ratchet.lessons.facts import ProjectFacts
    from ratchet.lessons.learning import Learned


PROJECTS, _FACTS, _NEWS = 2, 5, 4  # what fits on a screen


def learned(
    found: Learned,
    facts: Sequence[ProjectFacts] = (),
    lessons: Sequence[Lesson] = (),
    *,
    prevented: str = "",
    waiting: int = 0,
    following: bool = True,
) -> None:
    """Show what a run of `learn` added: the `facts` of its projects, of all `lessons` those that are news, the sentence
    of the backtest (`prevented`), how many proven ones no hook tells before the step (`waiting`), then what to do
    next."""
    out = show.console()
    read = f"Read {show.number(found.files, 'file')}, {show.number(found.sessions, 'session')}"
    new = f"{show.number(found.outcomes, 'new outcome')}, {show.number(found.failures, 'failure')} of the agent."
    show.row(out, f"{read}: {new if found.outcomes else 'nothing new.'}")
    for line in _aside(found):
        show.row(out, line, "  ")
    for loop in found.loops[:3]:
        show.row(out, show.plain(loop, 160), Styled("  loop ", "yellow"))
    if len(found.loops) > 3:
        show.row(out, f"and {len(found.loops) - 3} more loops (ratchet learn --json lists all)", "  ")
    _skipped(out, found)
    for each in facts[:PROJECTS]:
        out.print()
        show_facts.told(out, each, _FACTS)
    if found.patterns or any(found.lessons.values()):
        _news(out, found, lessons)
    if prevented:
        out.print()
        show.row(out, prevented)
    if waiting:
        wait = "waits" if waiting == 1 else "wait"
        told = (
            f"{show.number(waiting, 'proven lesson')} {wait} to be told before the step: ratchet install claude-code."
        )
        show.row(out, told)
    if following:
        out.print()
        _next(out, found)


def _news(out: Console, found: Learned, lessons: Sequence[Lesson]) -> None:
    """Lessons that say more than the failing tool does, and how many there are of each state."""
    once = {each.text: each for each in reversed(lessons) if not (each.is_quote or each.says_itself or each.stale)}
    known = [each for each in lessons if once.get(each.text) is each]
    active = [each for each in known if each.state == "active"][:_NEWS]
    waiting = [each for each in known if each.state == "candidate"][: _NEWS - len(active)]
    for title, some in (
        ("What to tell your agents", active),
        ("Not proven yet: told once it works again", waiting),
    ):
        if some:
            out.print(Styled(f"\n{title}", "bold"))
        for each in some:
            advised(out, each)
    out.print()
    show.row(out, _gained(found))
    never = [each for each in lessons if each.state == "quarantined"]
    if never:
        show.row(out, show_lessons.never(never))


def _gained(found: Learned) -> Styled:
    line = Styled(f"New or grown: {show.number(found.patterns, 'pattern')}; lessons: ")
    states: tuple[LessonState, ...] = ("active", "candidate", "quarantined")
    for position, state in enumerate(states):
        line.append(", " if position else "").append(f"{found.lessons[state]} {state}", show.STATE_STYLE[state])
    return line.append(".")


def _skipped(out: Console, found: Learned) -> None:
    for bad in found.quarantined[:10]:
        where = f"{bad.path}:{bad.line}" if bad.line else bad.path
        reason = bad.reason.removeprefix(bad.path).lstrip()
        show.row(out, show.plain(f"{where}: {reason}", 400), Styled("  skipped ", "red"))
    if len(found.quarantined) > 10:
        show.row(out, f"and {len(found.quarantined) - 10} more (ratchet learn --json lists all)", "  ")


def _aside(found: Learned) -> Iterator[str]:
    """Show what is counted apart, where there is any."""
    if found.unflagged:
        yield f"{found.unflagged} of the failures were called a success by their source"
    apart = [
        f"{n} {what}"
        for n, what in ((found.cascades, "that followed from another failure"), (found.user_denied, "refused by you"))
        if n
    ]
    if apart:
        yield f"not counted as failures: {', '.join(apart)}"
    if found.notes:
        first = f"{show.plain(found.notes[0].path, 120)}: {show.plain(found.notes[0].reason, 120)}"
        rest = f", and {len(found.notes) - 1} more (ratchet learn --json names all)" if len(found.notes) > 1 else ""
        yield f"without a finished step: {first}{rest}"


def advised(out: Console, each: Lesson) -> None:
    """A lesson as two lines: when, and what to do."""
    show.row(out, show.plain(each.when, 140), "  ")
    show.advice(out, each.text, Styled("  -> "), Styled(f"  [{show.worked(each)}]", show.STATE_STYLE[each.state]))


def _next(out: Console, found: Learned) -> None:
    out.print("next  ratchet install claude-code     tell the agent; first with --dry-run")
    out.print("      ratchet lessons list            everything that was learnt")
    out.print("      ratchet patterns                what keeps failing, and what it cost")
    out.print("      ratchet backtest                what lessons would have saved, offer by offer")
    if found.corrections:
        waiting = show.number(found.corrections, "correction")
        out.print(f"      ratchet lessons words           {waiting} by people, kept as quotes")
