"""Sum up a stretch of time for people: what is new, what came back, what was learnt, and what became of changes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ratchet.improving.trials.trials import trials
from ratchet.improving.trials.words import change
from ratchet.lessons.failing import FailsBy, fails_by
from ratchet.ports import Store
from ratchet.records import Pattern, Trial, number_in, whole_in

_HOUR_S = 3_600
_LISTED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """Events from `since` to `until` (Unix seconds). Patterns are those that failed then: `new` ones began,
    `regressed` ones were resolved before, `rising` ones fail more often than they did; `top` cost most. `learnt` counts
    new lessons by state, `waiting` candidates in all."""

    since: float
    until: float
    calls: int
    failures: int
    calls_before: int
    failures_before: int
    tokens: int
    cost_usd: float
    new: tuple[Pattern, ...]
    regressed: tuple[Pattern, ...]
    rising: tuple[Pattern, ...]
    top: tuple[Pattern, ...]
    commands: tuple[FailsBy, ...]
    learnt: int
    waiting: int
    settled: tuple[Trial, ...]
    lines: tuple[str, ...]


def digest(
    store: Store, *, since: float, until: float, patterns: Sequence[Pattern], lines: tuple[str, ...] = ()
) -> Digest:
    """Sum up what happened since a moment. `patterns` are all; those that people put aside are left out."""
    length_s = until - since
    whole, now, earlier = (_ran(store, at) for at in (since - length_s, since, until))
    met = [each for each in patterns if each.last_seen >= since and each.triage.state in ("open", "regressed")]
    settled = trials(store, states=("kept", "reverted", "undecided"))
    return Digest(
        since=since,
        until=until,
        calls=now[0] - earlier[0],
        failures=now[1] - earlier[1],
        calls_before=whole[0] - now[0],
        failures_before=whole[1] - now[1],
        tokens=now[2] - earlier[2],
        cost_usd=now[3] - earlier[3],
        new=tuple(each for each in met if each.first_seen >= since and each.recurring)[:_LISTED],
        regressed=tuple(each for each in met if each.triage.state == "regressed")[:_LISTED],
        rising=tuple(each for each in met if each.trend == "rising")[:_LISTED],
        top=tuple(sorted(met, key=lambda each: -each.impact)[:_LISTED]),
        commands=tuple(each for each in fails_by(store, "command", since=since) if each.failures)[:_LISTED],
        learnt=_count(store, {"created_at": (">=", since)}),
        waiting=_count(store, {"state": "candidate"}),
        settled=tuple(each for each in settled if since <= each.closed_at <= until)[:_LISTED],
        lines=lines,
    )


def _ran(store: Store, since: float) -> tuple[int, int, int, float]:
    sums = ("calls", "failures", "tokens", "cost_usd")
    row = store.sum_by("activity", (), sums, {"hour": (">=", int(since // _HOUR_S))})[0]
    calls, failures, tokens = (whole_in(row, name) for name in sums[:3])
    return calls, failures, tokens, number_in(row, "cost_usd")


def _count(store: Store, where: dict[str, str | tuple[str, float]]) -> int:
    rows = store.sum_by("lessons", (), ("count:*",), where)
    return whole_in(rows[0], "count:*") if rows else 0


def markdown(found: Digest) -> str:
    """The digest as Markdown, without a word of HTML: texts of tools stand in code spans."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Digest) -> Iterator[str]:
    first, last = (time.strftime("%Y-%m-%d", time.gmtime(at)) for at in (found.since, found.until))
    yield f"# What agents did, {first} to {last}"
    yield ""
    yield headline(found)
    for title, patterns in (
        ("Came back after it was resolved", found.regressed),
        ("New", found.new),
        ("Rising", found.rising),
        ("What cost most", found.top),
    ):
        if patterns:
            yield from ("", f"## {title}", "")
            yield from (f"- {_pattern(each)}" for each in patterns)
    if found.commands:
        yield from ("", "## What fails by command", "", "| command | failed | runs | share |", "|---|---|---|---|")
        yield from (
            f"| {_code(each.name)} | {each.failures:,} | {each.calls:,} | {each.share:.0%} |" for each in found.commands
        )
    if found.settled:
        yield from ("", "## What became of changes", "")
        yield from (f"- {each.state}: {_code(change(each))} {_plain(each.reason)}".rstrip() for each in found.settled)
    yield from ("", "## Lessons", "", f"{found.learnt:,} new, {found.waiting:,} wait to be approved.", "")
    yield from found.lines


def headline(found: Digest) -> str:
    """One sentence: how much ran, how much of it failed, and whether that is more than before."""
    if not found.calls:
        return "Nothing ran."
    share = found.failures / found.calls
    said = f"{found.failures:,} of {found.calls:,} calls failed ({share:.1%})"
    if found.calls_before:
        before = found.failures_before / found.calls_before
        said += f"; in the stretch before {found.failures_before:,} of {found.calls_before:,} ({before:.1%})"
    money = f", {found.cost_usd:,.2f} USD" if found.cost_usd else ""
    return f"{said}. {found.tokens:,} tokens{money}."


def _pattern(each: Pattern) -> str:
    known = next((lesson for lesson in each.lessons if lesson.state == "active"), None)
    fix = f"; fix: {_code(known.text)}" if known is not None else ""
    return f"{_code(each.template)} ({each.kind}, {each.count:,} times in {each.sessions:,} sessions, {each.id}){fix}"


def _plain(text: str) -> str:
    return " ".join(text.split())[:200]


def _code(text: str) -> str:
    """Foreign text in a code span, cut to a line; what would end the span is another sign."""
    return "`" + _plain(text).replace("`", "'").replace("|", "¦") + "`"
