"""Report of `learn`: what was read, what it taught, what to do next."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ratchet.cli import show, show_facts, show_lessons
from ratchet.cli.terminal import Console, Styled
from ratchet.lessons.fence import DIGEST_LINES
from ratchet.lessons.standing import PROVEN_SESSIONS, without_repeats
from ratchet.records import Lesson, LessonState

if TYPE_CHECKING:
    from ratchet.lessons.facts import ProjectFacts
    from ratchet.lessons.learning import Learned
    from ratchet.lessons.words.rules import Correction
    from ratchet.recording.sources.homes import HistoryHome


PROJECTS, _FACTS = 2, 5  # what fits on a screen
_QUOTES = 3  # of what people said


def learned(
    found: Learned,
    facts: Sequence[ProjectFacts] = (),
    lessons: Sequence[Lesson] = (),
    words: Sequence[Correction] = (),
    *,
    prevented: str = "",
    waiting: int = 0,
    withheld: float = 0.0,
    following: bool = True,
) -> None:
    """Show what a run of `learn` added: the `facts` of all its projects, the first of all `lessons` and of people's
    `words`, the sentence of the backtest (`prevented`, "" where no lesson could have been told), how many proven ones
    no hook tells before the step (`waiting`), the share that hooks withhold, then what to do next."""
    out = show.console()
    read = f"Read {show.number(found.files, 'file')}, {show.number(found.sessions, 'session')}"
    new = f"{show.number(found.outcomes, 'new step')}, {found.failures:,} failed."
    show.row(out, f"{read}: {new if found.outcomes else 'nothing new.'}")
    for line in _aside(found):
        show.row(out, line, "  ")
    for loop in found.loops[:3]:
        show.row(out, show.plain(loop, 160), Styled("  loop ", "yellow"))
    if len(found.loops) > 3:
        show.row(out, f"and {len(found.loops) - 3} more loops (ratchet learn --json lists all)", "  ")
    skipped(reasons(found)[len(found.notes) :])
    for each in facts[:PROJECTS]:
        out.print()
        show_facts.told(out, each, _FACTS)
    more = len(facts) - PROJECTS
    if more > 0:
        show.row(out, f"and {show.number(more, 'more project')}: ratchet lessons facts")
    if found.patterns or any(found.lessons.values()):
        _news(out, found, lessons, words, withheld)
    if prevented:
        out.print()
        show.row(out, prevented)
    if waiting:
        wait = "waits" if waiting == 1 else "wait"
        told = f"{waiting} of the active lessons {wait} to be told before the step, too: ratchet install claude-code."
        show.row(out, told)
    if following:
        out.print()
        _next(out, found, lessons, replayed=bool(prevented))


def homes(found: Sequence[HistoryHome]) -> None:
    """Show the homes of histories with what is in them and when it was read."""
    out = show.console()
    for each in found:
        read = f"read {show.ago(each.read_at)}" if each.read_at else "never read"
        size = f"{show.number(each.files, 'file')}, {each.size_bytes / 1e6:.1f} MB"
        new = f", {each.unread} with something new" if each.unread and each.read_at else ""
        show.row(out, f"{each.path}: {size}; {read}{new}", Styled(f"{each.agent}  ", "bold"))
    if not found:
        show.row(out, "No history of a known agent is on this machine; name one: ratchet learn PATH")


def homes_read(found: Sequence[HistoryHome]) -> None:
    """Say which homes are about to be read."""
    for each in found:
        show.row(show.console(), f"{each.path} ({show.number(each.files, 'file')})", Styled(f"{each.agent}  ", "bold"))


def _news(
    out: Console, found: Learned, lessons: Sequence[Lesson], words: Sequence[Correction], withheld: float
) -> None:
    """Show what a session is told at its start, as far as it is active; else what waits; then what people said, and how
    many lessons there are of each state."""
    fit = (each for each in lessons if not (each.is_quote or each.unsaid or each.stale))
    known = [each for each, _ in without_repeats(fit)]
    active = [each for each in known if each.state == "active"][:DIGEST_LINES]
    seen = [each for each in known if each.state == "candidate" and each.worked >= PROVEN_SESSIONS]
    waiting = [each for each in seen if not each.is_habit][: DIGEST_LINES - len(active)]
    _some(out, "What to tell your agents", active, known, lessons)
    _some(out, "Not proven yet: told to no agent until you approve it, or it works more often", waiting, known, lessons)
    _quotes(out, [each for each in words if each.state == "candidate"])
    out.print()
    show.row(out, _gained(found))
    _in_all(out, lessons, sum(each.state == "active" for each in known), withheld)
    never = [each for each in lessons if each.state == "quarantined"]
    if never:
        show.row(out, show_lessons.never(never))


def _some(
    out: Console, title: str, shown: Sequence[Lesson], known: Sequence[Lesson], lessons: Sequence[Lesson]
) -> None:
    """Show lessons of one state under a title that says of how many they are the first."""
    if not shown:
        return
    state = shown[0].state
    of, news = (sum(each.state == state for each in among) for among in (lessons, known))
    silent = f"; {of - news} more say the same, or are told only where they fail" if of > news else ""
    rest = f" (the first {len(shown)} of {news}{silent}: ratchet lessons list --state {state})"
    out.print(Styled(f"\n{title}", "bold").append(rest if of > len(shown) else "", "dim"))
    for each in shown:
        advised(out, each)


def _in_all(out: Console, lessons: Sequence[Lesson], ahead: int, withheld: float) -> None:
    """Relate the counts: of all lessons, those that agents are told and when, and those that wait. `ahead` may be told
    before their failure."""
    states = Counter(each.state for each in lessons)
    rest = states["active"] - ahead
    if not rest:
        return
    first = f" (of its project the first {DIGEST_LINES})" if ahead > DIGEST_LINES else ""
    active = show.number(states["active"], "active lesson")
    when = f"{ahead or 'none'} told when a session starts{first}, {rest} where the failure comes"
    show.row(out, f"{active}: {when}. What another one says too is told once.")
    if states["candidate"]:
        waits = show.number(states["candidate"], "candidate")
        show.row(out, f"{waits}: told to nobody before the fix works in a second session, or you approve it.")
    if withheld:
        share = f"{100 * withheld:g} %"
        show.row(
            out, f"Hooks leave each out in {share} of the sessions, to measure it (`withheld_share` in ratchet.toml)."
        )


def _quotes(out: Console, quotes: Sequence[Correction]) -> None:
    """Show what people said that likeliest holds beyond the moment; no agent is told it before it is made a rule."""
    if not quotes:
        return
    shown = quotes[:_QUOTES]
    rest = f" (the first {len(shown)} of {len(quotes)}: ratchet lessons words)" if len(quotes) > len(shown) else ""
    out.print(Styled("\nWhat people told agents", "bold").append(rest, "dim"))
    for each in shown:
        often = f" in {len(each.sessions)} sessions" if len(each.sessions) > 1 else ""
        show.row(out, show.plain(f'"{" ".join(each.quote.split())}"{often}', 240), "  ")
    show.row(out, f"-> as a rule in your words: ratchet lessons approve {shown[0].lesson} --do '...'", "  ")


def _gained(found: Learned) -> Styled:
    line = Styled(f"New or grown: {show.number(found.patterns, 'pattern')}; lessons: ")
    states: tuple[LessonState, ...] = ("active", "candidate", "quarantined")
    some = [state for state in states if found.lessons[state]]
    for position, state in enumerate(some):
        line.append(", " if position else "").append(f"{found.lessons[state]} {state}", show.STATE_STYLE[state])
    said = show.number(found.corrections, "correction")
    line.append("" if some else "none")
    return line.append(f"; besides, as candidates, {said} by people." if found.corrections else ".")


_SKIPPED = 3  # lines that could not be read, of those that are shown: what was found comes first


def reasons(found: Learned) -> list[tuple[str, str]]:
    """Each place that taught nothing or could not be read, with the reason."""
    return [
        (f"{bad.path}:{bad.line}" if bad.line else bad.path, re.sub(rf"^{re.escape(bad.path)} ", "it ", bad.reason))
        for bad in (*found.notes, *found.quarantined)
    ]


def skipped(told: Sequence[tuple[str, str]]) -> None:
    """Show the first places that could not be used."""
    out = show.console()
    for where, reason in told[:_SKIPPED]:
        show.row(out, show.plain(f"{where}: {reason}", 400), Styled("  skipped ", "red"))
    if len(told) > _SKIPPED:
        show.row(out, f"and {len(told) - _SKIPPED} more (ratchet learn --json lists all)", "  ")


def _aside(found: Learned) -> Iterator[str]:
    """Show what is counted apart, where there is any."""
    if found.of_model:
        tools = show.number(found.failures - found.of_model, "failed call")
        yield f"{tools} of tools, {found.of_model} of the model itself (overloaded, limits, a dead connection)"
    if found.unflagged:
        yield f"{found.unflagged} of them were recorded as a success; their output shows the failure"
    apart = [
        f"{show.number(n, 'step')} {what}"
        for n, what in (
            (found.cascades, "that only followed from another failure"),
            (found.user_denied, "that you refused"),
        )
        if n
    ]
    if apart:
        yield f"not counted as failures: {', '.join(apart)}"
    if found.notes:
        first = f"{show.plain(found.notes[0].path, 120)} ({show.plain(found.notes[0].reason, 120)})"
        rest = f", and {len(found.notes) - 1} more (ratchet learn --json names all)" if len(found.notes) > 1 else ""
        yield f"nothing to learn from {first}{rest}"


def advised(out: Console, each: Lesson) -> None:
    """A lesson as two lines: when, and what to do."""
    show.row(out, show.plain(each.met, 140), "  ")
    show.advice(out, each.text, Styled("  -> "), Styled(f"  [{show.worked(each)}]", show.STATE_STYLE[each.state]))


def _next(out: Console, found: Learned, lessons: Sequence[Lesson], *, replayed: bool) -> None:
    """Recommend what has something to show or to do here."""
    words = f"{show.number(found.corrections, 'correction')} by people, kept as quotes"
    steps = (
        (
            any(each.state == "active" for each in lessons),
            "ratchet install claude-code",
            "tell the agent; first with --dry-run",
        ),
        (bool(lessons), "ratchet lessons list", "everything that was learnt"),
        (bool(found.patterns), "ratchet patterns", "what keeps failing, and what it cost"),
        (replayed, "ratchet backtest", "what lessons would have saved, offer by offer"),
        (bool(found.corrections), "ratchet lessons words", words),
    )
    if not lessons:
        show.row(out, "No lesson yet: one needs a failure that a later step mended. Read more histories as they come.")
    useful = [f"{command:<32}{what}" for is_so, command, what in steps if is_so]
    for position, line in enumerate(useful):
        out.print(f"{'      ' if position else 'next  '}{line}")
