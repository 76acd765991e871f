"""Lets any coding agent with a command line work in the sandbox: `command:claude -p ...`, `command:./my-script`.

The agent finds the task on its standard input, in a file (`RATCHET_TASK_FILE`, lessons in `RATCHET_LESSONS_FILE`), and
in its arguments where they hold `{task}`, `{lessons}`, `{task_file}`, `{lessons_file}` or `{usd}` (what it may spend).
It reaches the network and the files of the person's configuration only as the person named them.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ratchet.confinement import Command, Ran
from ratchet.errors import Refused, UsageError
from ratchet.fence import fence
from ratchet.quoting import output_excerpt
from ratchet.redaction import cap, redact
from ratchet.solvers.prompting import lesson_row
from ratchet.solving import Solved, SolveJob, SolverOptions

_OUTPUT_SHOWN = 6_000  # characters of the check's output in the task
_TRIED_SHOWN = 2_000
_LESSONS_CHARS = 4_000
_ARGUMENT_BYTES = 100_000  # Linux takes 131,072 bytes in one argument
_SAID = 300
_READ_TAIL = 65_536  # characters of an agent's output in which its own account is looked for
_COST_NAMES = ("total_cost_usd", "cost_usd", "total_cost", "cost")
_AIDER_COST = re.compile(r"\$(\d{1,6}(?:\.\d{1,8})?) session")
_CANNOT_START = (126, 127)
_SWITCH = 3  # characters of a passed value that is no secret: switches and numbers, which stand in any text


@dataclass(frozen=True, slots=True)
class _Brief:
    """What the agent is given, as texts and as files on the host that are shown in the sandbox."""

    task: str
    lessons: str
    task_file: Path
    lessons_file: Path

    @property
    def folder(self) -> Path:
        return self.task_file.parent

    @property
    def whole(self) -> str:
        return f"{self.task}\n\n{self.lessons}" if self.lessons else self.task


class CommandSolver:
    """Port `Solver` over a command."""

    name = "command"

    def __init__(self, options: SolverOptions) -> None:
        try:
            self._argv = tuple(shlex.split(options.argument))
        except ValueError as error:
            raise UsageError(f"command {options.argument!r} cannot be split into words: {error}") from error
        if not self._argv:
            raise UsageError("`command:` names no command: write `command:claude -p --output-format json`")
        self._options = options

    def solve(self, job: SolveJob) -> Solved:
        """Run the agent once. A command that fails may have changed files all the same: the check decides."""
        self._payable()
        with _briefed(job) as brief:
            most_usd = job.purse.usd_left() if self._may_spend else 0.0
            reservation = job.purse.reserve(most_usd)
            spent_usd = most_usd  # unless it tells: then it may have been all of it
            try:
                ran = job.sandbox.run(self._command(job, brief, most_usd), cancelled=job.cancelled)
                said = _Account.of(ran)
                if not self._may_spend or said.cost_usd is not None or self._options.allow_unknown_price:
                    spent_usd = said.cost_usd or 0.0
            finally:
                job.purse.settle(reservation, spent_usd)
        return self._solved(ran, said)

    @property
    def _may_spend(self) -> bool:
        """Whoever reaches no network pays nobody."""
        return self._options.net == "host"

    def _payable(self) -> None:
        """Raises Refused where nobody would learn what the command costs."""
        if self._may_spend and not self._options.allow_unknown_price and not _tells_cost(self._argv):
            raise Refused(
                f"nobody would know what `{self._argv[0]}` costs, so no budget can hold: let it tell (claude -p "
                "--output-format json; aider; or a script that takes {usd} and prints JSON with cost_usd), or "
                "allow it with --allow-unknown-price"
            )

    def _command(self, job: SolveJob, brief: _Brief, usd: float) -> Command:
        values = {
            "{task}": _argument(brief.whole if not any("{lessons" in word for word in self._argv) else brief.task),
            "{lessons}": _argument(brief.lessons),
            "{task_file}": str(brief.task_file),
            "{lessons_file}": str(brief.lessons_file),
            "{usd}": f"{usd:.4f}",
        }
        own = {"RATCHET_TASK_FILE": str(brief.task_file), "RATCHET_LESSONS_FILE": str(brief.lessons_file)}
        return Command(
            argv=tuple(_filled(word, values) for word in self._argv),
            view=job.workspace.view(),
            limits=replace(job.limits, wall_s=min(job.limits.wall_s, job.purse.seconds_left())),
            environ={**self._options.environ, **own},
            readable=(*self._options.readable, brief.folder),
            net=self._options.net,
            stdin=brief.whole.encode("utf-8", "replace"),
        )

    def _solved(self, ran: Ran, said: _Account) -> Solved:
        name = self._argv[0]
        if ran.exit_code in _CANNOT_START and not ran.killed:
            raise Refused(f"`{name}` cannot be started in the sandbox: {self._hidden(said.last)}; {_remedy(name)}")
        reason = ""
        if ran.killed:
            reason = f"{name} was ended by its limit: {ran.killed}"
        elif ran.exit_code:
            reason = f"{name} ended with {ran.exit_code}: {self._hidden(said.last)}"
        return Solved(
            status="proposed",
            fix=self._hidden(said.told),
            candidates=1,
            reason=reason,
            note=f"ran {name}, network {self._options.net}, {ran.wall_s:.0f} s, isolation {ran.isolation}",
        )

    def _hidden(self, text: str) -> str:
        """The text without secrets, those that the person passed on by name included."""
        for value in self._options.environ.values():
            if len(value) > _SWITCH:
                text = text.replace(value, "[redacted:passed]")
        return redact(text)


@dataclass(frozen=True, slots=True)
class _Account:
    """What an agent said of its own work: data."""

    told: str
    last: str
    cost_usd: float | None

    @classmethod
    def of(cls, ran: Ran) -> _Account:
        out = ran.stdout.decode("utf-8", "replace")[-_READ_TAIL:]
        errors = ran.stderr.decode("utf-8", "replace")[-_READ_TAIL:]
        told, cost = "", None
        for found in _objects(out):
            result = found.get("result")
            told = result if isinstance(result, str) else told
            cost = next((usd for name in _COST_NAMES if (usd := _usd(found.get(name))) is not None), cost)
        if cost is None and (session := _AIDER_COST.findall(out + errors)):
            cost = float(session[-1])
        last = next((line for text in (errors, out) for line in reversed(text.split("\n")) if line.strip()), "")
        return cls(" ".join((told or last).split())[:_SAID], " ".join(last.split())[:_SAID], cost)


def create(options: SolverOptions) -> CommandSolver:
    """The solver `command:WORDS`. Raises UsageError."""
    return CommandSolver(options)


def _tells_cost(argv: Sequence[str]) -> bool:
    """Whether a command is known to say what it cost, or was written to be told what it may."""
    name = Path(argv[0]).name
    if name == "claude":
        return any(word.endswith("json") and "stream" not in word for word in argv) or "stream-json" in argv
    return name == "aider" or any("{usd}" in word for word in argv)


def _usd(value: object) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")
    return float(value) if known and isinstance(value, int | float) else None


def _objects(out: str) -> Iterator[dict[str, object]]:
    """JSON objects that an agent printed: one for all, or one a line."""
    whole = out.strip()
    for text in [whole] if "\n" not in whole else [whole, *whole.split("\n")]:
        if not text.lstrip().startswith(("{", "[")):
            continue
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            continue
        yield from (each for each in (found if isinstance(found, list) else [found]) if isinstance(each, dict))


@contextmanager
def _briefed(job: SolveJob) -> Iterator[_Brief]:
    """The task and the lessons as files of their own, outside the workspace: they are no part of the answer."""
    folder = Path(tempfile.mkdtemp(prefix="ratchet-task-"))
    try:
        folder.chmod(0o755)  # the sandbox may run as another user
        task, lessons = redact(_task(job)), fence(map(lesson_row, job.lessons), _LESSONS_CHARS)
        files = folder / "task.md", folder / "lessons.md"
        for path, text in zip(files, (task, lessons), strict=True):
            path.write_text(text, encoding="utf-8", errors="replace")
            path.chmod(0o644)
        yield _Brief(task, lessons, *files)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _task(job: SolveJob) -> str:
    """The work as a coding agent is asked for it."""
    protected = f"\nRead-only, too: {', '.join(job.task.protected)}" if job.task.protected else ""
    tried = "\n".join(
        f"## Attempt {each.n}: {each.status}. {cap(each.reason, _SAID)}\n```diff\n{cap(each.diff, _TRIED_SHOWN)}\n```"
        for each in job.tried[-3:]
    )
    return (
        f"{job.task.instruction or 'Make the failing check pass.'}\n\n"
        "Work in the current folder. Change the program, not its tests, their settings or what runs them: such changes"
        f" are refused.{protected}\n\n# Check\n{shlex.join(job.task.check)}\n\n# What it says now\n"
        f"{cap(job.failure.reason, _SAID)}\n```\n{output_excerpt(job.failure.output, _OUTPUT_SHOWN)}\n```"
        + (f"\n\n# What was tried and did not pass\n{tried}" if tried else "")
    )


def _filled(word: str, values: dict[str, str]) -> str:
    """The word with its placeholders filled, each once and none within what was filled in."""
    return re.sub(r"\{(?:task|lessons|task_file|lessons_file|usd)\}", lambda found: values[found[0]], word)


def _argument(text: str) -> str:
    return text.replace("\0", "").encode("utf-8", "replace")[:_ARGUMENT_BYTES].decode("utf-8", "ignore")


def _remedy(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        return "no such program is on this machine's PATH"
    real = Path(found).resolve()
    return f"show it with --ro {real.parent} (it is {found}) and whatever it needs, or name it by a path inside"
