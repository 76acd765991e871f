"""Permanent changes that a lesson could become, and what each would have done, by replay of what really ran."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from ratchet import files
from ratchet.errors import Refused
from ratchet.failures.intent import head_of, is_shell
from ratchet.improving.targets import json_text
from ratchet.improving.targets.pieces import KEY, PieceTarget, written
from ratchet.improving.targets.skill_folder import SkillFolder, piece_of
from ratchet.lessons.ahead import slots
from ratchet.lessons.checks import MARK, violates
from ratchet.lessons.exposure import vouched
from ratchet.lessons.fence import harmless, shown
from ratchet.lessons.mining.calls import ToolCall, calls_of, pieces_of
from ratchet.lessons.mining.checks import forbidden
from ratchet.lessons.skills.places import WRITTEN, Taker
from ratchet.lessons.skills.rows import newest
from ratchet.ports import Edit, Store
from ratchet.records import Json, Row, text_in, whole_in

CureKind: TypeAlias = Literal["notes", "skill", "git", "pre-commit", "check", "permission"]
KINDS: tuple[CureKind, ...] = get_args(CureKind)

MOST_ACCEPTED = 0.02
"""Share of the accepted calls that a check may stop, as for a rule that a model words (lessons, place A)."""
NOTES = ("CLAUDE.md", "AGENTS.md", "GEMINI.md")
CHECKS_FILE = Path(".claude", "settings.json")
_LINE_CHARS = 400
# Settings of git that make an option the default: (head, option) -> (setting, value), from git's own manual.
_GIT = {
    ("git pull", "--rebase"): ("pull.rebase", "true"),
    ("git pull", "--ff-only"): ("pull.ff", "only"),
    ("git push", "--set-upstream"): ("push.autoSetupRemote", "true"),
    ("git push", "-u"): ("push.autoSetupRemote", "true"),
    ("git fetch", "--prune"): ("fetch.prune", "true"),
    ("git commit", "--signoff"): ("format.signOff", "true"),
    ("git rebase", "--autostash"): ("rebase.autoStash", "true"),
}
_SOURCE = re.compile(r'sys\.path\.insert\(0,("(?:[^"\\]|\\.)*")\)')
_PATH = re.compile(r"[\w.-]*/[\w./-]+|[\w-]+\.\w{1,5}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cure:
    """One change that a lesson could become. `edit` (`diff` for people) is what it does to `file`; by replay it would
    have stopped `prevented` calls that failed or were refused, and `accepted` of `of` that were fine; `problem` says
    why it may not be applied, "" where it may."""

    lesson: str
    kind: CureKind
    target: str
    file: str
    piece: str
    diff: str
    edit: Edit
    prevented: int
    accepted: int
    of: int
    problem: str = ""


def cures(
    store: Store,
    lesson: Row,
    folder: Path,
    *,
    kinds: Iterable[CureKind] = KINDS,
    taker: Taker = "claude-code",
) -> list[Cure]:
    """List what a lesson could become in a project's folder, in the order of `KINDS`: of one that others wrote, what an
    agent may see of it. A skill goes where `taker` looks. Changes nothing. Raises Refused where a file has a shape that
    cannot be edited, BackendError where it cannot be read."""
    lesson = shown(lesson)
    wanted = set(kinds)
    calls = list(_calls(store, lesson)) if wanted & {"check", "permission"} else []
    check = check_of(lesson, calls)
    found = []
    for kind, target, piece in (*_pieces(lesson, check, folder), *_skills(store, lesson, folder, taker)):
        if kind not in wanted:
            continue
        denies = kind in ("check", "permission")
        hit = [call for call in calls if denies and check is not None and _denied(kind, check, call)]
        accepted = sum(call.ok for call in hit)
        of = sum(call.ok for call in calls)
        prevented = len(hit) - accepted if denies else _right(lesson)
        held = Cure(
            lesson=str(lesson["id"]),
            kind=kind,
            target=target.name,
            file=str(target.path),
            piece=piece,
            diff=target.diff(piece),
            edit=target.plan({KEY: piece}),
            prevented=prevented,
            accepted=accepted,
            of=of,
            problem=_problem(kind, lesson, piece, prevented, accepted, of) or _leads_away(target.path),
        )
        found.append(held)
    return sorted(found, key=lambda each: KINDS.index(each.kind))


def _right(lesson: Row) -> int:
    """Count the right offers of a lesson: its second session counts as the first one; a person's word, as one."""
    return whole_in(lesson, "right") + (whole_in(lesson, "worked") > 1 or lesson.get("decided") == "active")


def _problem(kind: CureKind, lesson: Row, piece: str, prevented: int, accepted: int, of: int) -> str:
    if lesson.get("state") != "active":
        return "the lesson is not active; approve it first"
    if not vouched(lesson):
        return "it comes from a file that is not trusted; `ratchet lessons trust` shows it"
    if kind == "notes" and (reason := forbidden(piece)):
        return reason
    if not prevented and kind != "skill":  # an agent takes a skill up where it fits: it stops nothing by itself
        return "by replay it would have prevented nothing"
    if accepted > MOST_ACCEPTED * of or accepted > prevented:
        return f"by replay it would have stopped {accepted} steps that were fine"
    return ""


def _leads_away(path: Path) -> str:
    """Why a file must not be written, since a repository's link leads out of it; "" where it may."""
    try:
        files.need_inside(path)
    except Refused as error:
        return str(error)
    return ""


def _pieces(lesson: Row, check: Row | None, folder: Path) -> Iterator[tuple[CureKind, PieceTarget, str]]:
    lesson_id = str(lesson["id"])
    line = _sentence(text_in(lesson, "text"))
    notes = next((folder / name for name in NOTES if (folder / name).is_file()), folder / NOTES[0])
    if line:
        said = _one_line(line, text_in(lesson, "when_text"))
        yield "notes", PieceTarget("notes", notes, f"ratchet:{lesson_id}"), f"{said} <!-- ratchet:{lesson_id} -->"
    setting = _setting(lesson)
    if setting is not None and (folder / ".git" / "config").is_file():
        yield "git", PieceTarget("git", folder / ".git" / "config", setting[0]), setting[1]
    before = _before_commit(lesson)
    if before and (folder / ".git").is_dir():
        hook = PieceTarget("pre-commit", folder / ".git" / "hooks" / "pre-commit", f"ratchet:{lesson_id}")
        note = f"# ratchet:{lesson_id}, taken out by: ratchet lessons cure {lesson_id} --undo"
        yield "pre-commit", hook, f"{before} || exit 1  {note}"
    if check is not None:
        told = {**check, "lesson": lesson_id, "say": line}
        hook = PieceTarget("check", folder / CHECKS_FILE, lesson_id)
        yield "check", hook, written(_hook(told, command_of(told)))
        rule = _permission(check)
        if rule:
            yield "permission", PieceTarget("permission", folder / CHECKS_FILE, rule), written(rule)


def _skills(
    store: Store, lesson: Row, folder: Path, taker: Taker
) -> Iterator[tuple[CureKind, PieceTarget | SkillFolder, str]]:
    skill = newest(store, str(lesson["id"])) if lesson.get("skill") else None
    if skill is not None and not skill.folder:  # of one that others wrote nothing is written anywhere
        yield "skill", SkillFolder(folder / WRITTEN[taker] / skill.name), piece_of(skill.files)


def _sentence(text: str) -> str:
    """The advice on one line: its sentence, and of its example what was added."""
    first, *hunk = text.split("\n")
    added = next((each[2:].strip() for each in hunk if each.startswith("+ ") and each[2:].strip()), "")
    if first.endswith("for example:"):
        first = first.removesuffix("for example:").rstrip(" ,") + (f", e.g. `{added}`" if added else "")
    return harmless(first, _LINE_CHARS).replace("<!--", "<!-").replace("-->", "->")


def _one_line(line: str, when: str) -> str:
    about = harmless(when.split("\n")[0], 120).replace("`", "'")
    return f"- When `{about}`: {line}" if about else f"- {line}"


def _hook(check: Row, command: str) -> Json:
    return {
        "matcher": "Bash" if check.get("head") else "Edit|MultiEdit|Write|NotebookEdit",
        "hooks": [{"type": "command", "command": command, "timeout": 5}],
    }


def command_of(check: Row) -> str:
    """The shell command of a check, as an agent's settings hold it: whatever is broken, it exits with 0 and denies
    nothing."""
    source = str(Path(files.__file__).resolve().parent.parent)
    code = f"import sys;sys.path.insert(0,{json.dumps(source, ensure_ascii=False)});from {MARK} import run;run()"
    words = [sys.executable, "-I", "-S", "-c", code, json.dumps(check, ensure_ascii=False, sort_keys=True)]
    return f"{shlex.join(words)} 2>/dev/null || true"


def broken_checks(settings: str) -> list[str]:
    """Why checks in an agent's settings deny nothing any more, one reason for each that does. Raises Refused for
    settings that are no JSON."""
    text = settings.strip()
    held: Json = json_text.parsed(text) if MARK in text else {}
    commands = [each for each in _texts(held) if MARK in each]
    return [reason for reason in map(_why_broken, commands) if reason]


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for below in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(below)


def _why_broken(command: str) -> str:
    try:
        python, *words = shlex.split(command)
    except ValueError:
        return "its command line cannot be read"
    if not os.access(python, os.X_OK):
        return f"its Python is gone: {python}"
    source = next((found[1] for word in words if (found := _SOURCE.search(word))), "")
    module = Path(json.loads(source), *MARK.split(".")).with_suffix(".py") if source else None
    return f"what it runs is gone: {module}" if module is not None and not module.is_file() else ""


# -- what a lesson says as a change -----------------------------------------------------------------------------------


def check_of(lesson: Row, calls: Iterable[ToolCall]) -> Row | None:
    """The check that a lesson compiles to: a flag of a command, a wrapper that it needs, a path or a text that shall
    not be written. None for one that names none of these."""
    told = lesson.get("distilled")
    if isinstance(told, dict) and told.get("when"):
        return _of_words(text_in(told, "when"), text_in(told, "dont"))
    head, rule, needs = text_in(lesson, "head"), text_in(lesson, "rule"), text_in(lesson, "needs")
    if rule == "flag" and head and needs:
        return {"head": head, "part": needs}
    if rule == "through" and head:
        wrapper = _wrapper(text_in(lesson, "failed"), text_in(lesson, "example"))
        return {"head": head, "without": wrapper} if wrapper else None
    if rule == "program" and head:
        return {"head": head}
    if lesson.get("quote") and head:
        part = _unlike_the_others(head, text_in(lesson, "failed"), calls)
        return {"head": head, "part": part} if part else None
    return None


def _unlike_the_others(head: str, refused: str, calls: Iterable[ToolCall]) -> str:
    """The option of a refused command that no accepted one of its kind has, "" where there is none."""
    used = {option for call in calls if call.ok for each in call.pieces if each.head == head for option in each.options}
    mine = [option for each in pieces_of(refused) if each.head == head for option in sorted(each.options)]
    return next((option for option in mine if option.partition("=")[0] not in used and option not in used), "")


def _of_words(when: str, dont: str) -> Row | None:
    head, _ = head_of(when.split())
    if when in ("edit", "write"):
        if not dont:
            return None
        return {"path": dont} if _PATH.fullmatch(dont) and "(" not in dont else {"text": dont}
    return {"head": head, "part": dont} if dont else {"head": head}


def _wrapper(failed: str, worked: str) -> str:
    """The words that the working command has in front of the failed one."""
    bare, whole = failed.strip(), worked.strip()
    return whole[: whole.index(bare)].strip() if bare and bare in whole and whole != bare else ""


def _setting(lesson: Row) -> tuple[str, str] | None:
    """The git setting that makes the lesson's remedy the default."""
    added = set(text_in(lesson, "example").split()) - set(text_in(lesson, "failed").split())
    head = text_in(lesson, "head")
    return next((_GIT[head, option] for option in sorted(added) if (head, option) in _GIT), None)


def _before_commit(lesson: Row) -> str:
    """The command that a lesson wants before a commit, "" for another one."""
    if lesson.get("rule") not in ("first", "made") or text_in(lesson, "head") != "git commit":
        return ""
    found = re.search(r"`([^`\n]{2,200})`", text_in(lesson, "text"))
    return found[1] if found and slots.command(found[1]) else ""  # it runs at each commit, with nobody looking


def _permission(check: Row) -> str:
    """The client's own rule that denies the same, "" where it has none: its rules know how a command begins."""
    head, part = text_in(check, "head"), text_in(check, "part")
    return f"Bash({head} {part}:*)" if head and part and not check.get("without") else ""


# -- replay ---------------------------------------------------------------------------------------------------------


def _denied(kind: CureKind, check: Row, call: ToolCall) -> bool:
    """Tell whether a check, or the client's own rule made of it, would have denied a call that really ran."""
    if kind != "permission":
        return stops(check, call)
    start = f"{check.get('head')} {check.get('part')}"
    return any(" ".join(each.words).startswith(start) for each in call.pieces)


def stops(check: Row, call: ToolCall) -> bool:
    """Tell whether a check would have denied a call that really ran."""
    return violates(check, call.tool, call.input if is_shell(call.tool) else call.fields)


def _calls(store: Store, lesson: Row) -> Iterator[ToolCall]:
    """The calls of the lesson's project, session by session."""
    rows = store.sum_by("habits", ("session",), (), {"project": text_in(lesson, "project")})
    for session in sorted(text_in(row, "session") for row in rows):
        yield from calls_of(store.find("outcomes", {"session": session}).rows)


def chosen(found: Iterable[Cure], kind: CureKind) -> Cure:
    """The cure of that kind. Raises Refused where the lesson makes none, or replay speaks against it."""
    several = list(found)
    cure = next((each for each in several if each.kind == kind), None)
    if cure is None:
        made = ", ".join(each.kind for each in several) or "nothing"
        raise Refused(f"this lesson makes no {kind}; it could become: {made}")
    if cure.problem:
        raise Refused(f"it is not applied: {cure.problem}")
    return cure
