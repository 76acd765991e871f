"""Puts a replay into a line, and into a page of its own that needs nothing but itself."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ratchet.lessons.backtest.backtest import Backtest, BacktestOffer, TrustedAfter
    from ratchet.lessons.backtest.counted import Saving
    from ratchet.records import Lesson

_MINUTE_S, _CENT = 60.0, 0.01
_TEXT_CHARS = 400


def said(found: Backtest) -> str:
    """Put a replay into one line."""
    if not found.failures:
        return "Nothing to replay: no session with a failure is known."
    since = time.strftime("%B %Y", time.gmtime(found.since))
    if not found.right + found.wrong + found.unknown:
        came_back = (
            f"{found.recurring:,} came back in a later session, none of them after its fix had worked in two"
            if found.recurring
            else "none came back in a later session"
        )
        return (
            f"Had Ratchet been here since {since}: no lesson told yet at any of {_failed(found.failures)}: {came_back}."
        )
    before, lessons = found.saved_before, found.right + found.wrong + found.unknown
    return (
        f"Had Ratchet been here since {since}: {before.turns:,} of {_failed(found.failures)} prevented"
        f"{_in_brackets(before)}, by telling an agent a lesson of earlier sessions before the step. "
        f"Lessons told in all: {_times(lessons)}, {told(found)}.{_without_it(found)}"
    )


def _without_it(found: Backtest) -> str:
    """Say how much of it is left where no hook runs before a step."""
    if not found.saved_before.turns:
        return ""
    also = f"{found.saved.turns:,}{_in_brackets(found.saved)}" if found.saved.turns else "none"
    return f" Told only after a step has failed, they would have prevented {also}."


def titles(found: Backtest) -> list[tuple[str, Sequence[BacktestOffer]]]:
    """The lists of what was told, each lesson once, with their titles."""
    rows = (("Right", "saved", found.right, found.best), ("Wrong", "cost", found.wrong, found.worst))
    return [
        (f"{name} lessons, what {did} most first (told {_times(count)}; each lesson once)", offers)
        for name, did, count, offers in rows
    ]


def _times(count: int) -> str:
    return f"{count:,} {'time' if count == 1 else 'times'}"


def told(found: Backtest | TrustedAfter | Lesson) -> str:
    """Count in words how what was told did."""
    unclear = f", {found.unknown:,} unclear" if found.unknown else ""
    return f"{found.right:,} right, {found.wrong:,} wrong{unclear}"


def of_lesson(lesson: Lesson) -> str:
    """Put into words what the replay found of one lesson, "" where no later session met it."""
    if not lesson.right + lesson.wrong + lesson.unknown:
        return ""
    ended = (
        f"; it ends what failed in {lesson.saved_turns:,} {'call' if lesson.saved_turns == 1 else 'calls'}"
        if lesson.saved_turns
        else ""
    )
    wrong = " (wrong: that failure was mended otherwise there)" if lesson.wrong else ""
    return f"had it been told in later sessions: {told(lesson)}{wrong}{ended}"


def saving(saved: Saving) -> str:
    """Put into words what was saved."""
    return f"{_failed(saved.turns)}{_in_brackets(saved)}"


def _failed(count: int) -> str:
    return f"{count:,} failed {'call' if count == 1 else 'calls'}"


def _in_brackets(saved: Saving) -> str:
    return f" ({cost(saved)})" if saved.turns else ""


def cost(saved: Saving) -> str:
    """Put into words what the calls that were saved had cost, "" where none was: of tokens those that were new, where
    it is known which a cache gave (19 of 20, and they cost a tenth)."""
    if not saved.turns:
        return ""
    minutes = saved.duration_s / _MINUTE_S
    told = [f"{minutes:,.0f} min" if minutes >= 1 else f"{saved.duration_s:.0f} s"]
    if saved.cost_usd is not None and saved.cost_usd >= _CENT / 2:
        told.append(f"at least {saved.cost_usd:,.2f} USD")
    if saved.tokens:
        told.append(f"{saved.tokens - saved.cached:,} {'new ' if saved.cached else ''}tokens")
    return ", ".join(told)


def failed_of(offer: BacktestOffer) -> str:
    """Put into words what an offer answered: a rule by its name, a message by its words."""
    kind, _, words = offer.key.partition(":")
    said = words if kind in _MESSAGES else offer.key
    return said.replace("<>", "…").strip()


_MESSAGES = frozenset(("c", "e", "t", "w", "py"))
"""What the keys of messages begin with (`failures.diagnostics`); the others are names of rules."""


def figures(found: Backtest) -> list[tuple[str, str]]:
    """The figures of a replay with their names, in the order in which they are read."""
    return [
        ("sessions with a failure", f"{found.sessions:,}"),
        ("failed calls", f"{found.failures:,}"),
        ("  known from an earlier session", f"{found.recurring:,}"),
        ("  answered by a lesson", f"{found.offered:,}"),
        ("  answered by none", f"{found.silent:,}"),
        ("lessons told, each once a session", told(found)),
        (
            "the same failed step, run once more",
            f"{found.repeats_right:,} failed again, {found.repeats_wrong:,} worked",
        ),
        ("prevented, told before the step", saving(found.saved_before)),
        ("  of these, told after a failure", saving(found.saved)),
    ]


def page(found: Backtest) -> str:
    """The replay as an HTML document."""
    return "\n".join(_page(found)) + "\n"


def _page(found: Backtest) -> Iterator[str]:
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8"><title>Backtest</title>'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield "<style>body{font:1rem/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
    yield "color-scheme:light dark}th{text-align:left;font-weight:normal;padding-right:2rem}"
    yield "pre{white-space:pre-wrap;overflow-wrap:anywhere}</style></head><body><main>"
    yield f"<h1>Backtest</h1><p>{escape(said(found))}</p><table>"
    for name, value in figures(found):
        yield f"<tr><th scope='row'>{escape(name)}</th><td>{escape(value)}</td></tr>"
    yield "</table>"
    for title, offers in titles(found):
        yield f"<h2>{title}</h2>"
        yield "<ol>" if offers else "<p>None.</p>"
        yield from map(_item, offers)
        yield "</ol>" if offers else ""
    yield "<h2>Had a lesson been told only after more proof</h2><table><tr><th>sessions in which it had worked</th>"
    yield "<th>right</th><th>wrong</th><th>unclear</th></tr>"
    for each in found.trusted_after:
        yield f"<tr><td>{each.sessions}</td><td>{each.right}</td><td>{each.wrong}</td><td>{each.unknown}</td></tr>"
    yield "</table><h2>Assumed</h2><ul>"
    yield from (f"<li>{escape(each)}</li>" for each in found.assumed)
    yield "</ul></main></body></html>"


def _item(offer: BacktestOffer) -> str:
    when = time.strftime("%Y-%m-%d %H:%M", time.gmtime(offer.at))
    return (
        f"<li><p><code>{escape(offer.step[:_TEXT_CHARS])}</code> failed with <code>{escape(failed_of(offer))}</code> "
        f"({when}, session {escape(offer.session)})</p><pre>{escape(offer.text[:_TEXT_CHARS])}</pre>"
        f"<p>Lesson <code>{escape(offer.lesson)}</code></p></li>"
    )
