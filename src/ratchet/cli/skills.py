"""`ratchet lessons skills`: lessons that are more than a line, as folders that coding agents read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ratchet.cli import shapes, show, show_lessons, show_skills
from ratchet.cli.app import Records, home_option, json_option, opened
from ratchet.cli.folders import folder_meant, project_option

if TYPE_CHECKING:
    from ratchet.lessons.skills.places import Taker

TAKERS = ("claude-code", "agents")


@click.group(cls=Records)
def skills() -> None:
    """Skills: lessons that are more than a line."""


@skills.command("list")
@home_option
@json_option
def list_(as_json: bool) -> None:
    """All skills: what each is for, where it is, how it does."""
    found = opened().cures.skills()
    show.as_json([shapes.skills.SkillShape.built(each) for each in found]) if as_json else show_skills.listed(found)


@skills.command("show")
@click.argument("name")
@project_option("The project whose skill of that name is meant (default: here).")
@home_option
@json_option
def show_(name: str, project: str | None, as_json: bool) -> None:
    """One skill whole: its SKILL.md and the files beside it."""
    runtime = opened()
    found = runtime.cures.show_skill(name, folder_meant(runtime, project))
    show.as_json(shapes.skills.SkillShape.built(found)) if as_json else show_skills.whole(found)


@skills.command("make")
@click.argument("source")
@click.option("--name", default="", help="Its name, which its folder has: a-z, 0-9 and hyphens.")
@home_option
@json_option
def make(source: str, name: str, as_json: bool) -> None:
    """Make a skill of a lesson or of a healed task.

    SOURCE is the id of a lesson, a task or an episode. A skill holds steps that really ran, or that you approved.
    """
    book = opened().cures
    made = book.make_skill(source, name=name)
    if as_json:
        show.as_json(shapes.skills.SkillShape.built(book.show_skill(made.lesson)))
    else:
        show_skills.made(book.show_skill(made.lesson))


@skills.command("export")
@click.argument("name")
@click.option("--to", "taker", type=click.Choice(TAKERS), default="claude-code", show_default=True,
              help="Claude Code's folder, or the one that Codex, Gemini CLI, opencode and Copilot share.")  # fmt: skip
@click.option("--user", is_flag=True, help="Below your home, for all projects.")
@click.option("--dry-run", is_flag=True, help="Only show what would be written.")
@project_option("The project (default: here).")
@home_option
@json_option
def export(name: str, taker: Taker, user: bool, dry_run: bool, project: str | None, as_json: bool) -> None:
    """Write a skill where agents look for skills, on trial.

    Into `.claude/skills` or `.agents/skills` of the project. It is taken out again where it does not help.
    """
    runtime = opened()
    folder, book = Path.home() if user else folder_meant(runtime, project), runtime.cures
    if dry_run:
        cure = book.preview_skill(name, folder, taker=taker)
        show.as_json(shapes.lessons.CureShape.built(cure)) if as_json else show_skills.previewed(cure)
        return
    trial = book.export_skill(name, folder, taker=taker)
    if as_json:
        show.as_json(shapes.trials.TrialShape.built(trial))
    else:
        show_skills.exported(book.show_skill(name), trial)


@skills.command("read")
@click.option("--user", is_flag=True, help="Those below your home.")
@project_option("The project (default: here).")
@home_option
@json_option
def read(user: bool, project: str | None, as_json: bool) -> None:
    """Read the skills that agents have here.

    Those that others wrote are candidates: nothing is told of them before `ratchet lessons skills trust NAME`.
    """
    runtime = opened(begins=True)
    place = Path.home() if user else folder_meant(runtime, project)
    found = runtime.cures.read_skills(place.absolute(), scope="global" if user else "project")
    show.as_json(shapes.skills.ReadSkillsShape.built(found)) if as_json else show_skills.found(found)


@skills.command("trust")
@click.argument("name")
@project_option("The project whose skill of that name is meant (default: here).")
@home_option
@json_option
def trust(name: str, project: str | None, as_json: bool) -> None:
    """Trust a skill that others wrote, as it was read last.

    Until one of its files changes. Look at it first: `ratchet lessons skills show NAME`.
    """
    runtime = opened()
    found = runtime.cures.trust_skill(name, folder_meant(runtime, project))
    show.as_json(shapes.skills.FoundSkillShape.built(found)) if as_json else show_skills.trusted(found)


@skills.command("approve")
@click.argument("name")
@project_option("The project whose skill of that name is meant (default: here).")
@home_option
@json_option
def approve(name: str, project: str | None, as_json: bool) -> None:
    """Let agents be told of a skill that was made here.

    One that others wrote is trusted instead: `ratchet lessons skills trust NAME`.
    """
    runtime = opened()
    lesson = runtime.cures.approve_skill(name, folder_meant(runtime, project))
    show.as_json(shapes.lessons.LessonShape.built(lesson)) if as_json else show_lessons.decided(lesson)


@skills.command("retire")
@click.argument("name")
@click.option("--reason", default="", help="Why; kept with its lesson.")
@project_option("The project whose skill of that name is meant (default: here).")
@home_option
@json_option
def retire(name: str, reason: str, project: str | None, as_json: bool) -> None:
    """Retire a skill and its lesson.

    A skill is the long form of its lesson: agents are told of neither any more, and its folders are taken out, but for
    one that you changed. `ratchet lessons undo ID` takes the lesson's part back.
    """
    runtime = opened()
    lesson = runtime.cures.retire_skill(name, folder_meant(runtime, project), reason=reason)
    show.as_json(shapes.lessons.LessonShape.built(lesson)) if as_json else show_skills.retired(lesson, name)
