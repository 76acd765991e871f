"""The scorer of a command: what it prints is the score, or its exit code is.

`spec["command"]` is the argv, run in a fresh copy of the answer with the graders in it, read-only. The last line of
its standard output may be a number in [0, 1], or an object with `score` and `reason`; else exit code 0 is 1 and any
other 0.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace

from ratchet.benching import BenchTask
from ratchet.confinement import Command, Limits
from ratchet.errors import NotFound
from ratchet.ports import Sandbox, Workspace
from ratchet.scorers.graded import answer_of, laid_out
from ratchet.scorers.scored import Scored, unmeasured, wrong
from ratchet.verdicts import failed, text_of


def score(
    task: BenchTask, workspace: Workspace, sandbox: Sandbox, *, limits: Limits, cancelled: Callable[[], bool]
) -> Scored:
    """What the task's command says. It shares the sandbox with the answer, and what it prints is believed: let it run
    an answer in a process of its own, with its output apart."""
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
    said, reason = _said(ran.stdout) if not ran.killed else (None, "")
    value = said if said is not None else float(ran.exit_code == 0 and not ran.killed)
    if value >= 1.0:
        return Scored(score=1.0, output=output, tampered=answer.tampered)
    verdict = failed(output, reason=reason, exit_code=ran.exit_code, killed=ran.killed, wall_s=limits.wall_s)
    return Scored(
        score=value,
        reason=verdict.reason if ran.killed or not reason else reason,
        output=output,
        kind="wrong_output" if said is not None else verdict.kind,
        signature=verdict.signature,
        tampered=answer.tampered,
    )


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


def _said(stdout: bytes) -> tuple[float | None, str]:
    """The score and the reason on the last line; None where it says none."""
    lines = stdout.decode("utf-8", "replace").strip().splitlines()
    try:
        held = json.loads(lines[-1]) if lines else None
    except (ValueError, RecursionError):
        return None, ""
    reason = str(held.get("reason", "")) if isinstance(held, dict) else ""
    number = held.get("score") if isinstance(held, dict) else held
    if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
        return None, ""
    return (float(number), reason) if 0 <= number <= 1 else (None, "")
