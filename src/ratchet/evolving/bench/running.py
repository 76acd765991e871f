"""Runs an agent that is a command or a Python callable: confined, its own folder read-only, on a task's files."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ratchet.errors import NotFound, Refused
from ratchet.evolving.bench.account import TEMPORARY_FAILURE, Account, read_account
from ratchet.evolving.bench.looping import LoopWatch
from ratchet.evolving.job import Job
from ratchet.healing.judges.verdicts import last_line, text_of
from ratchet.healing.rows import state_of
from ratchet.healing.solvers.coding_agent import argument_of, without_passed
from ratchet.ports import Sandbox, Workspace
from ratchet.sandbox.command import Command, Limits, Ran

INSIDE = Path(__file__).parent / "inside"
_IDLE_S, _IDLE_NET_S = 30.0, 180.0
"""Longest time with neither output nor work: one that reaches no network has nothing to wait for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """End of an agent's run, before anything is scored. Empty `reason` and `infrastructure`: it ended well."""

    output: str = ""
    reason: str = ""
    """Why it failed: it crashed, or was ended."""
    infrastructure: str = ""
    """Why it could not be measured."""
    exit_code: int | None = None
    killed: str = ""
    wall_s: float = 0.0
    account: Account = field(default_factory=Account)
    isolation: str = ""
    attempts: tuple[str, ...] = ()
    """What it was seen to try that is none of its business."""


def limits_of(job: Job) -> Limits:
    """Return the limits of one run of the agent."""
    wall_s = max(1.0, min(job.task.wall_s, job.seconds))
    return Limits(
        wall_s=wall_s,
        idle_s=min(wall_s, _IDLE_S if job.agent.net == "none" else _IDLE_NET_S),
        cpu_s=2 * wall_s,
        memory_mb=2048,
        pids=256,
        disk_mb=512,
    )


def run_agent(job: Job, workspace: Workspace, sandbox: Sandbox, workdir: str, cancelled: Callable[[], bool]) -> Done:
    """Run it to its end. Raises SandboxError, Refused, OSError where the machine is at fault."""
    start = workspace.checkpoint()
    watch = LoopWatch(lambda: _state(workspace, start))
    looped = False

    def stop() -> bool:
        nonlocal looped
        looped = looped or watch.looping()
        return looped or cancelled()

    ran = sandbox.run(_command(job, workspace, workdir), cancelled=stop, on_output=watch.hear)
    output = text_of(without_passed(ran, (os.environ.get(name, "") for name in job.agent.pass_env)))
    account = read_account(workspace, job.task.files)
    killed = "looping" if looped and ran.killed == "cancel" else ran.killed
    return Done(
        output=output,
        reason=_why_failed(ran, killed, output),
        infrastructure=_infrastructure(job, ran, killed, account, output),
        exit_code=ran.exit_code,
        killed=killed,
        wall_s=ran.wall_s,
        account=account,
        isolation=ran.isolation,
        attempts=tuple(f"left {path}, which would act outside: taken away" for path in ran.removed),
    )


def _command(job: Job, workspace: Workspace, workdir: str) -> Command:
    agent = job.agent
    values = {
        "{task}": argument_of(job.task.instruction),
        "{workdir}": workdir,
        "{agent}": job.version,
        "{seed}": str(job.seed),
    }
    if agent.how == "callable":
        argv: tuple[str, ...] = ("python", "-B", str(INSIDE / "call.py"), agent.target)
    else:
        argv = tuple(_filled(word, values) for word in agent.argv)
    shown = [Path(each) for each in (job.version, *agent.readable) if each]
    return Command(
        argv=argv,
        view=workspace.view(),
        limits=limits_of(job),
        environ=_environ(job, values),
        readable=(*shown, INSIDE) if agent.how == "callable" else tuple(shown),
        net=agent.net,
        stdin=job.task.instruction.encode("utf-8", "replace"),
    )


def _environ(job: Job, values: Mapping[str, str]) -> dict[str, str]:
    passed = {name: os.environ[name] for name in job.agent.pass_env if name in os.environ}
    return {
        "PYTHONHASHSEED": str(job.seed % 2**32),
        "PYTHONDONTWRITEBYTECODE": "1",
        **passed,
        "RATCHET_SEED": values["{seed}"],
        "RATCHET_WORKDIR": values["{workdir}"],
        "RATCHET_AGENT": values["{agent}"],
        "RATCHET_AGENT_SETTINGS": json.dumps(dict(job.settings), sort_keys=True),
    }


def _state(workspace: Workspace, start: str) -> str:
    """A name for what the files hold while the agent is at work; a new one where they cannot be read just now."""
    try:
        return state_of(workspace.diff(start))
    except (Refused, NotFound, OSError, ValueError):
        return os.urandom(8).hex()


def _why_failed(ran: Ran, killed: str, output: str) -> str:
    if killed == "looping":
        return "the agent went round in circles: the same steps again and again, and no file was any different"
    if killed:
        return _KILLED.get(killed, f"the agent was ended: {killed}")
    if ran.exit_code == 0:
        return ""
    return f"the agent ended with {ran.exit_code}: {last_line(output) or 'it said nothing'}"


_KILLED = {
    "wall": "the agent did not end in time",
    "idle": "the agent neither worked nor said anything",
    "cpu": "the agent used up its CPU time",
    "memory": "the agent used up its memory",
    "disk": "the agent wrote more than it may",
    "inodes": "the agent made more files than it may",
    "output": "the agent printed more than it may",
    "cancel": "the agent was cancelled",
}


def _infrastructure(job: Job, ran: Ran, killed: str, account: Account, output: str) -> str:
    """Why the run says nothing about the agent, by its own word."""
    if killed:
        return ""
    if ran.exit_code in _NOT_STARTED and _SANDBOX_SAYS in output:
        return f"the agent could not be started: {last_line(output).partition(_SANDBOX_SAYS)[2]}"
    if account.infrastructure:
        return f"the agent says: {account.infrastructure}"
    if ran.exit_code == TEMPORARY_FAILURE:
        said = last_line(output) or "nothing more"
        return f"the agent says that it could not work ({TEMPORARY_FAILURE}): {said}"
    program = _own_program(job)
    if ran.exit_code and program and Path(program).name in output and not _is_there(job, program):
        return f"the agent's command runs {program}, which neither its folder nor the task has: {last_line(output)}"
    return ""


def _own_program(job: Job) -> str:
    """The file that the command's program is to run (`python3 agent.py`), or ""."""
    word = next((each for each in job.agent.argv[1:] if not each.startswith("-")), "")
    return word if _FILE.search(word) and "{" not in word.removeprefix("{agent}/") else ""


_FILE = re.compile(r"\.[A-Za-z]\w*\Z")


def _is_there(job: Job, program: str) -> bool:
    return os.path.normpath(program) in job.task.files or Path(program.replace("{agent}", job.version)).exists()


_NOT_STARTED = (126, 127)
_SANDBOX_SAYS = "ratchet: cannot start "
"""How every sandbox says that a command never ran (`sandbox.supervisor`)."""


def _filled(word: str, values: Mapping[str, str]) -> str:
    """The word with its placeholders filled, each once and none within what was filled in."""
    return re.sub(r"\{(?:task|workdir|agent|seed)\}", lambda found: values[found[0]], word)
