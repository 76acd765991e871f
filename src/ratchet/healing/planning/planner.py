"""Planners make steps of words: a language model, or a coding agent that is the hands anyway."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from ratchet.errors import Refused
from ratchet.healing.job import ProviderOptions, Purse
from ratchet.healing.models.prompts import Prompts
from ratchet.healing.models.prose import objects_within
from ratchet.healing.models.question import Model, Question
from ratchet.healing.solvers.coding_agent import CodingAgent, Errand
from ratchet.healing.solvers.edits import in_fences
from ratchet.ports import Sandbox, Workspace
from ratchet.records import Json
from ratchet.sandbox.command import Limits

_OUTPUT_TOKENS = 2_048  # of a plan: a dozen steps take a few hundred
_CHECK_TOKENS = 1_024
_RUN_TESTS = "\nfor name, value in list(globals().items()):\n    if name.startswith('test_'):\n        value()"
"""Models write a test as a function, which nothing calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedStep:
    """One step as a planner writes it."""

    do: str
    check: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedPlan:
    """The answer that is asked for."""

    steps: tuple[ProposedStep, ...]
    beyond: str = ""
    drop: tuple[int, ...] = ()
    """Numbers, from 1, of the steps of an earlier plan that the words take back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerAnswer:
    """Answer of a planner; without a plan, `problem` says why, and `less` whether asking with less may help."""

    plan: ProposedPlan | None = None
    problem: str = ""
    less: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerGround:
    """The place of a planner that is a program: a copy that is thrown away."""

    workspace: Workspace
    sandbox: Sandbox
    limits: Limits
    purse: Purse
    prompts: Prompts


class Planner(Protocol):
    """Makes steps of words."""

    @property
    def name(self) -> str: ...

    def ask(self, text: str, ground: PlannerGround, *, turn: int, plainly: bool = False) -> PlannerAnswer:
        """Steps for a text that holds the words, the files and what was wrong with the last answer; `plainly` asks a
        model that could not answer so for no more than one check. Raises Refused, ModelError, SandboxError."""


class ModelPlanner:
    """Port `Planner` over a language model."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def name(self) -> str:
        return self._model.named("reasoning")

    def ask(self, text: str, ground: PlannerGround, *, turn: int, plainly: bool = False) -> PlannerAnswer:
        """See `Planner.ask`. Asked plainly, a model of half a billion parameters wrote checks that it could not write
        within JSON (measured, Qwen2.5-Coder-0.5B)."""
        if plainly:
            return self._one_check(text, ground, turn)
        answer = self._model.ask(
            Question(
                shape=ProposedPlan,
                text=text,
                rules=ground.prompts.text("plan"),
                temperature=min(0.2 + 0.3 * turn, 1.0),
                seed=turn,
                output_tokens=_OUTPUT_TOKENS,
            ),
            ground.purse,
        )
        return PlannerAnswer(plan=answer.value, problem=answer.problem, less=answer.kind == "context_overflow")

    def _one_check(self, text: str, ground: PlannerGround, turn: int) -> PlannerAnswer:
        rules = ground.prompts.text("plan_check")
        asked = Question(
            shape=str, text=text, rules=rules, temperature=0.2 * turn, seed=turn, output_tokens=_CHECK_TOKENS
        )
        answer = self._model.ask(asked, ground.purse)
        edits = in_fences(answer.value or "", {}, only="check.py")
        if not edits:
            return PlannerAnswer(
                problem=answer.problem or "it wrote no program", less=answer.kind == "context_overflow"
            )
        code = edits[0].new.strip()
        if re.search(r"^def test_", code, re.MULTILINE):
            code += _RUN_TESTS
        step = ProposedStep(do="", check=shlex.join(("python", "-c", code)))
        return PlannerAnswer(plan=ProposedPlan(steps=(step,)))


class AgentPlanner:
    """Port `Planner` over a coding agent's command: it is asked for JSON, and its edits are thrown away."""

    def __init__(self, agent: CodingAgent) -> None:
        self._agent = agent

    @property
    def name(self) -> str:
        return self._agent.name

    def ask(self, text: str, ground: PlannerGround, *, turn: int, plainly: bool = False) -> PlannerAnswer:
        del turn, plainly
        asked = f"{ground.prompts.text('plan')}\n\nAnswer with one JSON object: {_SHAPE}\nChange no file now.\n\n{text}"
        account = self._agent.run(
            Errand(
                arguments={"task": asked, "lessons": ""},
                files={"task": asked, "lessons": ""},
                stdin=asked,
                workspace=ground.workspace,
                sandbox=ground.sandbox,
                limits=ground.limits,
                purse=ground.purse,
            )
        )
        plan = next(filter(None, map(_plan_in, objects_within(account.said))), None)
        problem = "" if plan else account.problem or f"its answer holds no JSON object {_SHAPE}"
        return PlannerAnswer(plan=plan, problem=problem)


_SHAPE = '{"steps": [{"do": "...", "check": "a command"}], "beyond": "...", "drop": []}'


def _plan_in(found: Json) -> ProposedPlan | None:
    """The plan that an object of JSON is; None for any other. Read by hand: agents plan where no extra is installed."""
    if not isinstance(found, dict) or not isinstance(steps := found.get("steps"), list):
        return None
    made = []
    for each in steps:
        do, check = (each.get("do"), each.get("check") or "") if isinstance(each, dict) else (None, "")
        if not isinstance(do, str) or not isinstance(check, str):
            return None
        made.append(ProposedStep(do=do, check=check))
    beyond, drop = found.get("beyond"), found.get("drop")
    return ProposedPlan(
        steps=tuple(made),
        beyond=beyond if isinstance(beyond, str) else "",
        drop=tuple(n for n in drop if type(n) is int) if isinstance(drop, list) else (),
    )


def planner_of(
    asked: str, models: Callable[[str], Model], options: ProviderOptions
) -> tuple[ModelPlanner | AgentPlanner | None, str]:
    """Choose who plans for the solver `asked`: the models that are named, else the coding agent that is the hands; or
    None, and why nobody does."""
    kind, _, argument = asked.partition(":")
    try:
        return ModelPlanner(models(argument if kind == "model" else "")), ""
    except Refused as error:
        if kind != "command" or not argument:
            return None, f"only a model understands words ({error})"
    return AgentPlanner(CodingAgent(replace(options, argument=argument))), ""
