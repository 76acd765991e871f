"""Memory of healing: lessons for the failure at hand, edits that passed before, and what an episode leaves behind.

An episode that passed leaves a lesson with the cause, the change in general words and the change itself; one that did
not leaves what was tried in vain. Both are candidates until they have helped elsewhere, like all lessons. A
doubtful edit of the search teaches nothing until a person takes it; one whose change is doubtful says so to whoever is
to approve it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import cast

from ratchet.errors import Conflict
from ratchet.failures.failed_tests import MOST, name_of, names_of
from ratchet.failures.redaction.text import clean
from ratchet.healing import rows as episodes
from ratchet.healing.episode import Attempt, Episode, Memo, Task
from ratchet.healing.skilled import changed_files, draft_of, is_more_than_a_line
from ratchet.ids import hex_of
from ratchet.lessons.exposure import project_name
from ratchet.lessons.finding import quoted_names
from ratchet.lessons.mining.checks import forbidden
from ratchet.lessons.mining.triggers import lesson_id_of
from ratchet.lessons.recall import recall
from ratchet.lessons.skills.rows import keep
from ratchet.lessons.standing import PROVEN_SESSIONS
from ratchet.ports import Store
from ratchet.records import Json, Lesson, Row, text_in, whole_in
from ratchet.store.timeline import note

LESSONS = 5
_DIFF_CHARS = 2_000  # of the literal change that a lesson shows
_AVOIDED = 5
_LINE = re.compile(r"(\.[A-Za-z]\w{0,9}):\d+(?::\d+)?\b|\s*\b(?:at|on|in) lines? \d+(?:\s?[-–]\s?\d+)?", re.IGNORECASE)


class Experience:
    """The memory of one store, for healing."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def lessons(self, texts: Sequence[str], task: Task) -> tuple[Lesson, ...]:
        """Lessons for these texts (the failing check's output, the instruction), the best first; only relevant ones:
        where nothing known is similar enough, none. Raises StoreError."""
        found: dict[str, Lesson] = {}
        for text in texts:
            if text.strip():
                recalled = recall(self._store, text, limit=LESSONS, project=task.folder)
                found |= {each.id: each.lesson for each in recalled.lessons if each.id not in found}
        return tuple(found.values())[:LESSONS]

    def memos(self, solver: str, signature: str, task: Task, tests: Sequence[str] = ()) -> tuple[Memo, ...]:
        """Edits of this solver that passed: those of the same signature first, then those that mended one of the tests
        that fail, then those of other tasks."""
        return tuple(episodes.memos(self._store, solver, signature=signature, but=task.id, tests=tests))

    def distill(self, episode: Episode) -> tuple[str, ...]:
        """Write what an ended episode teaches; return the ids of its lessons. Doing it again changes nothing."""
        if episode.first is None or not episode.first.template or episode.is_guess:
            return ()
        passed = episode.attempts[-1] if episode.status == "passed" and episode.attempts else None
        vain = [each for each in episode.attempts if _is_in_vain(each)]
        row = _of_success(episode, passed, vain) if passed else _of_failure(episode, vain)
        if row is None:
            return ()
        lesson_id = self._kept(row, episode)
        lesson = self._store.get("lessons", lesson_id) or {}
        if passed and is_more_than_a_line(episode) and lesson.get("state") in ("candidate", "active"):
            with suppress(Conflict):  # another process made it just now
                keep(self._store, draft_of(episode, lesson, text_in(lesson, "skill")), now=time.time())
        return (lesson_id,)

    def _kept(self, row: Row, episode: Episode) -> str:
        """Write a lesson, its counts those of the bugs that it mended without doubt; one of them at least was seen."""
        names = _names(episode)
        with self._store.transaction():
            row["id"] = lesson_id = self._said_before(row, names) or str(row["id"])
            held = self._store.get("lessons", lesson_id) or {}
            evidence = _with(held.get("evidence"), episode.id)
            if held and len(evidence) == len(cast("list[Json]", held.get("evidence") or [])):
                return lesson_id
            works = row.pop("works")
            row["keys"] = keys = _merged(held.get("keys"), names)
            row["pattern"] = str((self._store.get("signatures", str(row["signature"])) or {}).get("pattern") or "")
            # A bug that is mended again is the same sighting; one that is mended in doubt proves nothing.
            sightings = _merged(held.get("sightings"), [] if episode.is_doubtful else [_sighting(episode, row)])
            tried = max(1, len(sightings))
            counted: Row = {
                "evidence": evidence,
                "sightings": sightings,
                "projects": _with(held.get("projects"), episode.task.folder),
                "tried": tried,
                "worked": tried if works else 0,
            }
            row = {**row, **held, **counted, "updated_at": time.time()}
            if held.get("state", row["state"]) == "candidate" and works and len(sightings) >= PROVEN_SESSIONS:
                row["state"] = "active"
            if not self._store.swap("lessons", lesson_id, whole_in(held, "revision"), row):
                raise Conflict(f"lesson {lesson_id} was changed by another process; resume the episode")
            self._store.insert_new("answers", [{"key": key, "lesson_id": lesson_id} for key in keys])
            note(self._store, "lesson", lesson_id, "distilled", time.time(), episode=episode.id)
        return lesson_id

    def _said_before(self, row: Row, names: Sequence[str]) -> str:
        """The lesson that says the same of one of these tests, whatever that printed then; "" for none."""
        ids: list[Json] = [each["lesson_id"] for each in self._store.find("answers", {"key": ("in", [*names])}).rows]
        known = self._store.find("lessons", {"id": ("in", ids)}).rows if ids and row["works"] else []
        return next((text_in(each, "id") for each in known if text_in(each, "text") == row["text"]), "")


def change_lines(diff: str, limit: int = _DIFF_CHARS) -> str:
    """The lines of a diff (`shown`) that say what changed: `file:` and its `-` and `+` lines."""
    kept: list[str] = []
    for line in diff.split("\n"):
        if line.startswith("diff --git "):
            kept.append(line.rpartition(" b/")[2] + ":")
        elif line[:1] in ("-", "+") and not line.startswith(("--- ", "+++ ")):
            kept.append(line)
    return "\n".join(kept)[:limit]


def _of_success(episode: Episode, passed: Attempt, vain: Sequence[Attempt]) -> Row:
    literal = clean(change_lines(passed.shown))
    general = clean(passed.fix) or f"Change {', '.join(changed_files(passed.diff))}, for example:\n{literal}"
    cause = _LINE.sub(r"\1", clean(passed.cause))  # lines move; what was wrong there does not
    text = f"{cause}: {general}" if cause else general
    row = _lesson(episode, text, literal, key="healed", works=True)
    row["avoid"] = _in_vain(vain)
    reason = forbidden(text) or forbidden("\n".join(line[1:] for line in literal.split("\n") if line[:1] == "+"))
    if reason:
        row |= {"state": "quarantined", "reason": reason}
    return row


def _of_failure(episode: Episode, vain: Sequence[Attempt]) -> Row | None:
    """Describe what did not help, and why. Nothing to say where nothing was tried."""
    tried = _in_vain(vain)
    if not tried:
        return None
    text = "Tried without success: " + "; ".join(map(str, tried))
    return _lesson(episode, text, "", key="in vain", works=False)


def _is_in_vain(attempt: Attempt) -> bool:
    """Tell whether a change is known not to help: what it was to mend fails still, and the check did not pass with it.
    Where another failure came instead (a limit, a missing package), it may be right; what was refused was never
    tried."""
    return (
        bool(attempt.diff) and attempt.status == "failed" and attempt.score < 1 and attempt.signature == attempt.faced
    )


def _in_vain(vain: Sequence[Attempt]) -> list[Json]:
    told = (f"{each.fix or change_lines(each.shown, 200)} ({each.reason or each.kind})" for each in vain)
    found: list[Json] = [*dict.fromkeys(clean(text, 400) for text in told)]
    return found[:_AVOIDED]


def _lesson(episode: Episode, text: str, literal: str, *, key: str, works: bool) -> Row:
    first = episode.first
    assert first is not None
    now = time.time()
    return {
        "id": lesson_id_of(key, first.signature, text),
        "state": "candidate",
        "scope": "project",
        "signature": first.signature,
        "kind": first.kind,
        "tool": "",
        "head": "",
        "target": "",
        "when_text": first.template,
        "text": text,
        "example": literal,
        "works": works,
        "uses": 0,
        "wins": 0,
        "created_at": now,
        "updated_at": now,
        "names": [*quoted_names(clean(first.output))],
        "reason": "",
        "provenance": f"distilled from a healed task by {episode.solver}{_doubted(episode)}"
        if works
        else "distilled from a task that failed",
    }


def _doubted(episode: Episode) -> str:
    return f"; doubtful: {clean(episode.attempts[-1].evidence, 200)}" if episode.is_doubtful else ""


def _sighting(episode: Episode, row: Row) -> str:
    """Name the bug that an episode was about: the project and what was changed in it; the task where nothing helped."""
    what = text_in(row, "example") or episode.task.id
    return hex_of("\0".join((project_name(episode.task.folder), what)))


def _with(held: Json, value: str) -> list[Json]:
    return _merged(held, [value])


def _merged(held: Json, values: Sequence[str]) -> list[Json]:
    found: list[Json] = [*sorted({*map(str, held if isinstance(held, list) else []), *values})]
    return found


def _names(episode: Episode) -> list[str]:
    """The tests that failed, and the places where the program broke: what is found when they fail again."""
    first = episode.first
    assert first is not None
    told = first.tests.failed_ids if first.tests is not None else ()
    return list(dict.fromkeys([*map(name_of, told), *names_of(first.output)]))[:MOST]
