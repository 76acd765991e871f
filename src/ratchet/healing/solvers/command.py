"""Lets any coding agent with a command line work in the sandbox: `command:claude -p ...`, `command:./my-script`.

The agent finds the task on its standard input, in a file (`RATCHET_TASK_FILE`, lessons in `RATCHET_LESSONS_FILE`), and
in its arguments where they hold `{task}`, `{lessons}`, `{task_file}`, `{lessons_file}` or `{usd}` (what it may spend).
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from ratchet.failures.redaction.text import cap, redact
from ratchet.healing.job import Solved, SolveJob, SolverOptions
from ratchet.healing.models.quoting import output_excerpt
from ratchet.healing.solvers.coding_agent import CodingAgent, Errand
from ratchet.healing.solvers.prompting import lesson_row
from ratchet.healing.solvers.repair import suspects
from ratchet.lessons.fence import fence

_OUTPUT_SHOWN = 6_000  # characters of the check's output in the task
_TRIED_SHOWN = 2_000
_LESSONS_CHARS = 4_000
_REASON = 300
_FILES, _LINES = 4, 10  # that are told as suspect


class CommandSolver:
    """Port `Solver` over a command."""

    name = "command"

    def __init__(self, options: SolverOptions) -> None:
        self._agent = CodingAgent(options)

    def solve(self, job: SolveJob) -> Solved:
        """Run the agent once. A command that fails may have changed files all the same: the check decides."""
        held = suspects(job) if job.failure.tests and job.failure.tests.failed_ids else {}
        task, lessons = redact(_task(job, held)), fence(map(lesson_row, job.lessons), _LESSONS_CHARS)
        whole = f"{task}\n\n{lessons}" if lessons else task
        account = self._agent.run(
            Errand(
                arguments={"task": task if self._agent.takes("lessons") else whole, "lessons": lessons},
                files={"task": task, "lessons": lessons},
                stdin=whole,
                workspace=job.workspace,
                sandbox=job.sandbox,
                limits=job.limits,
                purse=job.purse,
            )
        )
        ran = account.ran
        return Solved(
            status="proposed",
            fix=account.told,
            candidates=1,
            reason=account.problem,
            note=f"ran {self._agent.name}, network {self._agent.net}, {ran.wall_s:.0f} s, isolation {ran.isolation}",
        )


def create(options: SolverOptions) -> CommandSolver:
    """The solver `command:WORDS`. Raises UsageError."""
    return CommandSolver(options)


def _task(job: SolveJob, held: Mapping[str, Sequence[int]]) -> str:
    """The work as a coding agent is asked for it."""
    protected = f"\nRead-only, too: {', '.join(job.task.protected)}" if job.task.protected else ""
    tried = "\n".join(
        f"## Attempt {each.n}: {each.status}. {cap(each.reason, _REASON)}\n"
        f"```diff\n{cap(each.shown, _TRIED_SHOWN)}\n```"
        for each in [each for each in job.tried if each.answered][-3:]
    )
    return (
        f"{job.task.instruction or 'Make the failing check pass.'}\n\n"
        "Work in the current folder. Change the program, not its tests, their settings or what runs them: such changes"
        f" are refused.{protected}\n\n# Check\n{shlex.join(job.task.check)}\n\n# What it says now\n"
        f"{cap(job.failure.reason, _REASON)}\n```\n{output_excerpt(job.failure.output, _OUTPUT_SHOWN)}\n```"
        + (f"\n\n# Most suspect lines, by what the failing tests run\n{_places(held)}" if held else "")
        + (f"\n\n# What a search over small edits found\n{cap(hints, _TRIED_SHOWN)}" if (hints := _hints(job)) else "")
        + (f"\n\n# What was tried and did not pass\n{tried}" if tried else "")
    )


def _places(held: Mapping[str, Sequence[int]]) -> str:
    return "\n".join(f"{path}: {', '.join(map(str, lines[:_LINES]))}" for path, lines in [*held.items()][:_FILES])


def _hints(job: SolveJob) -> str:
    return "\n".join(f"- {each}" for each in job.hints)
