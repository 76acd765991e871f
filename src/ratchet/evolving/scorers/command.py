"""The scorer of a command: what it prints is the score, or its exit code is.

`spec["command"]` is the argv, run in a fresh copy of the answer with the graders in it, read-only. The last thing that
it prints is its score: a number in [0, 1], an object with `score` and `reason`, or what other tools print
(`scorers.printed`); a number that is no score is 0. Where it prints nothing, exit code 0 is 1 and any other 0. Where it
prints something else and ends well, nothing is known, and the answer is unmeasured; so it is where a runner of tests
says that it ran none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from ratchet.errors import NotFound
from ratchet.evolving.bench.benchmark import BenchTask
from ratchet.evolving.scorers.graded import answer_of, laid_out
from ratchet.evolving.scorers.printed import read
from ratchet.evolving.scorers.said import Said
from ratchet.evolving.scorers.scored import Scored, unmeasured, wrong
from ratchet.healing.judges.reaching import imported_by, reaches
from ratchet.healing.judges.verdicts import failed, text_of
from ratchet.ports import Sandbox, Workspace
from ratchet.sandbox.command import Command, FileChange, Limits, Ran


def score(
    task: BenchTask, workspace: Workspace, sandbox: Sandbox, *, limits: Limits, cancelled: Callable[[], bool]
) -> Scored:
    """Run the task's command and read its score. It shares the sandbox with the answer, and what it prints is believed:
    let it run an answer in a process of its own, with its output apart. Where a grader in Python imports the answer
    instead, one that reaches for the harness (ends the process, patches `print`) counts for nothing."""
    argv = task.spec.get("command")
    if not isinstance(argv, list) or not argv or not all(isinstance(word, str) for word in argv):
        return unmeasured(f"task {task.id} names no command: give spec.command as a list of words")
    answer = answer_of(task, workspace)
    if answer.left_out:
        return wrong(answer.left_out, tampered=answer.tampered)
    bench = laid_out(task, answer.changes, sandbox)
    try:
        view = bench.workspace.view()
        if sandbox.overlays:
            held = {path: bench.folder / "project" / path for path in task.graders}
            view = replace(view, overlaid={**view.overlaid, **held})
        command = Command(argv=tuple(map(str, argv)), view=view, limits=limits)
        ran = sandbox.run(command, cancelled=cancelled)
        changed = [] if sandbox.overlays else _changed(bench.workspace, task)
    finally:
        bench.close()
    output = text_of(ran)
    if changed:
        return wrong(f"{changed[0]} was changed while it was scored", output=output, tampered=tuple(changed))
    if ran.exit_code in (126, 127) and not ran.killed:
        return unmeasured(f"the command of {task.id} could not be started: {output[-300:]}")
    said = _said(ran)
    value = said.score if said is not None else float(ran.exit_code == 0 and not ran.killed)
    reached = _reached(task, answer.changes) if value != 0.0 else ""
    if reached:
        told = f"no part of it counts, since {reached}"
        return wrong(told, kind="refusal", output=output, tampered=(*answer.tampered, reached))
    if value is None:
        return unmeasured(
            f"the command of {task.id} ended well, but {said.reason if said else ''}: let its last line be a number "
            'from 0 to 1, or {"score": ..., "reason": ...}; only where it prints nothing does its exit code decide'
        )
    if value >= 1.0:
        return Scored(score=1.0, output=output, tampered=answer.tampered)
    reason = said.reason if said is not None else ""
    verdict = failed(output, reason=reason, exit_code=ran.exit_code, killed=ran.killed, wall_s=limits.wall_s)
    return Scored(
        score=value,
        reason=verdict.reason if ran.killed or not reason else reason,
        output=output,
        kind=(said.kind or "wrong_output") if said is not None else verdict.kind,
        signature=verdict.signature,
        tampered=answer.tampered,
    )


def _said(ran: Ran) -> Said | None:
    """The score in what it printed; None where its end decides: it printed nothing, was killed, or ended badly without
    a score. On standard error a runner of tests speaks, too, and so does, over silence, what is about a score; anything
    else there is noise."""
    if ran.killed:
        return None
    said, noted = (read(stream.decode("utf-8", "replace")) for stream in (ran.stdout, ran.stderr))
    silent, ended_well = said is None, ran.exit_code == 0
    if noted is not None and (noted.speaks if said is None else noted.denies(said)):
        said = noted
    if said is not None and not ended_well and (said.score is None or (said.score >= 1.0 and (said.judged or silent))):
        return None
    return said


def _reached(task: BenchTask, changes: Sequence[FileChange]) -> str:
    """Name what of the harness an answer reaches for that runs in the grader's own process; "" for nothing."""
    graders = imported_by(text for path, text in task.graders.items() if path.endswith(".py"))
    sources = [each for each in changes if each.path.endswith(".py")]
    tops = {part.removesuffix(".py") for each in sources for part in PurePosixPath(each.path).parts}
    shares = graders & (tops | {"importlib", "runpy"})
    return reaches(sources, imported=True) if shares else ""


def _changed(workspace: Workspace, task: BenchTask) -> list[str]:
    changed = []
    for path, text in task.graders.items():
        try:
            held = workspace.read(path, limit_bytes=max(1_048_576, 4 * len(text)))
        except NotFound:
            held = b""
        if held != text.encode("utf-8", "surrogateescape"):
            changed.append(path)
    return changed
