"""The options of `ratchet run` for a task in words: see its plan, edit it, bring one's own."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click
from click.core import ParameterSource

from ratchet.cli import show_heal
from ratchet.cli.folders import PATH
from ratchet.cli.gathered import gathered
from ratchet.errors import UsageError
from ratchet.healing.episode import PlanStep
from ratchet.healing.planning.plan import TaskPlan, plan_of, plan_text
from ratchet.healing.project_check import argv_of

_FOLDER = re.compile(r"(?<!\S)(?:\.{1,2}|~)?/[\w./-]{1,300}")
_OPTIONS = (
    click.option("--plan-only", "only", is_flag=True, help="Print the plan (TOML), and do nothing."),
    click.option("--plan", "file", type=PATH, metavar="FILE", help="Carry out this plan instead of making one."),
    click.option("--edit", is_flag=True, help="Open the plan in your editor before anything is done."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """Wishes of a person about plans: see one only, edit it, bring one."""

    only: bool = False
    file: Path | None = None
    edit: bool = False

    def wanted(self, instruction: str, check: str | None, junit: Path | None) -> bool:
        """Tell whether words are to become a plan. Raises UsageError where there are none to plan for."""
        by_check = check is not None or junit is not None
        asked = self.only or self.edit or self.file is not None
        if asked and by_check:
            raise UsageError("a plan has its own checks: leave --check and --junit out, or leave the plan out")
        if asked and not instruction:
            raise UsageError('say what is wanted, in words: ratchet run --plan-only "..."')
        return bool(instruction) and not by_check

    def given(self, instruction: str, check: str | None) -> TaskPlan | None:
        """The plan that a person brings: a file, or one check for words that go on with an episode."""
        if self.file is not None:
            try:
                return plan_of(self.file.read_text(encoding="utf-8"), where=str(self.file))
            except UnicodeDecodeError as error:
                raise UsageError(f"{self.file} is no text: {error}") from error
        if check is None or not instruction:
            return None
        return TaskPlan(steps=(PlanStep(do=instruction, check=argv_of(check)),), adds=True)

    def shown(self, as_json: bool) -> Callable[[TaskPlan], TaskPlan | None]:
        """Show a plan before anything is done; return it, as edited, or None to leave it at that."""

        def show(plan: TaskPlan) -> TaskPlan | None:
            if self.only:
                if not as_json:
                    click.echo(plan_text(plan), nl=False)
                return None
            if self.edit:
                edited = click.edit(plan_text(plan), extension=".toml")
                plan = plan if edited is None else plan_of(edited, where="the edited plan")
            if not as_json:
                show_heal.plan(plan)
            return plan

        return show

    @staticmethod
    def by_default(option: str) -> bool:
        """Tell whether a person left an option out."""
        return click.get_current_context().get_parameter_source(option) is ParameterSource.DEFAULT

    def folder(self, instruction: str, given: Path) -> Path:
        """The project: the one given, else a folder below it that the words name, said. One elsewhere may be what the
        task is about, or where its output goes: that is for the person to say."""
        if not self.by_default("folder"):
            return given
        for found in _FOLDER.finditer(instruction):
            named = Path(found[0].rstrip(".")).expanduser()
            if named.is_dir() and named.resolve().is_relative_to(given.resolve()):
                click.echo(f"project: {named} (named by your words; --in FOLDER names another)", err=True)
                return named
        return given


def _planned(*, only: bool, file: Path | None, edit: bool) -> Planned:
    return Planned(only=only, file=file, edit=edit)


plan_options = gathered(_OPTIONS, "planning", _planned)
"""Give a command the options of plans, as `planning()`."""
