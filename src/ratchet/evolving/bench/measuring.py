"""One evaluation: a task's files in a fresh copy, the agent on them in the sandbox, then the score. Port `Measure`.

What the machine did wrong is never the agent's answer: it is tried once more, and then `unmeasured`. What the agent did
wrong is a score of 0 with its reason.
"""

from __future__ import annotations

import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from ratchet.errors import BackendError, NotFound, Refused
from ratchet.evolving.bench.account import result_of
from ratchet.evolving.bench.benchmark import BenchTask, Evaluation
from ratchet.evolving.bench.endpoint import ask_agent
from ratchet.evolving.bench.evidence import differing, fingerprints, tried
from ratchet.evolving.bench.laying import write_files
from ratchet.evolving.bench.running import Done, limits_of, run_agent
from ratchet.evolving.job import Job
from ratchet.evolving.scorers.scored import Scored, Scorer
from ratchet.failures.kinds.kind import kind_of
from ratchet.failures.redaction.text import cap, clean, redact
from ratchet.failures.signature import sign, template_of
from ratchet.ports import Sandbox, Workspace
from ratchet.sandbox.command import View

AGAIN_AFTER_S = 0.5
OUTPUT_CHARS = 6_000
_REASON_CHARS = 500
_ATTEMPT_CHARS = 300
_LOOK_S = 0.05
_FREE_BYTES = 33_554_432
"""Less free space than this on the disk of the working copies, and what fails there is the machine's fault."""
_KINDS = {"wall": "timeout", "idle": "timeout", "cpu": "timeout", "looping": "loop_detected"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measuring:
    """Port `Measure`. Its fields are functions of modules, so that it can be sent to another process."""

    sandbox: Callable[[bool], Sandbox]
    """The sandbox to use; True: plain processes. Raises Refused."""
    copied: Callable[[Sandbox, Path, Path], Workspace]
    """A folder as a workspace at a new place."""
    workdir: Callable[[Sandbox, View], str]
    """Where a command finds the files of a view."""
    removed: Callable[[Path], None]
    """Removes a folder, whatever a stranger left in it."""
    score: Scorer
    guarded: tuple[str, ...] = ()
    """Files and folders that no agent may change, hashed before and after: the benchmark, the archive, the memory."""
    around: tuple[str, ...] = ()
    """Folders in which an agent has nothing to look for; an attempt that shows is named."""

    def __call__(self, job: Job, /) -> Evaluation:
        began, at = time.monotonic(), time.time()
        cancelled = _asking(job)
        first = self._once(job, cancelled)
        made = first
        if not first.measured and not first.killed:
            _waited(AGAIN_AFTER_S, cancelled)
            if not cancelled():
                again = self._once(job, cancelled)
                made = replace(again, cost_usd=first.cost_usd + again.cost_usd, tokens=first.tokens + again.tokens)
        wall_s = made.wall_s or time.monotonic() - began
        return replace(made, wall_s=wall_s, at=at)

    def _once(self, job: Job, cancelled: Callable[[], bool]) -> Evaluation:
        place = Path(job.scratch) / f"{_named(job.id)}-{secrets.token_hex(4)}"
        try:
            place.mkdir(parents=True, mode=0o711)
            try:
                return self._measured(job, place, cancelled)
            finally:
                self.removed(place)
        except (BackendError, Refused, NotFound, OSError) as error:
            return _spoilt(_begun(job, Done(), ""), f"{type(error).__name__}: {error}")

    def _measured(self, job: Job, place: Path, cancelled: Callable[[], bool]) -> Evaluation:
        sandbox = self.sandbox(job.unsafe)
        workspace = self.laid(job.task, sandbox, place)
        before = fingerprints((job.version, *self.guarded))
        if job.agent.how == "http":
            done = ask_agent(job, workspace, cancelled)
        else:
            done = run_agent(job, workspace, sandbox, self.workdir(sandbox, workspace.view()), cancelled)
        done = replace(done, attempts=(*done.attempts, *tried(done.output, job, self.guarded, self.around)))
        changed = differing(before, fingerprints((job.version, *self.guarded)))
        if changed:
            done = replace(done, infrastructure="", attempts=(*changed, *done.attempts), reason=changed[0])
        if done.infrastructure or done.reason:
            return _unscored(job, done, place)
        limits = replace(limits_of(job), idle_s=None)
        scored = self.score(job.task, workspace, sandbox, limits=limits, cancelled=cancelled)
        if cancelled():
            return _unscored(job, replace(done, reason="cancelled while it was scored", killed="cancel"), place)
        return _of_score(job, done, scored)

    def laid(self, task: BenchTask, sandbox: Sandbox, place: Path) -> Workspace:
        """The task's files in a workspace of their own, as they are the first state of it."""
        project = place / "task"
        write_files(project, task.files)
        workspace = self.copied(sandbox, project, place / "work")
        shutil.rmtree(project)
        return workspace


def _of_score(job: Job, done: Done, scored: Scored) -> Evaluation:
    made = _begun(job, done, scored.output)
    made = replace(made, tampered=_named_once(made.tampered, scored.tampered))
    if scored.unmeasured:
        return replace(made, result="unmeasured", reason=_line(scored.reason))
    score = min(1.0, max(0.0, scored.score))
    kind, signature = ("", "") if score >= 1.0 else (scored.kind or "wrong_output", scored.signature)
    if kind and not signature:
        signature = sign(kind, template_of(redact(scored.reason)))
    return replace(
        made, result=result_of(score), score=score, reason=_line(scored.reason), kind=kind, signature=signature
    )


def _unscored(job: Job, done: Done, place: Path) -> Evaluation:
    """The evaluation of an agent that left nothing to score."""
    made = _begun(job, done, "")
    if done.killed == "cancel":
        return replace(made, result="unmeasured", reason=_line(done.reason), kind="cancelled")
    full = "" if done.infrastructure or shutil.disk_usage(place).free > _FREE_BYTES else "the disk is full"
    if done.infrastructure or full:
        return _spoilt(made, done.infrastructure or full)
    text = redact(done.reason if done.killed or not done.output else done.output)
    kind = _KINDS.get(done.killed) or kind_of(text, exit_code=done.exit_code)
    template = template_of(text) or f"exit code {done.exit_code}"
    return replace(made, reason=_line(done.reason), kind=kind, signature=sign(kind, template))


def _begun(job: Job, done: Done, scorer_output: str) -> Evaluation:
    """Fill in what is known of a run whatever its score: a failure until the score says otherwise."""
    told = "\n".join(filter(None, (done.account.complaint, done.output.strip())))
    parts = [cap(part, OUTPUT_CHARS // 2) for part in (told, scorer_output.strip()) if part]
    forged = (done.account.complaint,) if done.account.complaint else ()
    return Evaluation(
        run=job.run,
        candidate=job.candidate,
        task=job.task.id,
        seed=job.seed,
        result="failed",
        output=clean("\n".join(parts), OUTPUT_CHARS),
        wall_s=done.wall_s,
        cost_usd=done.account.cost_usd,
        tokens=done.account.tokens,
        killed=done.killed,
        isolation=done.isolation,
        tampered=_named_once(done.attempts, forged),
    )


def _spoilt(made: Evaluation, told: str) -> Evaluation:
    """The evaluation as one that the machine spoilt."""
    kind = kind_of(told)
    return replace(made, result="unmeasured", reason=_line(told), kind=kind, signature=sign(kind, template_of(told)))


def _asking(job: Job) -> Callable[[], bool]:
    """Tell whether somebody left a file of the evaluation's name in the folder that is looked into."""
    if not job.cancel:
        return lambda: False
    sign_ = Path(job.cancel) / _named(job.id)
    return sign_.exists


def _named(job_id: str) -> str:
    """The id as the name of a file."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", job_id).lstrip(".")[:120] or "evaluation"


def _waited(seconds: float, cancelled: Callable[[], bool]) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until and not cancelled():
        time.sleep(_LOOK_S)


def _named_once(*attempts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(clean(each, _ATTEMPT_CHARS) for found in attempts for each in found))


def _line(text: str) -> str:
    return clean(" ".join(text.split()), _REASON_CHARS)
