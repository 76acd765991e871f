"""The facts of measuring an agent: a benchmark and its tasks, the agent under test, and one evaluation. Values."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Literal

from ratchet.records import Json

TaskKind = Literal["code", "fix", "plan", "tools", "heal"]
"""Code generation, bug fixing, multi-step planning, tool use, recovery from an injected fault."""

Split = Literal["dev", "gate", "sealed"]
"""Proposers see `dev`, decisions are made on `gate`, and the final report uses `sealed` once."""

Result = Literal["passed", "partly", "failed", "unmeasured"]
"""`unmeasured`: the machine, not the agent, was at fault. It is never a wrong answer and never counts as a score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchTask:
    """One task of a benchmark. Texts by path; paths are relative, without `..`.

    The agent gets `instruction` and a working folder that holds `files`. What it leaves there is its answer, and
    `answer.json` where the task asks for a plan or for calls. `graders` are laid beside it only once the agent is gone.
    """

    id: str
    kind: TaskKind
    split: Split
    instruction: str
    scorer: str
    """`pytest` (share of the graders' tests that pass), `command`, `plan` or `calls`."""
    files: Mapping[str, str] = field(default_factory=dict)
    graders: Mapping[str, str] = field(default_factory=dict)
    spec: Mapping[str, Json] = field(default_factory=dict)
    """What the scorer needs to know: the plan's rules, the calls asked for, the command."""
    reference: Mapping[str, str] = field(default_factory=dict)
    """Files which, laid over `files` without those that it `removes`, are a right answer. No agent sees them."""
    removes: tuple[str, ...] = ()
    """Paths of `files` that the reference has no more."""
    title: str = ""
    smoke: bool = False
    """Cheap and easy: a candidate that breaks it is not worth measuring."""
    wall_s: float = 60.0


_EMPTY: tuple[Json | tuple[()], ...] = ("", (), [], {}, False)


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """A frozen set of tasks. Two benchmarks with one hash ask the same."""

    name: str
    title: str
    tasks: tuple[BenchTask, ...]

    @cached_property
    def hash(self) -> str:
        """`b` and 24 hex digits of a hash over all that the tasks hold, whatever the benchmark is called.

        What a task leaves empty is not in it: a later Ratchet, which knows of more, gives the same hash.
        """
        ordered = sorted(self.tasks, key=lambda each: each.id)
        tasks = [{name: held for name, held in asdict(each).items() if held not in _EMPTY} for each in ordered]
        text = json.dumps(tasks, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return "b" + hashlib.sha256(text.encode()).hexdigest()[:24]

    def of(self, split: Split) -> tuple[BenchTask, ...]:
        return tuple(each for each in self.tasks if each.split == split)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent under test, and what of it may change.

    `command`: argv in which `{task}` stands for the instruction, `{workdir}` for the working folder, `{agent}` for the
    agent's own folder, `{seed}` for the seed. `callable`: `module:function` of a module in the folder, called with a
    mapping of those. `http`: an address that is asked for the answer; it runs outside, as its owner started it.
    """

    how: Literal["command", "callable", "http"]
    argv: tuple[str, ...] = ()
    target: str = ""
    """`module:function`, or the address."""
    folder: str = ""
    """The agent's own files, absolute; shown read-only while it works. "" where it has none."""
    changes: tuple[str, ...] = ()
    """Globs, from `folder`, of files that may change. All others are as they are."""
    settings: Mapping[str, Json] = field(default_factory=dict)
    """Values in force of its declared knobs; handed to it as JSON in RATCHET_AGENT_SETTINGS."""
    knobs: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    """What the settings may be (`Knob.described`)."""
    own_check: tuple[str, ...] = ()
    """A command in `folder` that any version must pass before it is measured."""
    net: str = "none"
    pass_env: tuple[str, ...] = ()
    """Names of the caller's variables that it gets."""
    readable: tuple[str, ...] = ()
    """Further folders shown read-only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One run of one version of an agent on one task, as a fact; written as it ends, never edited.

    The key is (run, candidate, task, seed). `score` is in [0, 1], and means nothing where `result` is `unmeasured`.
    """

    run: str
    candidate: str
    task: str
    seed: int
    result: Result
    score: float = 0.0
    reason: str = ""
    """Why it is not 1, or why nothing could be measured, in one line."""
    output: str = ""
    """What the agent and the scorer printed, capped; secrets taken out."""
    kind: str = ""
    signature: str = ""
    """Of the failure, as everywhere."""
    wall_s: float = 0.0
    cost_usd: float = 0.0
    tokens: int = 0
    killed: str = ""
    """The limit that ended the agent, `looping` where it repeated itself without a new state, `cancel`."""
    isolation: str = ""
    tampered: tuple[str, ...] = ()
    """What it tried to change that is none of its business."""
    at: float = 0.0

    @property
    def measured(self) -> bool:
        return self.result != "unmeasured"
