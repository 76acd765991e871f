"""Patterns as a terminal shows them: message before kind, colour by kind, and what people decided."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ratchet.cli import show
from ratchet.cli.terminal import Console, Styled
from ratchet.failures.spans import IMPACT, LOST, span
from ratchet.lessons.failing import FINDINGS, By, FailsBy, MetHere
from ratchet.lessons.standing import LOOKED_UP

if TYPE_CHECKING:
    from ratchet.failures.patterns.detail import PatternDetail
    from ratchet.records import Pattern, Triage

_STYLES = {"regressed": "bold red", "resolved": "green", "ignored": "dim", "muted": "dim"}
_TREND_STYLES = {"rising": "red", "new": "yellow", "falling": "green", "quiet": "green"}
_MOST = 5
_BAR = 12  # columns of a bar
_NAME = 44  # columns of a name; a longer one is cut


def patterns(
    found: Sequence[Pattern],
    *,
    more: str = "",
    narrowed: str = "",
    hidden: int = 0,
    met: Mapping[str, MetHere] | None = None,
) -> None:
    """Each pattern's error text, what it cost, and what fixed it. `more` says how to see the rest, where there is any;
    `narrowed` says by what a filter chose; `hidden` counts those that people put aside; `met` how much of each is the
    project's that was asked for."""
    out = show.console()
    if not found and not hidden:
        nothing = f"No failures {narrowed}." if narrowed else "No failures recorded."
        out.print(f"{nothing} Next: {'ratchet patterns' if narrowed else 'ratchet learn'}")
        return
    for each in found:
        title = show.plain(each.template, 160)
        show.row(out, show.bold(title if title.plain.strip() else Styled("(the failure said nothing)")))
        show.row(out, _line(each, (met or {}).get(each.id)), "  ")
        known = [lesson for lesson in each.lessons if lesson.state in ("active", "candidate")]
        looked_up = [lesson for lesson in known if lesson.unsaid == LOOKED_UP]  # one a project, in the same words
        for lesson in [lesson for lesson in known if lesson not in looked_up[1:]][:2]:
            trust = f"{lesson.state}, worked out where the step fails" if lesson in looked_up else show.worked(lesson)
            said = Styled(f"  [{trust}]", show.STATE_STYLE[lesson.state])
            text = lesson.text.partition(" For example: ")[0] if lesson in looked_up else lesson.text
            show.advice(out, text, Styled("  -> "), said)
        if not known and each.lessons:
            told = each.lessons[0]
            refused = show.plain(f"{told.text} ({told.reason or told.state})", 200)
            show.row(out, Styled("no advice: ", "red").append(refused), "  ")
    if any(each.wasted_s >= 1 for each in found):
        show.row(out, LOST)
    if found:
        show.row(out, IMPACT)
    if more:
        show.row(out, more)
    if hidden:
        show.row(out, f"{hidden} resolved, ignored or muted: ratchet patterns --all")


def _line(each: Pattern, here: MetHere | None = None) -> Styled:
    line = show.kind(each.kind).append("  ")
    if each.triage.state != "open" or each.triage.assigned:
        line.append(_triage(each.triage), _STYLES.get(each.triage.state, "")).append("  ")
    sessions = f" in {show.number(each.sessions, 'session')}" if each.sessions and each.count > 1 else ""
    line.append(f"{each.count:,}x{sessions}")
    if here and here.count < each.count:
        line.append(f" of all projects ({here.count:,}x in {here.sessions:,} here)")
    if each.recurring:
        line.append(", ").append(each.trend, _TREND_STYLES.get(each.trend, ""))
    line.append(f", last {show.ago(each.last_seen)}")
    if each.wasted_s >= 1:
        line.append(f", {span(each.wasted_s)} lost")
    line.append(f", impact {each.impact:,.0f}")
    return line.append(f"  {each.id}", "dim")


def _triage(triage: Triage) -> str:
    until = f" until {time.strftime('%Y-%m-%d', time.gmtime(triage.until))}" if triage.state == "muted" else ""
    who = f", {show.plain(triage.assigned, 40)}" if triage.assigned else ""
    return f"{triage.state}{until}{who}"


def pattern(detail: PatternDetail) -> None:
    out = show.console()
    each = detail.pattern
    show.row(out, show.bold(show.plain(each.template, 160)))
    show.row(out, _line(each), "  ")
    if each.triage.note:
        show.row(out, show.plain(each.triage.note, 400), "  note: ")
    show.row(out, show.plain(f"agents: {', '.join(each.agents)}; first {show.ago(each.first_seen)}", 400), "  ")
    for lesson in each.lessons:
        out.print(Styled("\nlesson ", "bold"), end="")
        show.lesson(lesson)
    for message in detail.examples:
        out.print(Styled("\nexample\n", "bold").append(show.block(message)), soft_wrap=not out.is_terminal)
    masked = show.block(each.template)
    out.print(Styled("\ntemplate (what differs from case to case is masked)\n", "bold").append(masked))
    out.print(Styled("\nsignatures (ratchet patterns split takes one out)", "bold"))
    for signature in detail.signatures:
        out.print(f"  {signature}")
    for other in detail.correlated:
        one, another = other.patterns
        with_ = another if one == each.id else one
        times = f"{other.together} times, {other.expected:.1f} expected"
        said = f"comes together with {with_} ({other.unit}s: {times}; {other.statistic}, p = {other.p:.1g})"
        show.row(out, show.plain(said))


def triaged(each: Pattern) -> None:
    """Say what a pattern is now."""
    said = Styled(f"{each.id} is ").append(_triage(each.triage), _STYLES.get(each.triage.state, "bold"))
    show.row(show.console(), said.append(": ").append(show.plain(each.template, 100)))


def most(rows: Sequence[FailsBy]) -> None:
    """The commands that fail most, before the patterns that their failures form."""
    failing = [each for each in rows if each.failures][:_MOST]
    if failing:
        out = show.console()
        _table(out, failing, "what fails here")
        out.print(Styled("next  ratchet patterns --by command     or by tool, file, project, model, hour\n", "dim"))


def fails(rows: Sequence[FailsBy], by: By) -> None:
    """Failures, by one aspect of the steps."""
    out = show.console()
    if not rows:
        out.print("No step is known yet. Next: ratchet learn")
        return
    _files(out, rows) if by == "file" else _table(out, rows, by)


def _files(out: Console, rows: Sequence[FailsBy]) -> None:
    """Files with findings: of their runs nothing else is known, so they have no share."""
    wide = max(len("file"), *(min(_NAME, len(show.visible(each.name))) for each in rows))
    out.print(Styled(f"{'file':<{wide}}  {'findings':>8}  {'sessions':>8}", "bold"))
    for each in rows:
        out.print(f"{show.plain(each.name, _NAME).plain:<{wide}}  {each.failures:>8,}  {each.sessions:>8,}")
    show.row(out, f"{FINDINGS} `ratchet sessions search --failed --file FILE` lists the runs.")


def _table(out: Console, rows: Sequence[FailsBy], title: str) -> None:
    wide = max(len(title), *(min(_NAME, len(show.visible(each.name))) for each in rows))
    out.print(
        Styled(f"{title:<{wide}}  {'failed':>6}  {'share':>5}  {'runs':>6}  {'sessions':>8}  █ failed ░ not", "bold")
    )
    for each in rows:
        part = each.share or 0.0
        share = round(_BAR * part)
        line = Styled(f"{show.plain(each.name, _NAME).plain:<{wide}}  {each.failures:>6,}  {part:>5.0%}")
        line.append(f"  {each.runs:>6,}  {each.sessions:>8,}  ")
        out.print(line.append("█" * share, "red").append("░" * (_BAR - share), "dim"))
