"""Makes a skill of a task that was healed: its steps are what was run and passed, and nothing else."""

from __future__ import annotations

from ratchet.errors import NotFound
from ratchet.failures.redaction.text import clean
from ratchet.healing import rows as episodes
from ratchet.healing.episode import Episode
from ratchet.healing.planning.plan import check_text
from ratchet.lessons.skills.making import script_of
from ratchet.lessons.skills.skill import CHANGE, CHECK, SkillDraft, SkillStep, name_of
from ratchet.ports import Store
from ratchet.records import Json, Row, text_in

_LINES = 24  # of a change that its step shows; all of it lies beside


def draft_of_healed(store: Store, lesson: Row, name: str = "") -> SkillDraft | None:
    """Draft the skill of the newest healed task behind a lesson, under `name` ("" chooses one); None where a lesson has
    no such task, or its files are gone."""
    evidence = lesson.get("evidence")
    for episode_id in sorted(map(str, evidence if isinstance(evidence, list) else ()), reverse=True):
        try:
            episode = episodes.episode(store, episode_id)
        except NotFound:  # of a session, or forgotten
            continue
        if episode.status == "passed" and episode.attempts and episode.diff:
            return draft_of(episode, lesson, name)
    return None


def is_more_than_a_line(episode: Episode) -> bool:
    """Tell whether what healed a task does not fit into a lesson's line: several steps, or more than one line put in
    the place of another."""
    diff = [line for line in episode.diff.split("\n") if not line.startswith(("+++", "---"))]
    changed = max(sum(line.startswith(sign) for line in diff) for sign in "+-")
    return changed > 1 or sum(bool(step.check) for step in episode.task.steps) > 1


def changed_files(diff: str) -> list[str]:
    """The files that a diff changes."""
    return [line.rpartition(" b/")[2] for line in diff.split("\n") if line.startswith("diff --git ")]


def draft_of(episode: Episode, lesson: Row, name: str = "") -> SkillDraft:
    """Draft the skill of an episode that passed, and that left this lesson behind."""
    task, passed = episode.task, episode.attempts[-1]
    lesson_id, fix = text_in(lesson, "id"), clean(passed.fix)
    script = script_of(task.check)
    run = f"sh {CHECK}" if script else "the check"
    steps = [SkillStep(do=f"See it fail: {run} ({clean(check_text(task.check), 200)})")]
    if passed.cause:
        steps.append(SkillStep(do=f"Look for the cause; it was: {clean(passed.cause)}"))
    steps += [SkillStep(do=f"{clean(each.do, 300)} Its check: {clean(check_text(each.check), 200)}")
              for each in task.steps if each.check]  # fmt: skip
    steps.append(SkillStep(do=f"Make the change as it passed{f': {fix}' if fix else ''}", code=_shown(episode.shown)))
    steps.append(SkillStep(do=f"Run {run} again: it must pass. Change no test for it."))
    return SkillDraft(
        lesson=lesson_id,
        name=name or name_of(text_in(lesson, "kind") or "task", lesson_id),
        when=text_in(lesson, "when_text"),
        summary=fix or f"a change of {', '.join(changed_files(episode.diff))}",
        steps=tuple(steps),
        checks=(f"`{clean(check_text(task.check), 300)}` passes.",),
        avoid=_avoided(lesson.get("avoid")),
        origin=f"a task healed by {passed.solver or episode.solver}; its check failed before and passed after",
        scripts={**({CHECK: script} if script else {}), CHANGE: episode.shown},
    )


def _shown(diff: str) -> str:
    lines = [line for line in diff.split("\n") if not line.startswith(("diff --git", "index ", "--- ", "@@"))]
    said = [f"{line.removeprefix('+++ b/')}:" if line.startswith("+++ b/") else line for line in lines]
    return "\n".join(said[:_LINES]) + ("\n..." if len(said) > _LINES else "")


def _avoided(avoid: Json) -> tuple[str, ...]:
    return tuple(map(str, avoid)) if isinstance(avoid, list) else ()
