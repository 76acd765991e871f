"""Results as a terminal shows them; long, since pages of many commands share its rows.

Text from tools is shown as data: never as markup, never as control characters.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ratchet.cli.terminal import Console, Styled
from ratchet.failures import programs
from ratchet.failures.spans import span
from ratchet.lessons.hunk_lines import at_a_word, cut
from ratchet.lessons.standing import LOOKED_UP

if TYPE_CHECKING:
    from rich.console import Console as RichConsole

    from ratchet.cli.doctor import Check
    from ratchet.failures.classification import Classification
    from ratchet.failures.patterns.health import Health
    from ratchet.improving.report import Report
    from ratchet.integrations.settings_file import Installed
    from ratchet.lessons.recall import Recalled, RecalledLesson
    from ratchet.ports import Progress
    from ratchet.recording.sources.watch_dir import Polled
    from ratchet.records import Lesson, Outcome, Pattern
    from ratchet.serving.shapes.shape import Shape

_GROUP_STYLES = {
    "provider": "blue",
    "access": "magenta",
    "model": "magenta",
    "tool": "yellow",
    "code": "red",
    "run": "cyan",
}
_TICK_S = 30.0
_STEP_CHARS = 160  # of a step that a lesson rests on; `sessions show` has it whole
_SESSION_CHARS = 36  # of a session's name: a whole UUID
STATE_STYLE = {"active": "green", "candidate": "yellow", "quarantined": "red", "retired": "dim"}


def console(*, stderr: bool = False) -> Console:
    """The console that results are printed on."""
    return Console(stderr=stderr)


def bars_console() -> RichConsole:
    """The console that progress bars are drawn on."""
    from rich.console import Console as RichConsole

    return RichConsole(stderr=True)


def as_json(value: Shape | Sequence[Shape]) -> None:
    """One JSON document of shapes on standard output; lone surrogates from foreign tools are escaped."""
    from ratchet.serving.shapes.shape import json_of

    click.echo(json.dumps(json_of(value), ensure_ascii=not _speaks_utf8(), allow_nan=False))


def _speaks_utf8() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


@contextmanager
def progress(*, quiet: bool) -> Iterator[Progress]:
    """A progress bar on a terminal, a line now and then where standard error is kept; nothing when `quiet`."""
    if quiet:
        from ratchet.runtime import unwatched

        yield unwatched
        return
    if not sys.stderr.isatty():
        last = ["at work"]

        def kept(done: int, total: int, what: str) -> None:
            last[:] = [f"{f'{done / total:.0%}, ' if total else ''}{plain(what, 100)}"]

        with ticking(lambda: last[0]):
            yield kept
        return
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    named = TextColumn("{task.description}", markup=False)  # a file or a session named it
    columns = (named, BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Bars(*columns, console=bars_console(), transient=True) as bars:
        task = bars.add_task("reading", total=None)
        yield lambda done, total, what: bars.update(task, completed=done, total=total, description=_brief(what))


@contextmanager
def ticking(said: Callable[[], str]) -> Iterator[None]:
    """Tell on standard error every half minute how far it is, also while nothing ends: whoever reads a log must see
    that work goes on. Nothing is told while there is nothing to say."""
    over, began = threading.Event(), time.monotonic()

    def tell() -> None:
        while not over.wait(_TICK_S):
            if at_work := said():
                line = f"  {at_work} ({span(time.monotonic() - began)} so far)"
                console(stderr=True).print(line, style="dim", soft_wrap=True)

    teller = threading.Thread(target=tell, name="ratchet-told", daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()


def _brief(what: str) -> str:
    """A task's name in a fixed width, so that the bar stands still."""
    name = visible(what.rsplit("/", 1)[-1])
    return f"{name[:23] + '…' if len(name) > 24 else name:<24}"


def plain(text: str, limit: int = 200) -> Styled:
    """Foreign text on one line, control characters shown as spaces; a longer one is cut at a word."""
    return Styled(at_a_word(" ".join(visible(text).split()), limit))


def advice(out: Console, text: str, prefix: Styled, marked: Styled | None = None, *, whole: bool = False) -> None:
    """A lesson's advice: its sentence, `marked` behind it, and the lines of its hunk below; the first ones, each cut,
    unless it is shown `whole`."""
    limit = max(len(text), 1) if whole else _ADVICE_CHARS
    first, *hunk = text.split("\n")
    before = first.removesuffix(EXAMPLE) if marked is not None and hunk else first
    said = plain(before, limit)
    row(out, said.append(marked).append(first[len(before) :]) if marked is not None else said, prefix)
    lines = [line.expandtabs(4) for line in (hunk if whole else hunk[:_HUNK_LINES])]
    for code, each in zip(lines if whole else cut(lines), lines, strict=True):
        told = Styled(visible(code).rstrip()) if each[:2] in ("+ ", "- ") else plain(each, limit)
        row(out, told, Styled(" " * (prefix.cell_len + 2)))


_HUNK_LINES, _ADVICE_CHARS = 8, 240
EXAMPLE = ", for example:"
"""End of the sentence of a fix whose hunk stands below."""


def bold(text: Styled) -> Styled:
    text.stylize("bold")
    return text


def kind(name: str) -> Styled:
    """A kind in the colour of its group, as the pages have it."""
    from ratchet.failures.kinds.groups import group_of

    return Styled(name, _GROUP_STYLES[group_of(name)])


def line(text: str) -> None:
    """Print one line with foreign text in it (a path, a reason), control characters shown as spaces."""
    click.echo(visible(text))


def visible(text: str) -> str:
    """The text with its control characters as spaces, as it may be printed within a line."""
    return "".join(c if c.isprintable() else " " for c in text)


def block(text: str) -> Styled:
    """Foreign text on its own lines, other control characters removed."""
    return Styled("".join(c for c in text if c == "\n" or c.isprintable()))


def row(out: Console, text: Styled | str, lead: Styled | str = "") -> None:
    """`text` behind `lead`. On a terminal its further lines stand under its first; elsewhere it stays one line, so that
    a script finds it whole."""
    head = Styled(lead) if isinstance(lead, str) else lead
    body = Styled(text) if isinstance(text, str) else text
    if not out.is_terminal:
        out.print(Styled("").append(head).append(body), soft_wrap=True)
        return
    hung = Styled(" " * head.cell_len)
    for number, line in enumerate(body.wrap(max(20, out.width - head.cell_len))):
        out.print(Styled("").append(hung if number else head).append(line))


def worked(each: Lesson) -> str:
    """Say in a few words how far a lesson may be trusted."""
    if each.state == "quarantined":
        return f"quarantined, never advice: {each.reason}" if each.reason else "quarantined, never advice"
    return f"{each.state}, {each.proof}"


def number(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def ago(at: float) -> str:
    days = (time.time() - at) / 86_400
    if days < 1:
        return "today"
    return f"{days:.0f} d ago" if days < 60 else time.strftime("%Y-%m-%d", time.gmtime(at))


def lesson(each: Lesson, evidence: Sequence[Outcome] = ()) -> None:
    """Show a lesson whole, with those steps of its `evidence` that are kept."""
    from ratchet.lessons.backtest.telling import of_lesson

    out = console()
    out.print(Styled(f"{each.id}  ", "bold").append(each.state, STATE_STYLE[each.state]))
    said = said_where(each.sessions, each.step) if each.quote else ""
    for title, text in (
        ("when", each.met),
        ("do", "" if each.is_quote else each.text),
        ("said", each.quote),
        ("in", said),
        ("example", each.example),
        ("why", f"{each.note} (its agent's own words, session {each.noted_in})" if each.note else ""),
        ("skill", f"{each.skill}: ratchet lessons skills show {each.skill}" if each.skill else ""),
        ("reason", each.reason),
    ):
        if text:
            advice(out, text, Styled(f"  {title:<10}", "bold"), whole=True)
    if each.stale:
        row(
            out,
            plain(f"{each.stale}; told to nobody there until it is met again", 300),
            Styled(f"  {'stale':<10}", "bold"),
        )
    replay = of_lesson(each)
    if replay:
        row(out, replay, Styled(f"  {'replay':<10}", "bold"))
    if each.state in ("active", "candidate"):
        row(out, _counts_in(each), Styled(f"  {'counts in':<10}", "bold"))
    last = f", last met {ago(each.seen_at)}" if each.seen_at else ""
    row(out, plain(f"{each.proof}{last}; {each.provenance or 'origin unknown'}"), Styled("  evidence  ", "bold"))
    sessions: dict[str, list[Outcome]] = {}
    for outcome in sorted(evidence, key=lambda seen: seen.started_at):
        sessions.setdefault(outcome.session, []).append(outcome)
    for session, steps in sessions.items():
        day = time.strftime("%Y-%m-%d", time.gmtime(steps[0].started_at))
        row(out, plain(f"{day}  session {session[:_SESSION_CHARS]}"), "            ")
        for end, ok in (("failed  ", False), ("worked  ", True)):
            for ran in dict.fromkeys(_ran(step) for step in steps if step.ok == ok):
                row(out, plain(ran, _STEP_CHARS), f"              {end}")
    more = each.worked - len(sessions)
    if sessions and more > 0:
        row(out, f"and {number(more, 'earlier session')}", "            ")
    for change in each.changes:
        advice(out, change, Styled(f"  {'edit':<10}", "bold"), whole=True)


def _ran(outcome: Outcome) -> str:
    """The step as it ran: what differs between the one that failed and the one that worked is seldom its name."""
    step = outcome.step
    if step is None:
        return outcome.task or outcome.agent
    return programs.called(step.tool, step.input)


def said_where(sessions: Sequence[str], step: str, people: int = 1) -> str:
    """Say where a person's words stand."""
    named = ", ".join(session[:_SESSION_CHARS] for session in sessions[:3])
    more = f" and {len(sessions) - 3} more" if len(sessions) > 3 else ""
    many = f", {people} people" if people > 1 else ""
    return f"session {named}{more}{many}, step {step}"


def _counts_in(each: Lesson) -> Styled:
    """Say where agents are handed it: the answer to "why is the hook silent?"."""
    if each.scope == "global":
        return Styled("every project")
    where = each.project or ", ".join(each.projects[:5]) or "no project"
    return plain(f"{where} (ratchet lessons approve --global ID: in every project)", 600)


_SILENT = {
    "nothing": "No lessons to search yet. Next: ratchet learn",
    "empty": "The text holds no words to look for: pass the error as the program printed it.",
    "unlike": "Nothing known is surely about this",
    "ambiguous": "Several remedies fit this text equally well, so none is sure: pass more of the output",
    "unproven": "What fits worked in one session only, so it is not sure",
    "itself": "Known, and the text itself says what to do, so no agent is told",
    "looked_up": "Known: what to do is worked out where the step fails, from the project's files",
    "others": "Known, but others wrote it and it holds no command that may be shown: read it and take it over by "
    "`ratchet lessons approve ID`; `ratchet lessons list` names it",
}
_SOUGHT_LINES = 4
_HOW = {
    "finding": "its finding stands in the text",
    "exact": "it is about this error",
    "pattern": "it is about an error of the same pattern",
    "similar": "its error is {:.0%} like this text",
    "words": "it shares words with this text",
}


def recalled(found: Recalled, met: Pattern | None = None) -> None:
    """Show what is known about a text; where that is no lesson, the pattern that it is one more case of (`met`)."""
    out = console()
    for each in found.lessons:
        _found(out, each)
    if not found.lessons:
        said = _SILENT.get(found.silent, _SILENT["unlike"])
        row(out, f"{said} ({found.counted})." if found.searched else said)
        if met is not None:
            often = f"{met.count:,}x" + (f" in {number(met.sessions, 'session')}" if met.sessions else "")
            row(out, f"It failed so before, {often}, last {ago(met.last_seen)}: ratchet patterns show {met.id}")
        if found.looked_for:
            sought = found.looked_for.split("\n")
            more = f"\n(and {len(sought) - _SOUGHT_LINES} more lines)" if len(sought) > _SOUGHT_LINES else ""
            row(out, block("\n".join(sought[:_SOUGHT_LINES]) + more), Styled("looked for  ", "dim"))
    told = found.silent in ("itself", "looked_up")
    known = [each for each in found.possibly if told and each.match not in ("similar", "words")]
    for each in known:
        _found(out, each, "  ")
    possibly = [each for each in found.possibly if each not in known]
    if possibly:
        out.print(Styled("Possibly, to look through (for this text no agent is handed these):", "dim"))
        for each in possibly:
            _found(out, each, "  ")


def _found(out: Console, each: RecalledLesson, indent: str = "") -> None:
    known = each.lesson
    row(out, block(known.text), indent)
    newer = f"; superseded by {each.superseded_by}" if each.superseded_by else ""
    where = f"; learnt in {plain(each.learnt_in[0])}" if each.learnt_in else ""
    needs = f"only where the command has `{plain(each.needs, 80)}`; " if each.needs else ""
    part = "of others, its commands alone until you approve it; " if known.foreign else ""
    trust = worked(known) if known.unsaid != LOOKED_UP else known.state
    said = f"{trust}; {part}{needs}{_HOW[each.match].format(each.score)}; {known.id}{newer}{where}"
    row(out, Styled(said, "dim"), indent + "  ")


def health(found: Health) -> None:
    out = console()
    if found.score is None:
        out.print("No outcomes recorded. Next: ratchet learn, or record some.")
        return
    scale = f"0 all fails, 1 all succeeds; the last {found.half_life_calls} calls count half"
    out.print(f"{found.score:.2f} overall  ({scale})")
    for name, score in sorted(found.agents.items()):
        out.print(Styled(f"  {score:.2f} {'█' * round(score * 20):<20} ").append(plain(name, 60)))


def classification(found: Classification) -> None:
    from ratchet.failures.kinds.codes import errnos_said

    out = console()
    out.print(kind(found.kind))
    passing, again = ("yes" if each else "no" for each in (found.transient, found.retry_safe))
    row(out, found.rule, "  told by   ")
    out.print(f"  may pass by itself: {passing}; safe to retry: {again}")
    for name, meaning in errnos_said(found.template).items():
        if meaning.lower() not in found.template.lower():
            out.print(f"  {name} means: {meaning}")
    row(out, found.signature, "  signature ")
    row(out, block(found.template), "  template  ")


def polled(found: Polled) -> None:
    click.echo(f"{number(found.outcomes, 'outcome')} from {number(found.processed, 'file')}")
    for bad in found.rejected:
        click.echo(f"  rejected {plain(f'{bad.path}:{bad.line}: {bad.reason}')}")


def proposed(changes: Sequence[Installed]) -> None:
    """Show every line that would change, to somebody who is asked."""
    for each in changes:
        _installed_in(each, dry_run=True, removed=False, whole=True)


def installed(
    done: Sequence[Installed],
    back: str,
    *,
    dry_run: bool,
    removed: bool = False,
    plugin: Path | None = None,
    whole: bool = False,
    untold: bool = False,
) -> None:
    """Say what was changed in which file, or with `dry_run` what would be: line for line where `whole`. `back` are the
    words of `ratchet uninstall` that take it out again; `untold`: no lesson is known yet that is told before a step."""
    for each in done:
        _installed_in(each, dry_run=dry_run, removed=removed, whole=whole)
    if plugin is not None and not dry_run:
        click.echo(f"Try it: claude --plugin-dir {plugin}")
        click.echo("For a team: put the folder into a repository, then /plugin marketplace add OWNER/REPOSITORY")
    elif dry_run:
        every = "" if whole else " Every line: with --diff."
        click.echo(f"Nothing was changed. To do it: the same without --dry-run.{every}")
    elif not removed and any(each.changed for each in done):
        click.echo(f"It counts from the next session on. Back out: ratchet uninstall {back}")
        if untold:
            line("Only what failed is answered yet: no lesson is proven that is told before a step.")
            line(f"Once `ratchet learn` says that some wait, `ratchet install {back}` again adds that.")


def diff(text: str) -> None:
    """Print a unified diff of foreign text, in colours on a terminal."""
    for changed in text.split("\n"):
        click.secho(visible(changed.replace("\t", "    ")), fg={"+": "green", "-": "red"}.get(changed[:1]))


def notes(told: Sequence[str]) -> None:
    for each in told:
        line(each)


def _installed_in(done: Installed, *, dry_run: bool, removed: bool, whole: bool) -> None:
    from ratchet.integrations.settings_file import named as named_file

    place = named_file(Path(done.path))
    if done.refused:  # said as the command's error
        return
    if not done.changed:
        line(f"{place}: nothing to change")
        return
    if dry_run:
        verb = "change" if Path(done.path).exists() else "create"
        if whole:
            diff(done.diff)
            line(f"would {verb} {place}")
            return
        lines = [each[:1] for each in done.diff.split("\n")[2:]]
        more, fewer = number(lines.count("+"), "line"), number(lines.count("-"), "line")
        line(f"would {verb} {place}: {more} in, {fewer} out")
        if done.entries:
            line(f"  {visible(', '.join(done.entries))}")
        return
    line(f"{'taken out of' if removed else 'installed in'} {place}")
    if done.backup:
        line(f"backup: {done.backup}")


def doctor(checks: Sequence[Check]) -> None:
    out = console()
    for check in checks:
        mark, colour = ("FAIL", "red") if not check.ok else ("note", "yellow") if check.remedy else ("ok  ", "green")
        row(out, Styled(visible(f"{check.name}: {check.found}")), Styled(mark, colour).append(" ", "default"))
        if check.remedy:
            row(out, Styled(visible(check.remedy)), "     -> ")


def report(found: Report, hooked: Sequence[str]) -> None:
    """Show what is measured; where nothing is, what to do next: `hooked` agents only need to work on."""
    out = console()
    out.print(Styled("Do the lessons help?", "bold"))
    if not found.cases:
        row(out, found.unmeasured, "  ")
        if hooked:
            row(out, f"Hooks tell {', '.join(hooked)} from its next session on. Work as ever, and look again.", "  ")
            row(out, "next  ratchet doctor                  is all in place?", "  ")
        else:
            row(out, "next  ratchet install claude-code     hand them over; first with --dry-run", "  ")
        row(out, "      ratchet backtest                what they would have saved so far", "  ")
        return
    for said in found.lines:
        row(out, said, "  ")
    for each in found.lessons:
        line = Styled("")
        if each.enough:
            line.append(f"{100 * each.effect.estimate:+.0f} points (+-{100 * each.effect.spread:.0f})")
        else:
            line.append("not enough data yet")
        line.append(f"; shown {each.counts.shown}, withheld {each.counts.withheld}  ").append(each.id, "dim")
        out.print()
        row(out, bold(plain(each.text, 160)))
        row(out, line, "  ")
        if each.net is not None:
            row(out, f"tokens: agents read {each.net.read:,} of it, its effect saved {each.net.saved:,.0f}", "  ")
    out.print()
    row(
        out,
        f"Not counted, of the failures that a lesson answers: {found.waiting} whose session still runs, "
        f"{found.not_attempted} whose step was not tried again"
        + (f", {found.held_back} after one that still runs (a day at most)" if found.held_back else "")
        + f". {found.control}",
    )
