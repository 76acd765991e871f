"""Plans as values, and as a text that a person may edit: TOML, one `[[step]]` each."""

from __future__ import annotations

import json
import shlex
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass

from ratchet.errors import UsageError
from ratchet.healing.episode import PlanStep
from ratchet.healing.project_check import argv_of

MOST_STEPS = 12
_HEAD = """\
# What is to be done, in order. `check` is a command that fails now and passes when the step is done.
# Edit it, then: ratchet run --plan FILE "..."
"""
_READ_BY_SHELL = frozenset('"$`\\!\n')
_FOR_A_PERSON = "# A step without a check is for a person.\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPlan:
    """The steps that a task comes to."""

    steps: tuple[PlanStep, ...]
    beyond: str = ""
    """What of the task nobody looks at, and why; "" for nothing."""
    by: str = ""
    """Who planned: a model's name, a program's, or "" for the project's own files."""
    adds: bool = False
    """Whether the steps of an earlier plan stay, and these come after them; else this is the whole plan."""
    dropped: tuple[PlanStep, ...] = ()
    """Steps of an earlier plan that are not in this one."""

    @property
    def checked(self) -> tuple[PlanStep, ...]:
        """The steps that are carried out; the others are for a person."""
        return tuple(each for each in self.steps if each.check)


def combined(steps: Sequence[PlanStep]) -> tuple[str, ...]:
    """One command for all checks of a plan: what a person would type to see that everything is done."""
    checks = [each.check for each in steps if each.check]
    return checks[0] if len(checks) == 1 else ("sh", "-c", " && ".join(map(check_text, checks))) if checks else ()


def check_text(check: Sequence[str]) -> str:
    """A check as a person writes it."""
    return check[2] if tuple(check[:2]) == ("sh", "-c") and len(check) == 3 else " ".join(map(_word, check))


def _word(text: str) -> str:
    """One word of a command; one that holds a single quote in double ones, where a shell reads nothing else in it."""
    return f'"{text}"' if "'" in text and not _READ_BY_SHELL.intersection(text) else shlex.quote(text)


def plan_text(plan: TaskPlan) -> str:
    """The plan as TOML, to be read by `plan_of`."""
    unread = f"# {one_line(plan.beyond).partition(': ')[0]} (see `beyond`).\n" if plan.beyond else ""
    lines = [unread + (_HEAD if all(each.check for each in plan.steps) else _HEAD + _FOR_A_PERSON)]
    lines += [f"# dropped: {one_line(each.do)}\n" for each in plan.dropped]
    if plan.beyond:
        lines.append(f"beyond = {_quoted(plan.beyond)}\n")
    for each in plan.steps:
        said = f"  # {each.now} now{': ' + one_line(each.said) if each.said else ''}" if each.now else ""
        lines += ["[[step]]", f"do = {_quoted(each.do)}"]
        lines += [f"check = {_quoted(check_text(each.check))}{said}", ""] if each.check else [""]
    return "\n".join(lines)


def plan_of(text: str, *, where: str = "the plan") -> TaskPlan:
    """Read a plan. Raises UsageError that says where it is wrong."""
    try:
        held = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{where} is no TOML: {error}") from error
    except RecursionError as error:
        raise UsageError(f"{where} is no plan: its values lie in one another too deeply") from error
    steps = held.get("step")
    if not isinstance(steps, list) or not steps:
        raise UsageError(f"{where} holds no [[step]]: write one for each thing that is to be done")
    if len(steps) > MOST_STEPS:
        raise UsageError(f"{where} holds {len(steps)} steps, at most {MOST_STEPS} are carried out: make two of it")
    if unknown := sorted(set(held) - {"step", "beyond"}):
        raise UsageError(f"{where}: {unknown[0]!r} is no part of a plan; use beyond and [[step]]")
    beyond = held.get("beyond", "")
    return TaskPlan(
        steps=tuple(_step(each, f"{where}, step {n}") for n, each in enumerate(steps, 1)),
        beyond=beyond if isinstance(beyond, str) else "",
    )


def _step(held: object, where: str) -> PlanStep:
    known = {"do", "check"}
    if not isinstance(held, dict) or not all(isinstance(value, str) for value in held.values()):
        raise UsageError(f"{where}: do and check are texts")
    if unknown := sorted(set(held) - known):
        raise UsageError(f"{where}: {unknown[0]!r} is no part of a step; use do and check")
    if not held.get("do", "").strip():
        raise UsageError(f"{where} does not say what to do: do = '...'")
    check = held.get("check", "")
    return PlanStep(do=held["do"], check=argv_of(check) if check.strip() else ())


def one_line(text: str) -> str:
    """The text on one line, without what moves a terminal's cursor."""
    return "".join(each if each.isprintable() else " " for each in text)


def _quoted(text: str) -> str:
    """A string of TOML as it is, where it has double quotes and fits on a line; else one whose escapes are JSON's."""
    if '"' in text and text.isprintable() and "'''" not in text and not text.endswith("'"):
        return f"'{text}'" if "'" not in text else f"'''{text}'''"
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
