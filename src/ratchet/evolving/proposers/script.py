"""Lets a Python file of yours propose changes: `script:FILE`, or `script:module:function`.

It runs in the sandbox, in a copy of the agent's files, which it may change. It gets what is known as JSON
(`evidence.row_of`) on its standard input, a function as its argument; and prints, a function returns, `{"hypothesis":
..., "expected": ..., "settings": {}}`. A script that is let into the network finds what it may spend, in USD, as its
first argument, and adds `"cost_usd"`: what it does not tell counts in full.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from importlib.machinery import PathFinder
from pathlib import Path

from ratchet.errors import UsageError
from ratchet.evolving.job import ProposalJob, Proposed, ProposerOptions
from ratchet.evolving.proposers.answers import fixed, outcome, said_in
from ratchet.evolving.proposers.evidence import row_of
from ratchet.healing.solvers.coding_agent import CodingAgent, Errand

_PYTHON = ("python", "-B")
_MOST_S = 600.0
"""Longest run of a script: one that hangs must not take the whole run's time."""
# What the function prints is no answer. Modules of the agent's folder must not stand in for those imported here.
_CALL = """
import os, sys
sys.path[:] = [sys.argv[1], *(each for each in sys.path if each not in ("", os.getcwd()))]
import importlib, json
out, sys.stdout = sys.stdout, sys.stderr
answer = getattr(importlib.import_module(sys.argv[2]), sys.argv[3])(json.load(sys.stdin))
out.write(json.dumps(answer))
"""


class ScriptProposer:
    """Port `AgentProposer` over a file of Python, or a function."""

    name = "script"

    def __init__(self, options: ProposerOptions) -> None:
        words, shown = _found(options.argument)
        self._shown_name = options.argument
        command = shlex.join([*words, "{usd}"])
        self._agent = CodingAgent(replace(options, argument=command, readable=(*options.readable, *shown)))

    def propose(self, job: ProposalJob) -> Proposed:
        """Run the script once, and take what it left in the workspace."""
        if (answer := fixed(job)) is not None:
            return answer
        job.note(f"running {self._shown_name}")
        evidence = json.dumps(row_of(job))
        account = self._agent.run(
            Errand(
                arguments={},
                files={},
                stdin=evidence,
                workspace=job.workspace,
                sandbox=job.sandbox,
                limits=replace(job.limits, wall_s=min(job.limits.wall_s, _MOST_S)),
                purse=job.purse,
            )
        )
        problem = account.problem.replace(self._agent.name, self._shown_name, 1)
        return outcome(job, said_in(account.said), problem=problem)


def create(options: ProposerOptions) -> ScriptProposer:
    """The proposer `script:FILE` or `script:module:function`. Raises UsageError."""
    return ScriptProposer(options)


def _found(argument: str) -> tuple[tuple[str, ...], tuple[Path, ...]]:
    """The words that run a script, and what must be shown to it. Raises UsageError where there is none."""
    if not argument:
        raise UsageError("`script:` names no script: write script:FILE.py, or script:module:function")
    path = Path(argument).expanduser()
    if path.is_file():
        return (*_PYTHON, str(path.resolve())), (path.resolve(),)
    module, colon, function = argument.partition(":")
    if not colon or not function.isidentifier() or not all(part.isidentifier() for part in module.split(".")):
        raise UsageError(f"no script {argument!r}: there is no such file, and it is no module:function")
    root, shown = _module(module.partition(".")[0])
    return (*_PYTHON, "-c", _CALL, str(root), module, function), (shown,)


def _module(name: str) -> tuple[Path, Path]:
    """The folder that a top module is imported from, and its own folder or file. Nothing of it is run here."""
    spec = PathFinder.find_spec(name, [str(Path.cwd())]) or PathFinder.find_spec(name)
    if spec is None or (spec.origin is None and not spec.submodule_search_locations):
        raise UsageError(f"no module {name!r} is found in this folder or among the installed ones")
    shown = Path(next(iter(spec.submodule_search_locations or ()), spec.origin or "")).resolve()
    return shown.parent, shown
