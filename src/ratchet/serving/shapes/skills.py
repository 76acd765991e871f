"""Shapes of skills: lessons that are more than a line, as folders that agents read."""

from __future__ import annotations

from ratchet.serving.shapes.lessons import QuarantinedShape
from ratchet.serving.shapes.shape import Shape, said


class HelpedShape(Shape):
    """Sessions of a lesson's project in which its failure came, before a change and since."""

    before: int = said("Sessions before in which it came.")
    sessions_before: int = said("Sessions before.")
    since: int = said("Sessions since in which it came.")
    sessions_since: int = said("Sessions since.")


class SkillExportShape(Shape):
    """A folder that a skill was written into."""

    folder: str = said("The folder.", foreign="name")
    state: str = said("open while it is on trial, else kept.")
    helped: HelpedShape = said("How often the failure came before and since.")


class SkillShape(Shape):
    """A lesson that is more than a line, as a folder that agents read."""

    name: str = said("Its name, and its folder's.", of="skill.name", foreign="name")
    lesson: str = said("The lesson that it is the long form of.", of="skill.lesson")
    state: str = said("The state of that lesson.", of="lesson.state")
    version: int = said("Counts its versions from 1.", of="skill.version")
    description: str = said("When to take it up.", of="skill.description", foreign="words")
    steps: list[str] = said("What to do, in order.", of="skill.steps", foreign="words")
    files: dict[str, str] = said("Its texts by their paths.", of="skill.files", foreign="output")
    made_at: float = said("When this version was made (Unix seconds).", of="skill.made_at")
    folder: str = said(
        "Where one was read that others wrote; empty for one of this home.", of="skill.folder", foreign="name"
    )
    exports: list[SkillExportShape] = said("Where it was written.")
    used: int = said("Sessions in which an agent took it up since.")


class FoundSkillShape(Shape):
    """A skill in a folder that agents read."""

    name: str = said("Its name.", foreign="name")
    description: str = said("When to take it up.", foreign="words")
    folder: str = said("Its folder.", foreign="name")
    sha256: str = said("The hash of all its files.")
    lesson: str = said("The lesson that stands for it in this home.")
    files: list[str] = said("The names of its files.", foreign="words")
    trusted: bool = said("Whether this very content is trusted.")
    own: bool = said("Whether this home wrote it.")
    is_new: bool = said("Whether this content was not read before.")


class ReadSkillsShape(Shape):
    """The skills that were found in the folders of agents."""

    skills: list[FoundSkillShape] = said("Those that were read.")
    rejected: list[QuarantinedShape] = said("Those that were not, with the reason.")
