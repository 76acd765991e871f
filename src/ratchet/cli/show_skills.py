"""Skills as a terminal shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ratchet.cli.show import STATE_STYLE, block, console, line, number, plain, row, visible
from ratchet.cli.terminal import Styled

if TYPE_CHECKING:
    from ratchet.improving.cures.cure import Cure
    from ratchet.improving.cures.skills import SkillStanding
    from ratchet.lessons.skills.reading import FoundSkill, ReadSkills
    from ratchet.records import Lesson, Trial


def listed(found: Sequence[SkillStanding]) -> None:
    """Show skills, each with what is known of it."""
    if not found:
        line("No skills yet. A healed task that took more than a line becomes one; or: ratchet lessons skills make ID")
    for each in found:
        _head(each)
        row(console(), plain(each.skill.description, 300), Styled("  for  ", "dim"))
        _told(each)


def whole(each: SkillStanding) -> None:
    """Show a skill with its files."""
    _head(each)
    _told(each)
    for path, text in each.skill.files.items():
        console().rule(visible(path), "dim")
        console().print(block(text.rstrip("\n")), soft_wrap=True)


def made(each: SkillStanding) -> None:
    """Say what was made, and what comes next."""
    _head(each)
    name = each.skill.name
    line(f"  files: {', '.join(each.skill.files)}; look at them: ratchet lessons skills show {name}")
    if each.lesson.state == "active":
        line(f"  Next: ratchet lessons skills export {name}")
    else:
        line(
            f"  It is offered to no agent until it helps in a second task, or: ratchet lessons approve {each.lesson.id}"
        )


def retired(lesson: Lesson, name: str) -> None:
    """Say what was retired: the skill, and the lesson that it was the long form of."""
    line(f"skill {lesson.skill or name} is retired, and with it its lesson {lesson.id}: {lesson.reason}")
    line(f"  Next, to have the lesson back: ratchet lessons undo {lesson.id}")


def previewed(cure: Cure) -> None:
    """Show what an export would write."""
    console().print(block(cure.diff), soft_wrap=True)
    line(f"not written: {cure.problem}" if cure.problem else "Nothing was written (--dry-run).")


def exported(each: SkillStanding, trial: Trial) -> None:
    """Say where a skill went, and how long it stays."""
    line(f"{each.skill.name}, version {each.skill.version}: written to {trial.change.target.partition(':')[2]}")
    line(
        f"  on trial {trial.id}: it is taken out where the failure comes as often as before (see: ratchet lessons cure)"
    )


def found(read: ReadSkills) -> None:
    """Show what was read in the folders of agents."""
    for each in read.skills:
        state = "ours" if each.own else "trusted" if each.trusted else "not trusted"
        new = ", new or changed" if each.is_new and not each.own else ""
        row(console(), plain(each.folder, 300).append(f"  {state}{new}", "dim"))
        row(console(), plain(each.description, 300), Styled("  for  ", "dim"))
    for bad in read.rejected:
        line(f"{bad.path}: not read: {bad.reason}")
    if not read.skills and not read.rejected:
        line("No skills here. `ratchet lessons skills export NAME` writes one.")
    if any(not each.trusted for each in read.skills):
        line("Of those that are not trusted no agent is told anything: ratchet lessons skills trust NAME")


def trusted(each: FoundSkill) -> None:
    """Say what is trusted now."""
    line(f"{each.name}: trusted until one of its {number(len(each.files), 'file')} changes (sha256 {each.sha256[:16]})")
    line(f"  {each.folder}: {', '.join(each.files)}")


def _head(each: SkillStanding) -> None:
    state, lesson = each.lesson.state, each.lesson
    head = Styled(f"{state:<12}", STATE_STYLE[state]).append(
        f"{each.skill.name}, version {each.skill.version}  ", "bold"
    )
    row(console(), head.append(f"lesson {lesson.id}, {lesson.proof}", "dim"))


def _told(each: SkillStanding) -> None:
    if each.skill.folder:
        line(f"  read from {each.skill.folder}")
    for export in each.exports:
        line(f"  in {export.folder}, {'on trial' if export.state != 'kept' else 'kept'}: {export.helped.verdict[1]}")
    if each.used:
        line(f"  taken up by an agent in {number(each.used, 'session')}")
    if each.lesson.reason:
        line(f"  {each.lesson.reason}")
