"""Report of `learn`: what was read, what it taught, what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ratchet.cli import show
from ratchet.cli.terminal import Console, Styled
from ratchet.records import Lesson, LessonState

if TYPE_CHECKING:
    from ratchet.lessons.learning import Learned


def learned(found: Learned, best: Sequence[Lesson] = (), *, following: bool = True) -> None:
    """Show what a run of `learn` added, then the `best` lessons that there are now, then what to do next."""
    out = show.console()
    read = f"Read {show.number(found.files, 'file')}, {show.number(found.sessions, 'session')}"
    new = f"{show.number(found.outcomes, 'new outcome')}, {show.number(found.failures, 'failure')} of the agent."
    show.row(out, f"{read}: {new if found.outcomes else 'nothing new.'}")
    for line in _aside(found):
        show.row(out, line, "  ")
    if found.patterns or any(found.lessons.values()):
        show.row(out, _gained(found))
    for loop in found.loops[:5]:
        show.row(out, show.plain(loop, 240), Styled("  loop ", "yellow"))
    if len(found.loops) > 5:
        show.row(out, f"and {len(found.loops) - 5} more loops (ratchet learn --json lists all)", "  ")
    if found.corrections:
        waiting = f"{show.number(found.corrections, 'correction')} by people, kept as quotes: ratchet lessons words"
        show.row(out, waiting)
    _skipped(out, found)
    if best:
        out.print(Styled("\nWhat fixed what failed, the surest first", "bold"))
    for each in best:
        advised(out, each)
    if following:
        out.print()
        _next(out)


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
        yield f"{show.number(len(found.notes), 'file')} without a finished step (ratchet learn --json names all):"
        yield from (f"  {show.plain(each.path, 200)}: {show.plain(each.reason, 200)}" for each in found.notes[:3])


def advised(out: Console, each: Lesson) -> None:
    """A lesson as two lines: when, and what to do."""
    show.row(out, show.plain(each.when, 140), "  ")
    show.advice(out, each.text, Styled("  -> "), Styled(f"  [{show.worked(each)}]", show.STATE_STYLE[each.state]))


def _next(out: Console) -> None:
    out.print("next  ratchet patterns                what keeps failing, and what it cost")
    out.print("      ratchet lessons list            everything that was learnt")
    out.print("      ratchet install claude-code     hand it to the agent; first with --dry-run")
