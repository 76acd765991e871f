"""`ratchet lessons`: read what was learnt, and decide about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ratchet.cli import shapes, show, show_facts, show_lessons
from ratchet.cli.app import Records, home_option, json_option, opened
from ratchet.cli.cure import cure
from ratchet.cli.folders import folder_meant, project_meant, project_option
from ratchet.cli.numbers import Finite
from ratchet.cli.skills import skills
from ratchet.errors import NotFound, UsageError

if TYPE_CHECKING:
    from ratchet.healing.distilling.items import Place
    from ratchet.lessons.lessons import WrittenBy
    from ratchet.records import Lesson, LessonState, Outcome, Scope
    from ratchet.runtime import Runtime

PLACES = ("words", "hunks", "steps", "contrary")
STATES = ("candidate", "active", "quarantined", "retired")


evidence_option = click.option(
    "--with-evidence", is_flag=True, help="Also what people said, word for word. It stays in this home otherwise."
)


@click.group(cls=Records)
def lessons() -> None:
    """Lessons: list what was learnt, approve it, retire it, share it."""


@lessons.command("list")
@click.option("--state", type=click.Choice(STATES), help="Only those in this state.")
@project_option("Only those that count in this project.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many at most.")
@home_option
@json_option
def list_(state: LessonState | None, project: str | None, limit: int, as_json: bool) -> None:
    """Show lessons, those with the best evidence first.

    With --json, all of them.
    """
    found = opened().lessons.list(state=state, project=project)
    if as_json:
        show.as_json([shapes.lessons.LessonShape.built(each) for each in found])
    else:
        show_lessons.lessons(found, limit=limit, narrowed=state is not None or project is not None)


@lessons.command("show")
@click.argument("lesson_id")
@home_option
@json_option
def show_lesson(lesson_id: str, as_json: bool) -> None:
    """One lesson whole: when, do, example, where it counts, evidence, edits."""
    runtime = opened()
    found = runtime.lessons.show(lesson_id)
    if as_json:
        show.as_json(shapes.lessons.LessonShape.built(found))
    else:
        show.lesson(found, [*_kept(runtime, found.evidence)])


def _kept(runtime: Runtime, evidence: Sequence[str]) -> Iterator[Outcome]:
    """The outcomes of a lesson's evidence that retention has left."""
    for outcome_id in evidence:
        try:
            yield runtime.sessions.outcome(outcome_id)
        except NotFound:
            continue


@lessons.command("words")
@click.option("--all", "every", is_flag=True, help="Also those in which little speaks for a rule.")
@project_option("Only those of this project.")
@home_option
@json_option
def words(every: bool, project: str | None, as_json: bool) -> None:
    """Show what people said to agents: corrections, refusals, interruptions.

    Each is kept as a quote with the step that it met. None is told to an agent before you approve it.
    """
    found = opened().lessons.words(project=project, every=every)
    if as_json:
        show.as_json([shapes.lessons.CorrectionShape.built(each) for each in found])
    else:
        show_lessons.corrections(found, every=every)


@lessons.command("facts")
@project_option("Only those of this project.")
@home_option
@json_option
def facts(project: str | None, as_json: bool) -> None:
    """Count what happens in a project.

    What its commands end in, which ones it uses, what its checks fail of, what people refuse, what never works, and
    findings that nobody edits. The busiest projects first.
    """
    found = opened().lessons.facts(project=project)
    if as_json:
        show.as_json([shapes.lessons.ProjectFactsShape.built(each) for each in found])
    else:
        show_facts.facts(found, project=project or "")


@lessons.command("add")
@click.option("--when", "when", required=True, help="The error text that it answers.")
@click.option("--do", "do", required=True, help="What to do then, word for word.")
@click.option("--scope", type=click.Choice(("project", "global")), default="project", show_default=True)
@project_option("The project it belongs to (default: here).")
@click.option("--active", is_flag=True, help="Use it at once instead of as a candidate.")
@click.option(
    "--source",
    type=click.Choice(("person", "report", "conversation")),
    default="person",
    show_default=True,
    help="What --when holds: an error that a person wrote down, a report, or a conversation.",
)
@home_option
@json_option
def add(when: str, do: str, scope: Scope, project: str | None, active: bool, source: WrittenBy, as_json: bool) -> None:
    """Write a lesson by hand.

    One that must not be advice is quarantined at once, whatever was asked for: it switches a check off, hides a failure
    or a command's output, opens permissions, ends processes broadly, skips hooks, forces, destroys work, or deletes
    tests.
    """
    state: LessonState = "active" if active else "candidate"
    runtime = opened(begins=True)
    book, project = runtime.lessons, project_meant(runtime, project)
    found = book.add(when=when, do=do, scope=scope, project=project, state=state, source=source)
    show.as_json(shapes.lessons.LessonShape.built(found)) if as_json else show_lessons.decided(found)


@lessons.command("approve")
@click.argument("lesson_ids", nargs=-1, required=True)
@click.option("--do", "do", default="", help="Its advice from now on, word for word.")
@click.option("--global", "globally", is_flag=True, help="Let it count in every project.")
@home_option
@json_option
def approve(lesson_ids: tuple[str, ...], do: str, globally: bool, as_json: bool) -> None:
    """Make a lesson active: agents are handed it.

    A person's words are a quote until --do says them as a rule: a quote leaves this home only where you ask for it.
    What others wrote is told by its commands alone until you approve it; then whole, so read it first: lessons show ID.
    """
    book = opened().lessons
    done = [book.approve(each, do=do, globally=globally) for each in lesson_ids]
    _decided(done, as_json)
    for each in () if as_json else done:
        show_lessons.told_from_now(each)


@lessons.command("retire")
@click.argument("lesson_ids", nargs=-1, required=True)
@click.option("--reason", required=True, help="Why; kept with the lesson.")
@home_option
@json_option
def retire(lesson_ids: tuple[str, ...], reason: str, as_json: bool) -> None:
    """Stop handing a lesson to anyone. It is kept, and is not mined anew."""
    book = opened().lessons
    _decided([book.retire(each, reason=reason) for each in lesson_ids], as_json)


@lessons.command("undo")
@click.argument("lesson_ids", nargs=-1)
@home_option
@json_option
def undo(lesson_ids: tuple[str, ...], as_json: bool) -> None:
    """Take the last decision back, or the last about each lesson named."""
    book = opened().lessons
    _decided([book.undo(each) for each in lesson_ids or ("",)], as_json)


@lessons.command("quarantine")
@click.argument("lesson_ids", nargs=-1, required=True)
@click.option("--reason", required=True, help="Why it must never be advice.")
@home_option
@json_option
def quarantine(lesson_ids: tuple[str, ...], reason: str, as_json: bool) -> None:
    """Mark a lesson as harmful: never advice."""
    book = opened().lessons
    _decided([book.quarantine(each, reason=reason) for each in lesson_ids], as_json)


@lessons.command("distill")
@click.option("--model", default="", metavar="NAME", help="provider:name, `local`, or command:WORDS of your own.")
@click.option("--place", "places", multiple=True, type=click.Choice(PLACES), help="Only this kind of evidence.")
@click.option("--budget-usd", default=0.5, show_default=True, type=Finite(0), help="It may cost so much.")
@click.option("--allow-unknown-price", is_flag=True, help="Use a model whose price is not known.")
@click.option("--yes", "agreed", is_flag=True, help="Send it to the configured model.")
@click.option("--dry-run", is_flag=True, help="Only say what would be sent.")
@project_option("Only evidence of this project.")
@home_option
@json_option
def distill(
    model: str,
    places: tuple[Place, ...],
    budget_usd: float,
    allow_unknown_price: bool,
    agreed: bool,
    dry_run: bool,
    project: str | None,
    as_json: bool,
) -> None:
    """Have a model put evidence into words; replay decides what you see.

    It is sent at most 1.5 kB of each piece of evidence, once. What it answers is held against what really happened;
    what passes is a candidate, never more. Says first how much goes where.
    """
    distillery = opened().distillery
    planned = distillery.plan(model, places=places, project=project, unpriced=allow_unknown_price)
    if not as_json:
        show_lessons.planned(planned)
    if dry_run or not planned.asked:
        if as_json:
            show.as_json(shapes.lessons.DistillPlanShape.built(planned))
        return
    found = distillery.run(
        planned,
        model,
        places=places,
        project=project,
        budget_usd=budget_usd,
        unpriced=allow_unknown_price,
        agreed=agreed,
    )
    show.as_json(shapes.lessons.DistilledShape.built(found)) if as_json else show_lessons.distilled(found)


@lessons.command("sync")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@project_option("Whose lessons (default: the folder of FILE).")
@evidence_option
@click.option("--dry-run", is_flag=True, help="Show what would change in FILE, and write nothing.")
@home_option
@json_option
def sync(file: Path, project: str | None, with_evidence: bool, dry_run: bool, as_json: bool) -> None:
    """Write active lessons into an instructions file.

    For agents without hooks: keeps a marked block of the project's active lessons in FILE (CLAUDE.md, AGENTS.md).
    """
    synced = opened(begins=True).lessons.sync(file, project=project, with_evidence=with_evidence, dry_run=dry_run)
    if as_json:
        show.as_json(shapes.machine.SyncedShape.built(synced, file=str(file)))
    else:
        where = project or "its folder"
        remedy = (
            "see `ratchet lessons show ID`" if project else "name another with --project, from `ratchet lessons facts`"
        )
        none = "" if synced.lessons else f"; no active lesson counts in {where}: {remedy}"
        changed = "" if synced.changed else ", unchanged"
        if dry_run and synced.diff:
            for line in synced.diff.split("\n"):
                show.line(line)
            changed = ", nothing written (--dry-run)"
        facts = f" and {show.number(synced.facts, 'fact')} of the project" if synced.facts else ""
        show.line(f"{file}: {show.number(synced.lessons, 'lesson')}{facts}{changed}{none}")
        for reason, count in synced.left_out.items():
            show.line(f"  left out {count}: {reason}")


@lessons.command("share")
@project_option("The project to write it into (default: here).")
@evidence_option
@home_option
@json_option
def share(project: str | None, with_evidence: bool, as_json: bool) -> None:
    """Write active lessons into the repository.

    A file each below `.ratchet/lessons/`, to review and commit: git carries and merges them. What was put aside here is
    marked there. Others see them after `ratchet lessons trust`.
    """
    runtime = opened()
    found = runtime.lessons.share(folder_meant(runtime, project), with_evidence=with_evidence)
    show.as_json(shapes.lessons.SharedShape.built(found)) if as_json else show_lessons.shared(found)


@lessons.command("trust")
@click.option("--show", "only_show", is_flag=True, help="Only say what would become active.")
@click.option("--withdraw", is_flag=True, help="Trust nothing of it any more; its lessons are candidates again.")
@project_option("The project whose repository holds `.ratchet/` (default: here).")
@home_option
@json_option
def trust(only_show: bool, withdraw: bool, project: str | None, as_json: bool) -> None:
    """Trust a repository's own `.ratchet/` as it is.

    Its lessons become active there; until then they are candidates. A file that changes is asked about anew.
    """
    runtime = opened(begins=True)
    folder, book = folder_meant(runtime, project), runtime.lessons
    if withdraw and only_show:
        raise UsageError("--show and --withdraw exclude each other: say one")
    if not withdraw:
        found = book.trust(folder, show=only_show)
        show.as_json(shapes.lessons.TrustedShape.built(found)) if as_json else show_lessons.trusted(found)
        return
    count = book.withdraw_trust(folder)
    if as_json:
        show.as_json(shapes.lessons.DistrustedShape(candidates=count))
    else:
        show.line(f"Not trusted any more; {show.number(count, 'lesson')} back among the candidates.")


@lessons.command("export")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True), default="-")
@evidence_option
@home_option
def export(file: Path, with_evidence: bool) -> None:
    """Write active and candidate lessons as JSON lines.

    To FILE, or to standard output.
    """
    to_stdout = str(file) == "-"
    text = opened().lessons.export(None if to_stdout else file, with_evidence=with_evidence)
    if to_stdout:
        click.echo(text, nl=False)
    else:
        lines = text.count("\n")
        show.line(f"{file}: {show.number(lines, 'lesson')}")


@lessons.command("import")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@home_option
@json_option
def import_(file: Path, as_json: bool) -> None:
    """Take exported lessons in, as candidates.

    FILE holds the JSON lines that `export` wrote. Where each came from is kept. Exit code 2 where it holds no lesson.
    """
    found = opened(begins=True).lessons.load(file)
    if as_json:
        show.as_json(shapes.lessons.ImportedShape.built(found))
    if not found.imported and not found.known:
        why = f"line {found.rejected[0].line}: {found.rejected[0].reason}" if found.rejected else "it is empty"
        more = f", and {show.number(len(found.rejected) - 1, 'more line')}" if len(found.rejected) > 1 else ""
        raise UsageError(f"no lesson in {file} ({why}{more}); name a file that `ratchet lessons export` wrote")
    if not as_json:
        show_lessons.imported(found)


lessons.add_command(cure)
lessons.add_command(skills)


def _decided(found: Sequence[Lesson], as_json: bool) -> None:
    """Say what became of lessons: as JSON one is an object, several are an array."""
    if as_json:
        built = [shapes.lessons.LessonShape.built(each) for each in found]
        show.as_json(built if len(built) > 1 else built[0])
    else:
        for each in found:
            show_lessons.decided(each)
