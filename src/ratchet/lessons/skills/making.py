"""Makes a skill of a lesson: only of steps that were seen to work, or that a person wrote or approved."""

from __future__ import annotations

import shlex

from ratchet.errors import Refused
from ratchet.failures.redaction.text import clean
from ratchet.lessons.exposure import vouched
from ratchet.lessons.mining.checks import forbidden
from ratchet.lessons.skills.skill import CHECK, SkillDraft, SkillStep, name_of
from ratchet.records import Row, text_in, whole_in


def need_makeable(lesson: Row) -> None:
    """Raise Refused, with the reason, for a lesson of which no skill is made."""
    said = text_in(lesson, "id")
    if lesson.get("state") in ("quarantined", "retired"):
        raise Refused(f"lesson {said} is {lesson['state']}: nothing is made of it")
    if lesson.get("foreign") or not vouched(lesson):
        raise Refused(f"lesson {said} was written elsewhere: agents see its commands only, of which no skill is made")
    if not whole_in(lesson, "worked") and not lesson.get("approved"):
        raise Refused(
            f"nothing of lesson {said} was seen to work: a skill holds steps that really ran, or that you approved "
            f"(ratchet lessons approve {said})"
        )
    if reason := forbidden(text_in(lesson, "text"), text_in(lesson, "failed")):
        raise Refused(f"no skill is made of lesson {said}: it {reason}")


def draft_of(lesson: Row, name: str = "") -> SkillDraft:
    """The skill that a lesson makes by itself: its advice, the example that worked, and the step that failed before as
    the check. Raises Refused for one of which none is made."""
    need_makeable(lesson)
    lesson_id, when, text = (text_in(lesson, each) for each in ("id", "when_text", "text"))
    first, _, below = text.partition("\n")
    steps = [SkillStep(do=first, code=below)]
    example, failed = text_in(lesson, "example"), text_in(lesson, "failed")
    if example and example not in (text, below):
        steps.append(SkillStep(do="As it was when it worked:", code=example))
    script = script_of(("sh", "-c", failed)) if failed and "\n" not in failed else ""
    if script:
        steps.append(SkillStep(do=f"See that it works now: sh {CHECK}"))
    return SkillDraft(
        lesson=lesson_id,
        name=name or name_of(text_in(lesson, "head") or text_in(lesson, "kind"), lesson_id),
        when=when,
        summary=first,
        steps=tuple(steps),
        checks=(f"`sh {CHECK}` passes: it is the step that failed.",) if script else (),
        origin=text_in(lesson, "provenance"),
        scripts={CHECK: script} if script else {},
    )


def script_of(check: tuple[str, ...]) -> str:
    """A check as a script, to be run in the project's folder; "" where a secret in it had to go, so that what is left
    would be another command."""
    said = check[2] if check[:2] == ("sh", "-c") and len(check) == 3 else f"exec {shlex.join(check)}"
    return f"#!/bin/sh\n# Run it in the project's folder.\n{said}\n" if check and clean(said) == said else ""
