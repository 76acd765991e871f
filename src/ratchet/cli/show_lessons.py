"""Lessons, and what people said, as a terminal shows them."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ratchet.cli.show import STATE_STYLE, advice, console, kind, line, number, plain, row, said_where, visible
from ratchet.cli.terminal import Console, Styled
from ratchet.lessons.standing import WAITING, without_repeats

if TYPE_CHECKING:
    from ratchet.healing.distilling.distill import Distilled, DistillPlan
    from ratchet.improving.cures.cure import Cure
    from ratchet.improving.cures.helped import Helped
    from ratchet.lessons.book import Trusted
    from ratchet.lessons.portable import Imported
    from ratchet.lessons.sharing import Shared
    from ratchet.lessons.words.rules import Correction
    from ratchet.records import Lesson, Quarantined, Trial

_WAYS = {"refused": "refused", "interrupted": "stopped", "typed": "after", "review": "reviewed"}


_NOT_AT_START = Styled("  told ", "dim")
_WAITING = 5  # candidates that are listed among all lessons


def lessons(found: Sequence[Lesson], *, limit: int = 20, narrowed: bool = False) -> None:
    """Show lessons, `limit` at most: of all states, those in use whole, and of the others the first few; `narrowed` to
    what was asked for, each."""
    out = console()
    if not found:
        none = "No such lessons. Next: ratchet lessons list, which shows those that there are"
        row(
            out,
            none if narrowed else "No lessons yet. Next: ratchet learn, or ratchet lessons add --when ERROR --do FIX",
        )
        return
    known = without_repeats(found)
    shown = [(each, 0) for each in found] if narrowed else _chosen(known)
    for each, others in shown[:limit]:
        _entry(out, each, others=others)
    if len(shown) > limit:
        row(out, f"and {number(len(shown) - limit, 'more lesson')}: --limit {len(shown)} shows all")
    waiting = [each for each in found if each.state == "candidate"]
    if not narrowed:
        _rest(out, found, shown)
    if waiting:
        row(out, f"A candidate: {WAITING[:1].lower()}{WAITING[1:]} To approve one: ratchet lessons approve ID")
    if any(each.foreign for each in waiting):
        row(out, "Those of a repository's own files wait until you trust it: ratchet lessons trust --show")
    kept = [each for each in found if each.state == "quarantined"]
    if kept and not narrowed:
        row(out, never(kept))
    retired = sum(each.state == "retired" for each in found)
    if retired and not narrowed:
        row(out, f"{number(retired, 'lesson')} retired, told to nobody: ratchet lessons list --state retired")


def _rest(out: Console, found: Sequence[Lesson], shown: Sequence[tuple[Lesson, int]]) -> None:
    """Count the active lessons and the candidates that are not shown: with those shown they are all, as `learn` counts
    them. One that says the same as another stands with it, once."""
    states = Counter(each.state for each in found)
    above = Counter(each.state for each, _ in shown)
    some = states["active"] - above["active"]
    if some:
        why = "told only where they fail, or saying the same as one that is: ratchet lessons list --state active"
        row(out, f"and {number(some, 'more active lesson')} of {states['active']}, {why}")
    if more := states["candidate"] - above["candidate"]:
        of = f" of {states['candidate']}" if above["candidate"] else ""
        row(out, f"and {number(more, 'more candidate')}{of}: ratchet lessons list --state candidate")


def _chosen(found: Sequence[tuple[Lesson, int]]) -> list[tuple[Lesson, int]]:
    """The lessons in use that are told ahead of their failure, and the candidates for which most speaks."""
    waiting = [each for each in found if each[0].state == "candidate"][:_WAITING]
    return [each for each in found if each[0].state == "active" and not each[0].unsaid] + waiting


def _entry(out: Console, each: Lesson, *, others: int = 0) -> None:
    head = Styled(f"{each.proof}  " if each.tried else "").append(kind(each.kind)).append("  ")
    same = f" and {others} alike" if others > 0 else ""
    place = "every project" if each.scope == "global" else each.project
    where = f"  in {plain(place, 100)}" if place else ""
    row(out, head.append(f"{each.id}{same}{where}", "dim"), Styled(f"{each.state:<12}", STATE_STYLE[each.state]))
    row(out, plain(each.met, 140), Styled("  when ", "dim"))
    if each.quote:
        row(out, plain(f'"{" ".join(each.quote.split())}"', 300), Styled("  said ", "dim"))
        row(out, plain(said_where(each.sessions, each.step), 200), Styled("  in   ", "dim"))
    if each.is_quote and each.state == "candidate":
        why = "a person's words, and no rule yet: ratchet lessons approve ID --do 'the rule'"
        row(out, why, Styled("  why  ", "dim"))
    if not each.is_quote:
        advice(out, each.text, Styled("  do   ", "dim"))
    if each.reason:
        row(out, plain(each.reason, 200), Styled("  why  ", "dim"))
    if each.state == "active" and each.unsaid:
        row(out, plain(f"not at a session's start: {each.unsaid}", 200), _NOT_AT_START)
    if each.stale:
        row(out, plain(f"{each.stale}; told to nobody there until it is met again", 300), Styled("  gone ", "yellow"))


def never(found: Sequence[Lesson]) -> Styled:
    """Say in one line what is never advice, and why."""
    whys = Counter(each.reason.partition(":")[0] or "marked by a person" for each in found)
    said = ", ".join(f"{why} ({count})" for why, count in sorted(whys.items(), key=lambda each: (-each[1], each[0])))
    return plain(f"{number(len(found), 'lesson')} never told: {said}; ratchet lessons list --state quarantined", 300)


def decided(each: Lesson) -> None:
    line(f"{each.id} is {each.state}" + (f": {each.reason}" if each.reason else ""))
    for older in each.replaces:
        line(
            f"It takes the place of {older}, which says otherwise and is retired; `ratchet lessons approve` keeps both"
        )


def told_from_now(each: Lesson) -> None:
    """Say of a lesson that was approved just now what agents are told, when and where, and what takes it back."""
    out = console()
    where = "every project" if each.scope == "global" else each.project or ", ".join(each.projects[:3]) or "no project"
    start = "" if each.unsaid else " and at a session's start"
    row(out, plain(f"Told to agents from now on in {where}, where a step fails so{start}:", 300))
    row(out, plain(each.met, 140), Styled("  when ", "dim"))
    advice(out, each.text, Styled("  do   ", "dim"))
    if each.unsaid:
        row(out, plain(f"not at a session's start: {each.unsaid}", 200), _NOT_AT_START)
    line(f"To take it back: ratchet lessons undo {each.id}")


def imported(found: Imported) -> None:
    click.echo(f"imported as candidates: {found.imported}; known already: {found.known}")
    for bad in found.rejected[:10]:
        line(f"  rejected line {bad.line}: {bad.reason}")
    if len(found.rejected) > 10:
        line(f"  and {len(found.rejected) - 10:,} more (ratchet lessons import --json lists all)")


def trusted(found: Trusted) -> None:
    out = console()
    for file in found.files:
        if not file.trusted:
            row(out, plain(file.name, 200), Styled("file  ", "dim"))
    for each in found.lessons:
        row(out, plain(each.when, 140), Styled("  when   ", "dim"))
        row(out, plain(each.text, 400), Styled("  do     ", "dim"))
        row(out, plain("; ".join(each.parts) or "nothing: it holds no plain command", 400), Styled("  shown  ", "dim"))
    for text in found.aside:
        row(out, plain(text, 400), Styled("  aside  ", "dim"))
    _refused(found.rejected)
    what = number(len(found.lessons), "lesson")
    known = sum(file.trusted for file in found.files)
    if known and not found.done:
        line(f"{number(known, 'file')} trusted already.")
    if known == len(found.files) and not found.done:
        line("Nothing waits to be trusted.")
    elif found.done:
        line(f"Trusted until it changes; {what} active in this repository.")
    else:
        line(f"{what} would become active. Agents see what `shown` says, no other word. Next: ratchet lessons trust")


def shared(found: Shared) -> None:
    """Show what was written for the team, what was left alone and why, and what to do next."""
    for name in found.written:
        line(f"  new     {name}")
    for name in found.retired:
        line(f"  aside   {name}")
    for name in found.kept:
        line(f"  kept    {name}: put aside or rewritten by others; to share yours again, take the file away first")
    _refused(found.rejected)
    if found.moved:
        line(f"{number(found.moved, 'lesson')} of .ratchet/lessons.jsonl, a file each now")
    if found.quotes:
        line(f"{number(found.quotes, 'lesson')} in a person's own words stayed here (--with-evidence shares them)")
    changed = len(found.written) + len(found.retired)
    known = f", {found.known:,} there already" if found.known else ""
    if changed:
        line(f"{found.folder}: {number(len(found.written), 'new lesson')}, {len(found.retired):,} put aside{known}")
        line("Next: look at them (git diff), commit them; the others: ratchet lessons trust --show")
    else:
        listed = f"ratchet lessons list --state active --project {shlex.quote(str(Path(found.folder).parent.parent))}"
        elsewhere = "no active lesson counts in this project; the projects that have some: ratchet lessons facts"
        some = known or found.kept or found.quotes or found.rejected
        line(f"Nothing new to share{known}: {listed}" if some else f"Nothing to share: {elsewhere}")


def _refused(rejected: Sequence[Quarantined]) -> None:
    for bad in rejected:
        line(f"  refused {bad.path}{f':{bad.line}' if bad.line else ''}: {bad.reason}")


def corrections(found: Sequence[Correction], *, every: bool) -> None:
    """Show the quotes, each with its step and session, then what to do with them."""
    out = console()
    if not found:
        said = "Nobody corrected an agent in what was read." if every else "No words of a person speak for a rule."
        row(out, f"{said} Next: ratchet learn" + ("" if every else ", or ratchet lessons words --all"))
        return
    for each in found:
        title = Styled(f"{each.state or 'kept':<12}", STATE_STYLE.get(each.state, "dim"))
        row(out, title.append(f"{_WAYS[each.way]} {each.head}  ", "default").append(each.lesson, "dim"))
        row(out, plain(f'"{" ".join(each.quote.split())}"', 300), Styled("  said ", "dim"))
        if each.met:
            row(out, plain(each.met, 160), Styled("  met  ", "dim"))
        row(out, plain(said_where(each.sessions, each.step, each.people), 200), Styled("  in   ", "dim"))
    if any(each.state == "candidate" for each in found):
        row(out, "To tell agents one of them: ratchet lessons approve ID --do 'the rule in your words'")


def planned(found: DistillPlan) -> None:
    """Show what a run would send, before it does."""
    if not found.asked:
        known = f"; {number(found.known, 'piece')} of evidence answered before" if found.known else ""
        line(f"Nothing to ask {found.model} about{known}.")
        return
    cost = "nobody knows what it costs" if found.usd is None else f"at most {found.usd:.4f} USD"
    what = ", ".join(f"{n} {place}" for place, n in sorted(found.places.items()))
    size = f"{found.bytes:,} bytes"
    line(f"To {found.model}: {number(found.asked, 'question')} ({what}), {size} in all, {cost}.")


def distilled(found: Distilled) -> None:
    """Show what came back, what replay bore out, and what to do next."""
    line(f"{found.answered} answered, {found.verified} borne out by replay, {found.cost_usd:.4f} USD.")
    if found.malformed:
        line(f"  {found.malformed} were no answer of the asked shape")
    for reason, n in found.rejected.items():
        line(f"  {n} not shown: {reason}")
    if found.stopped:
        line(f"  ended early: {found.stopped}")
    for lesson_id in found.lessons:
        line(f"  candidate {lesson_id}: ratchet lessons show {lesson_id}")


def cures(
    found: Sequence[Cure], settled: Sequence[Trial], going: Sequence[tuple[Trial, Helped]], folder: Path | str = "here"
) -> None:
    """Show what lessons could become, each as a diff with what replay says of it, and how those on trial do."""
    out = console()
    for trial, counted in going:
        line(f"on trial: {_place(trial)} (lesson {trial.change.origin}): {counted.verdict[1]}")
    for trial in settled:
        line(f"{trial.state}: {_place(trial)}: {trial.reason}")
    if not found:
        line(f"No lesson that holds could become a change in {folder}. Next: --project FOLDER, or ratchet lessons list")
        return
    for each in found:
        replayed = f"by replay {each.prevented} prevented"
        if each.kind in ("check", "permission"):
            replayed += f", {each.accepted} of {each.of} fine steps stopped"
        row(out, Styled(f"{each.kind:<11}", "bold").append(f"{each.lesson}  {replayed}", "default"))
        for changed in each.diff.split("\n"):
            style = {"+": "green", "-": "red"}.get(changed[:1], "dim")
            row(out, Styled(visible(changed)[:400], style), "  ")
        if each.problem:
            row(out, plain(each.problem, 200), Styled("  not  ", "red"))
    line("To make one, on trial: ratchet lessons cure ID --as KIND; to take it out: ratchet lessons cure ID --undo")


def cured(done: Sequence[Trial], *, undone: bool) -> None:
    """Show what was changed, or taken out."""
    for each in done:
        if undone:
            line(f"taken out: {_place(each)}")
        else:
            lesson = each.change.origin
            line(f"changed: {_place(each)}, on trial {each.id}")
            line(f"It goes by itself where it does not help, or by: ratchet lessons cure {lesson} --undo")


def _place(each: Trial) -> str:
    """Name what a trial changed: the kind of change, and its file."""
    target = each.change.target
    return (target.rpartition("#")[0] or target).replace(":", " in ", 1)
