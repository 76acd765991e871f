"""The scorer of a command: what it prints is the score, or its exit code is.

`spec["command"]` is the argv, run in a fresh copy of the answer with the graders in it, read-only. The last line of
its standard output may be a number in [0, 1], alone or behind `score:`, or an object with `score` and `reason`; a
number that is no score is 0, and so is a `score` that is no number. Where it is none at all, exit code 0 is 1 and any
other 0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import cast

from ratchet.errors import NotFound
from ratchet.evolving.bench.benchmark import BenchTask
from ratchet.evolving.scorers.graded import answer_of, laid_out
from ratchet.evolving.scorers.scored import Scored, unmeasured, wrong
from ratchet.healing.judges.reaching import imported_by, reaches
from ratchet.healing.judges.verdicts import failed, text_of
from ratchet.ports import Sandbox, Workspace
from ratchet.sandbox.command import Command, FileChange, Limits

_NEARLY = re.compile(r"(?:\w{1,20} )?score\b.{0,80}\d", re.IGNORECASE)
_NAMED = re.compile(r"(?:\w{1,20} )?score *[:=] *(\S{1,40})", re.IGNORECASE)


def score(
    task: BenchTask, workspace: Workspace, sandbox: Sandbox, *, limits: Limits, cancelled: Callable[[], bool]
) -> Scored:
    """What the task's command says. It shares the sandbox with the answer, and what it prints is believed: let it run
    an answer in a process of its own, with its output apart. Where a grader in Python imports the answer instead, one
    that reaches for the harness (ends the process, patches `print`) counts for nothing."""
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
    reached = _reached(task, answer.changes) if value else ""
    if reached:
        told = f"no part of it counts, since {reached}"
        return wrong(told, kind="refusal", output=output, tampered=(*answer.tampered, reached))
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


def _reached(task: BenchTask, changes: Sequence[FileChange]) -> str:
    """What of the harness an answer reaches for that runs in the grader's own process; "" for nothing."""
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


def _said(stdout: bytes) -> tuple[float | None, str]:
    """The score and the reason on the last line; None where it says none."""
    lines = stdout.decode("utf-8", "replace").strip().splitlines()
    held = _read(lines[-1].strip()) if lines else None
    says = isinstance(held, dict) and "score" in held
    reason = str(held.get("reason", "")) if isinstance(held, dict) else ""
    number = held["score"] if isinstance(held, dict) and says else held
    plain = isinstance(number, int | float) and not isinstance(number, bool)
    if plain and 0 <= cast("float", number) <= 1:  # NaN is not
        return float(cast("float", number)), reason
    if plain or says:
        return 0.0, f"it printed {str(number)[:40]}, which is no score between 0 and 1"
    return None, ""


def _read(line: str) -> object:
    """JSON; else a number as `bc` (.5), Python (nan) and people (50 %) write it. None for anything else: no score that
    somebody meant to print may be taken for the silence of a command that only ends well."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        pass
    if (named := _NAMED.fullmatch(line.rstrip("."))) and (said := _read(named[1])) is not None:
        return said
    if _NEARLY.match(line):
        return {"score": line}
    try:
        number = float(line.removesuffix("%"))
    except ValueError:
        return None
    return {"score": line} if line.endswith("%") else number
