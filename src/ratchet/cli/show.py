"""How results look in a terminal. Text from tools is shown as data: never as markup, never as control characters."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.text import Text

from ratchet.ports import Progress
from ratchet.records import Json, Lesson, Pattern
from ratchet.runtime import unwatched

if TYPE_CHECKING:
    from ratchet.classification import Classification
    from ratchet.doctor import Check
    from ratchet.install import Installed
    from ratchet.learning import Learned
    from ratchet.memory.recall import Recalled
    from ratchet.report import Report
    from ratchet.patternview import PatternDetail
    from ratchet.sources.watch_dir import Polled

KIND_STYLE = "cyan"
STATE_STYLE = {"active": "green", "candidate": "yellow", "quarantined": "red", "retired": "dim"}


def console() -> Console:
    return Console(highlight=False, soft_wrap=False)


def as_json(value: Json | Sequence[Json]) -> None:
    """One JSON document on standard output; lone surrogates from foreign tools are escaped."""
    click.echo(json.dumps(value, ensure_ascii=not _speaks_utf8(), allow_nan=False))


def _speaks_utf8() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


@contextmanager
def progress(*, quiet: bool) -> Iterator[Progress]:
    """A progress bar on a terminal; nothing where output is not read by a person."""
    if quiet or not sys.stderr.isatty():
        yield unwatched
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("reading", total=None)
        yield lambda done, total, what: bars.update(task, completed=done, total=total, description=what[-40:])


def plain(text: str, limit: int = 200) -> Text:
    """Foreign text on one line, control characters shown as spaces."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return Text(line if len(line) <= limit else line[: limit - 1] + "…")


def block(text: str) -> Text:
    """Foreign text on its own lines, other control characters removed."""
    return Text("".join(c for c in text if c == "\n" or c.isprintable()))


def ago(at: float) -> str:
    days = (time.time() - at) / 86_400
    if days < 1:
        return "today"
    return f"{days:.0f} d ago" if days < 60 else time.strftime("%Y-%m-%d", time.gmtime(at))


def seconds(value: float) -> str:
    if value < 90:
        return f"{value:.0f} s"
    return f"{value / 60:.0f} min" if value < 5400 else f"{value / 3600:.1f} h"


def learned(found: Learned, *, following: bool = True) -> None:
    out = console()
    out.print(
        f"Read [b]{found.files}[/b] files, [b]{found.sessions}[/b] sessions: [b]{found.outcomes:,}[/b] new outcomes, "
        f"[b]{found.failures}[/b] failures of the agent ({found.unflagged} of them not flagged by their source), "
        f"{found.cascades} cascades, {found.user_denied} refusals."
    )
    counts = found.lessons
    out.print(
        f"Patterns touched: {found.patterns}. Lessons learnt: [green]{counts['active']} active[/green], "
        f"[yellow]{counts['candidate']} candidates[/yellow], [red]{counts['quarantined']} quarantined[/red]."
    )
    for bad in found.quarantined[:10]:
        out.print(Text("  skipped ", "red").append_text(plain(f"{bad.path}:{bad.line}: {bad.reason}")))
    if len(found.quarantined) > 10:
        out.print(f"  and {len(found.quarantined) - 10} more (ratchet learn --json lists all)")
    for note in found.notes[:10]:
        out.print(Text("  empty   ", "dim").append_text(plain(f"{note.path}: {note.reason}")))
    if following:
        out.print("next: [b]ratchet patterns[/b], [b]ratchet lessons list[/b], [b]ratchet install claude-code[/b]")


def patterns(found: Sequence[Pattern], total: int) -> None:
    out = console()
    if not found:
        out.print("No failures recorded. Next: [b]ratchet learn[/b] reads the histories on this machine.")
        return
    for each in found:
        times = f"{each.count}x" if each.sessions < 2 else f"{each.count}x in {each.sessions} sessions"
        about = [times, each.trend if each.recurring else "once", f"last {ago(each.last_seen)}"]
        if each.wasted_s >= 1:
            about.append(f"{seconds(each.wasted_s)} wasted")
        out.print(Text(each.kind, KIND_STYLE).append(f"  {', '.join(about)}  ", "default").append(each.id, "dim"))
        out.print(Text("  ").append_text(plain(each.template, 160)))
        for lesson in each.lessons[:2]:
            state = f"  [{lesson.state}, worked in {lesson.worked} of {lesson.tried} sessions]"
            out.print(Text("  -> ").append_text(plain(lesson.text, 200)).append(state, STATE_STYLE[lesson.state]))
    if total > len(found):
        out.print(f"{len(found)} of {total} patterns; --limit {total} shows all")


def pattern(detail: PatternDetail) -> None:
    out = console()
    each = detail.pattern
    out.print(Text(f"{each.id}  {each.kind}  {each.trend}", "bold"))
    out.print(f"{each.count} times in {each.sessions} sessions, agents: {', '.join(each.agents)}")
    out.print(f"first {ago(each.first_seen)}, last {ago(each.last_seen)}, wasted {seconds(each.wasted_s)}")
    out.print(Text("\ntemplate\n", "bold").append_text(block(each.template)))
    for signature in detail.signatures:
        out.print(Text(f"  {signature}", "dim"))
    for message in detail.examples:
        out.print(Text("\nexample\n", "bold").append_text(block(message)))
    for lesson_ in each.lessons:
        out.print(Text("\nlesson\n", "bold"))
        lesson(lesson_)
    for other in detail.correlated:
        one, another = other.patterns
        with_ = another if one == each.id else one
        times = f"{other.together} times, {other.expected:.1f} expected"
        out.print(plain(f"comes together with {with_} ({other.unit}s: {times}; {other.statistic}, p = {other.p:.1g})"))


def lessons(found: Sequence[Lesson]) -> None:
    out = console()
    if not found:
        out.print("No lessons yet. Next: [b]ratchet learn[/b], or [b]ratchet lessons add --when ERROR --do FIX[/b].")
        return
    for each in found:
        state = Text(f"{each.state:<11}", STATE_STYLE[each.state])
        worked = (
            f" worked in {each.worked} of {each.tried} sessions  {each.kind}  " if each.tried else f" {each.kind}  "
        )
        out.print(state.append(worked, "default").append(each.id, "dim"))
        out.print(Text("  when ", "dim").append_text(plain(each.when, 140)))
        out.print(Text("  do   ", "dim").append_text(plain(each.text, 240)))
        if each.reason:
            out.print(Text("  why  ", "dim").append_text(plain(each.reason, 200)))


def lesson(each: Lesson) -> None:
    out = console()
    out.print(Text(f"{each.id}  ", "bold").append(each.state, STATE_STYLE[each.state]).append(f"  {each.scope}"))
    for title, text in (("when", each.when), ("do", each.text), ("example", each.example), ("reason", each.reason)):
        if text:
            out.print(Text(f"{title}: ", "bold").append_text(block(text)))
    out.print(f"worked in {each.worked} of {each.tried} sessions; from {each.provenance or 'unknown'}")
    for outcome_id in each.evidence[:10]:
        out.print(Text(f"  evidence {outcome_id}", "dim"))


def decided(each: Lesson) -> None:
    click.echo(f"{each.id} is {each.state}" + (f": {each.reason}" if each.reason else ""))


def recalled(found: Recalled) -> None:
    out = console()
    if found.abstained:
        out.print(f"Nothing known is similar enough ({found.searched} lessons searched). Better silent than a guess.")
        return
    for each in found.lessons:
        known = each.lesson
        out.print(block(known.text))
        out.print(
            Text(
                f"  {known.state}; worked in {known.worked} of {known.tried} sessions; {each.match} match {each.score:.2f}; "
                f"{known.id}",
                "dim",
            )
        )


def health(found: object) -> None:
    from ratchet import shapes

    shape = shapes.health(found)  # type: ignore[arg-type]
    out = console()
    if shape["score"] is None:
        out.print("No outcomes recorded. Next: [b]ratchet learn[/b], or record some.")
        return
    out.print(f"overall {shape['score']:.2f}  (exponentially weighted, half-life {shape['half_life_calls']} calls)")
    agents = shape["agents"]
    assert isinstance(agents, dict)
    for name, score in sorted(agents.items()):
        assert isinstance(score, float | int)
        out.print(Text(f"  {score:.2f} {'█' * round(score * 20):<20} ").append_text(plain(name, 60)))


def classification(found: Classification) -> None:
    out = console()
    out.print(Text(found.kind, KIND_STYLE))
    out.print(f"transient: {'yes' if found.transient else 'no'}; safe to retry: {'yes' if found.retry_safe else 'no'}")
    out.print(Text(found.signature, "dim"))
    out.print(block(found.template))


def polled(found: Polled) -> None:
    click.echo(f"{found.outcomes} outcomes from {found.processed} files")
    for bad in found.rejected:
        click.echo(f"  rejected {plain(f'{bad.path}:{bad.line}: {bad.reason}')}")


def imported(found: object) -> None:
    from ratchet import shapes

    shape = shapes.imported(found)  # type: ignore[arg-type]
    click.echo(f"{shape['imported']} lessons imported as candidates, {shape['known']} known already")
    rejected = shape["rejected"]
    assert isinstance(rejected, list)
    for bad in rejected:
        assert isinstance(bad, dict)
        click.echo(f"  rejected line {bad['line']}: {bad['reason']}")


def installed_fields(done: Installed) -> dict[str, Json]:
    return {
        "path": done.path,
        "changed": done.changed,
        "diff": done.diff,
        "backup": done.backup,
    }


def installed(done: Installed, *, dry_run: bool) -> None:
    if not done.changed:
        click.echo(f"{done.path}: nothing to change")
        return
    for line in done.diff.splitlines():
        style = {"+": "green", "-": "red"}.get(line[:1])
        click.secho(line, fg=style)
    click.echo(f"{'would change' if dry_run else 'changed'} {done.path}")
    if done.backup and not dry_run:
        click.echo(f"backup: {done.backup}")


def doctor(checks: Sequence[Check]) -> None:
    for check in checks:
        mark = click.style("ok  ", fg="green") if check.ok else click.style("FAIL", fg="red")
        click.echo(f"{mark} {check.name}: {check.found}")
        if check.remedy:
            click.echo(f"     -> {check.remedy}")


def report(found: Report) -> None:
    out = console()
    pooled = found.pooled
    out.print(Text(f"All lessons together: {pooled.verdict}", "bold"))
    out.print(
        f"  shown    {pooled.shown_ok} of {pooled.shown} units achieved their step\n"
        f"  withheld {pooled.withheld_ok} of {pooled.withheld}"
    )
    if pooled.estimate is not None:
        span = f"{100 * pooled.low:+.0f} to {100 * pooled.high:+.0f}"
        out.print(f"  difference {100 * pooled.estimate:+.0f} points; 95 % interval, valid at any time: {span}")
    for each in found.lessons:
        line = Text(f"\n{each.id}  ", "dim")
        if each.enough:
            line.append(f"{100 * each.effect.estimate:+.0f} points (+-{100 * each.effect.spread:.0f})")
        else:
            line.append("not enough data yet")
        line.append(f"; shown {each.counts.shown}, withheld {each.counts.withheld}\n  ").append_text(
            plain(each.text, 160)
        )
        out.print(line)
    out.print(
        f"\n{found.waiting} units of running sessions wait, {found.not_attempted} never came to their step. "
        f"New sessions withhold {found.withheld_share:.0%}."
    )
